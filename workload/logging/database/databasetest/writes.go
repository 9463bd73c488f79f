package databasetest

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"wirelab"
	"wirelab/wire/edgevalues"
	"wirelab/workload/logging"
)

func writeTests() map[string]func(*testing.T, logging.Service) {
	return map[string]func(*testing.T, logging.Service){
		"an entry is kept as it was given":               testKept,
		"the same entry again is stored once":            testAgain,
		"an entry without an id gets one":                testMade,
		"invalid entries are not stored":                 testRefused,
		"positions and times follow the writes":          testOrder,
		"many writers of the same entry store one":       testSameEntry,
		"of two contents of an id one wins":              testTwoContents,
		"many writers store each of theirs":              testManyWriters,
		"drawn calls are answered as by the reference":   testDrawn,
		"drawn calls side by side are answered likewise": testDrawnTogether,
	}
}

// Whatever text the contract admits comes back byte by byte, with a time in UTC
// to the microsecond (S13).
func testKept(t *testing.T, s logging.Service) {
	type given struct{ why, name, data string }
	var all []given
	for _, v := range edgevalues.TextsUpTo(logging.NameLimit) {
		if v.Value != "" && !strings.Contains(v.Value, "\x00") {
			all = append(all, given{"name " + v.Name, v.Value, "data"})
		}
	}
	for _, v := range edgevalues.TextsUpTo(logging.DataLimit) {
		if !strings.Contains(v.Value, "\x00") {
			all = append(all, given{"data " + v.Name, "name", v.Value})
		}
	}
	for i, g := range all {
		before := time.Now().Truncate(time.Microsecond)
		e := logging.Entry{ID: fmt.Sprint("kept-", i), Name: g.name, Data: g.data}
		got := write(t, s, e)
		if got.Entry != e || got.At.Before(before) || got.At.After(time.Now()) || got.At.Location() != time.UTC ||
			got.At.Nanosecond()%1000 != 0 {
			t.Errorf("%s: stored as %.200v of %v", g.why, got, got.At)
		}
	}
	for _, id := range []string{"A-Z.a_z~0-9", strings.Repeat("i", logging.IDLimit), "...", "0", "-", logging.NewID()} {
		if got := write(t, s, logging.Entry{ID: id, Name: "n"}); got.ID != id {
			t.Errorf("id %s is stored as %s", id, got.ID)
		}
	}
}

// testAgain: a writer that repeats a call after a lost reply stores nothing twice; another content under the id is
// a conflict, even if only one byte differs.
func testAgain(t *testing.T, s logging.Service) {
	e := logging.Entry{ID: "once", Name: "name", Data: "e\u0301"}
	first := write(t, s, e)
	for range 3 {
		same(t, "again", []logging.Stored{write(t, s, e)}, []logging.Stored{first})
		if written, err := s.WriteLog(t.Context(), e); err != nil || !written.Again() {
			t.Errorf("again: %v, %v, said to be new", written, err)
		}
	}
	for why, other := range map[string]logging.Entry{
		"another name":                   {ID: "once", Name: "name ", Data: "e\u0301"},
		"a name in capitals":             {ID: "once", Name: "Name", Data: "e\u0301"},
		"other data":                     {ID: "once", Name: "name", Data: "e"},
		"no data":                        {ID: "once", Name: "name"},
		"the same letter in other code":  {ID: "once", Name: "name", Data: "\u00e9"},
		"name and data elsewhere parted": {ID: "once", Name: "namee", Data: "\u0301"},
	} {
		_, err := s.WriteLog(t.Context(), other)
		wantCode(t, why, err, wirelab.Conflict)
	}
	write(t, s, logging.Entry{ID: "Once", Name: "name"}) // ids differ in capitals
	same(t, "stored entries", pages(t, s, logging.Query{Before: first.Position + 1}), []logging.Stored{first})
	if all := pages(t, s, logging.Query{}); len(all) != 2 {
		t.Errorf("%d entries, want 2", len(all))
	}
}

// Ids are unique by construction, and each call stores one (S5, ms-M15).
func testMade(t *testing.T, s logging.Service) {
	const n = 50
	ids := map[string]bool{}
	for range n {
		got := write(t, s, logging.Entry{Name: "the same", Data: "the same"})
		if !logging.MadeID(got.ID) {
			t.Errorf("made id %q", got.ID)
		}
		ids[got.ID] = true
	}
	if all := pages(t, s, logging.Query{}); len(ids) != n || len(all) != n {
		t.Errorf("%d ids of %d calls, %d entries", len(ids), n, len(all))
	}
}

// Nothing is stored of what cannot be an entry: the origin stores an empty one
// (ms-D02).
func testRefused(t *testing.T, s logging.Service) {
	refused := map[string]logging.Entry{
		"an empty entry":      {},
		"no name":             {ID: "x", Data: "d"},
		"a long name":         {Name: strings.Repeat("n", logging.NameLimit+1)},
		"a name with NUL":     {Name: "a\x00b"},
		"data with NUL":       {Name: "n", Data: "\x00"},
		"long data":           {Name: "n", Data: strings.Repeat("d", logging.DataLimit+1)},
		"a long id":           {ID: strings.Repeat("i", logging.IDLimit+1), Name: "n"},
		"an id with a slash":  {ID: "a/b", Name: "n"},
		"an id with a space":  {ID: "a b", Name: "n"},
		"an id in Greek":      {ID: "\u03b1", Name: "n"},
		"an id that is a dot": {ID: ".", Name: "n"},
		"an id of two dots":   {ID: "..", Name: "n"},
		"an id with NUL":      {ID: "a\x00", Name: "n"},
	}
	for _, v := range edgevalues.BrokenTexts() {
		refused["a name: "+v.Name] = logging.Entry{Name: v.Value}
		refused["data: "+v.Name] = logging.Entry{Name: "n", Data: v.Value}
		refused["an id: "+v.Name] = logging.Entry{ID: v.Value, Name: "n"}
	}
	for why, e := range refused {
		_, err := s.WriteLog(t.Context(), e)
		wantCode(t, why, err, wirelab.InvalidArgument)
		if err != nil && len(err.Error()) > 400 {
			t.Errorf("%s: the error repeats all that was sent", why)
		}
	}
	same(t, "stored entries", pages(t, s, logging.Query{}), nil)
}

// Called one after the other, positions count from 1, and neither a repeat nor a
// conflict takes one, so that every kind of logger answers a script alike.
func testOrder(t *testing.T, s logging.Service) {
	for i := range 20 {
		e := logging.Entry{ID: fmt.Sprint("o", i), Name: "n"}
		got := write(t, s, e)
		if got.Position != int64(i+1) {
			t.Errorf("entry %d has position %d", i, got.Position)
		}
		write(t, s, e)
		_, err := s.WriteLog(t.Context(), logging.Entry{ID: e.ID, Name: "other"})
		wantCode(t, "another content", err, wirelab.Conflict)
	}
	wantOrdered(t, pages(t, s, logging.Query{}), 20)
}

// wantOrdered fails unless a list has n entries whose positions go down and whose
// times do not go up.
func wantOrdered(t *testing.T, all []logging.Stored, n int) {
	t.Helper()
	for i := 1; i < len(all); i++ {
		if all[i].Position >= all[i-1].Position || all[i].At.After(all[i-1].At) {
			t.Errorf("position %d of %v stands behind %d of %v", all[i].Position, all[i].At, all[i-1].Position,
				all[i-1].At)
			return
		}
	}
	if len(all) != n {
		t.Errorf("%d entries, want %d", len(all), n)
	}
}

// testSameEntry: an entry that a queue delivers several times, also concurrently, is stored once, and every
// delivery gets the reply that it is stored (R2).
func testSameEntry(t *testing.T, s logging.Service) {
	const writers, entries = 8, 60
	ctx := limited(t)
	var first [entries]atomic.Int32 // who was told that it had not been there
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := range entries {
				n := (i + w*7) % entries // they meet, and do not march in step
				id := fmt.Sprint("same-", n)
				got, err := s.WriteLog(ctx, logging.Entry{ID: id, Name: "n", Data: id})
				if err != nil || got.ID != id {
					t.Errorf("%s: %v, %v", id, got, err)
				}
				if !got.Again() {
					first[n].Add(1)
				}
			}
		})
	}
	all.Wait()
	for n := range first {
		if told := first[n].Load(); told != 1 {
			t.Errorf("entry %d: %d were told that they stored it", n, told)
		}
	}
	wantOrdered(t, pages(t, s, logging.Query{}), entries)
}

// testTwoContents: the first content is stored, and the writer of another gets a conflict, even if both are in one
// commit.
func testTwoContents(t *testing.T, s logging.Service) {
	const writers, entries = 8, 30
	ctx := limited(t)
	var wins [entries][2]atomic.Int32
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := range entries {
				_, err := s.WriteLog(ctx, logging.Entry{ID: fmt.Sprint("two-", i), Name: "n", Data: fmt.Sprint(w % 2)})
				switch {
				case err == nil:
					wins[i][w%2].Add(1)
				case wirelab.CodeOf(err) != wirelab.Conflict:
					t.Errorf("entry %d: %v", i, err)
				}
			}
		})
	}
	all.Wait()
	for i := range entries {
		a, b := wins[i][0].Load(), wins[i][1].Load()
		got := get(t, s, fmt.Sprint("two-", i))
		if (a != writers/2 || b != 0 || got.Data != "0") && (a != 0 || b != writers/2 || got.Data != "1") {
			t.Errorf("entry %d: %d were told that 0 is stored and %d that 1 is; it is %q", i, a, b, got.Data)
		}
	}
	wantOrdered(t, pages(t, s, logging.Query{}), entries)
}

// testManyWriters: acknowledged entries are there for the next reader, all of them and once, and none that was
// written after another was acknowledged comes before it (S2, R2).
func testManyWriters(t *testing.T, s logging.Service) {
	const writers, entries = 16, 40
	ctx := limited(t)
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			var last int64
			for i := range entries {
				e := logging.Entry{Name: fmt.Sprint("writer-", w), Data: fmt.Sprint(i)}
				if i%2 == 0 {
					e.ID = fmt.Sprintf("many-%d-%d", w, i)
				}
				written, err := s.WriteLog(ctx, e)
				if err != nil {
					t.Errorf("write: %v", err)
					return
				}
				got, err := s.GetEntry(ctx, logging.EntryID{ID: written.ID})
				if e.ID = written.ID; err != nil || got.Entry != e || got.Position <= last {
					t.Errorf("written behind %d and acknowledged: %v, %v", last, got, err)
				}
				last = got.Position
			}
		})
	}
	all.Wait()
	wantOrdered(t, pages(t, s, logging.Query{}), writers*entries)
	for w := range writers {
		wantOrdered(t, pages(t, s, logging.Query{Name: fmt.Sprint("writer-", w), Limit: 7}), entries)
	}
}

func testDrawn(t *testing.T, s logging.Service) {
	fill(t, s, 5)
	asReference(t, s, 1, 20)
}

func testDrawnTogether(t *testing.T, s logging.Service) {
	var all sync.WaitGroup
	for caller := range uint64(8) {
		all.Go(func() { asReference(t, s, caller, 10) })
	}
	all.Wait()
}
