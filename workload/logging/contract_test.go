package logging_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"wirelab"
	"wirelab/workload/logging"
)

// What every logger does is tested in database/databasetest, on the reference
// too. Here is what the reference, the types and the requests promise.

// wantCode fails unless err has the code.
func wantCode(t *testing.T, what string, err error, want wirelab.Code) {
	t.Helper()
	var coded *wirelab.Error
	if !errors.As(err, &coded) || coded.Code != want {
		t.Errorf("%s: %v, want %s", what, err, want)
	}
}

// A logger in memory ends at its limit, still knows what it has, and has room
// again for as much as is removed (S14).
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	s := logging.Keeping(3)
	for i := range 3 {
		if _, err := s.WriteLog(t.Context(), logging.Entry{ID: fmt.Sprint(i), Name: "n"}); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		_, err := s.WriteLog(t.Context(), logging.Entry{ID: "3", Name: "n"})
		wantCode(t, "one more", err, wirelab.ResourceExhausted)
		if written, err := s.WriteLog(t.Context(), logging.Entry{ID: "2", Name: "n"}); err != nil || !written.Again() {
			t.Errorf("one that is there: %v, %v", written, err)
		}
	}
	deleted, err := s.DeleteEntries(t.Context(),
		logging.Retention{Before: time.Now().Add(time.Hour).Truncate(time.Microsecond)})
	if err != nil || deleted.Count != 3 || logging.Names(s) != 0 {
		t.Errorf("removed: %v, %v; %d names are left", deleted, err, logging.Names(s))
	}
	if _, err := s.WriteLog(t.Context(), logging.Entry{ID: "3", Name: "n"}); err != nil {
		t.Errorf("when there is room: %v", err)
	}
}

// TestMadeIDs checks that generated ids are recognized, sort by the time they were made, and do not collide (S5).
func TestMadeIDs(t *testing.T) {
	t.Parallel()
	const n = 10_000
	seen := make(map[string]bool, n)
	at := time.Date(2026, 11, 22, 7, 0, 0, 0, time.UTC)
	for range n {
		id := logging.MakeID(at) // of one moment
		seen[id] = true
		if err := (logging.EntryID{ID: id}).Validate(); err != nil || !logging.MadeID(id) {
			t.Fatalf("%s: %v", id, err)
		}
	}
	if len(seen) != n {
		t.Errorf("%d ids of %d", len(seen), n)
	}
	var last string
	for _, after := range []time.Duration{
		-200 * 365 * 24 * time.Hour, 0, time.Millisecond, time.Second, 24 * time.Hour, 200 * 365 * 24 * time.Hour,
	}[1:] {
		id := logging.MakeID(at.Add(after))
		if id <= last {
			t.Errorf("%s is after %s", id, last)
		}
		last = id
	}
	for _, id := range []string{
		"", "load-1", strings.ToUpper(logging.NewID()), logging.NewID()[1:],
		logging.NewID() + "0",
		strings.Repeat("u", 26), strings.Repeat("-", 26),
	} {
		if logging.MadeID(id) {
			t.Errorf("%q is not one that was made", id)
		}
	}
}

// Times do not go back where the clock does.
func TestLater(t *testing.T) {
	t.Parallel()
	last := time.Date(2026, 1, 1, 0, 0, 0, 5_000, time.UTC)
	for _, c := range []struct {
		why       string
		now, want time.Time
	}{
		{"later", last.Add(time.Second), last.Add(time.Second)},
		{"a second back", last.Add(-time.Second), last},
		{"later, and finer than a microsecond", last.Add(1_999), last.Add(time.Microsecond)},
		{"the same microsecond", last.Add(999), last},
		{"in another zone", last.Add(time.Second).In(time.FixedZone("", 3600)), last.Add(time.Second)},
	} {
		if got := logging.Later(c.now, last); !got.Equal(c.want) || got.Location() != time.UTC {
			t.Errorf("%s: %v, want %v", c.why, got, c.want)
		}
	}
}

// Replies are the same but for what a clock or chance decides, and nothing else.
func TestEqual(t *testing.T) {
	t.Parallel()
	made, another := logging.NewID(), logging.NewID()
	for _, c := range []struct {
		a, b string
		same bool
	}{{"a", "a", true}, {"a", "A", false}, {"a", "", false}, {made, made, true}, {made, another, true}, {
		made, "a", false,
	}, {made, strings.ToUpper(made), false}} {
		a, b := logging.Written{ID: c.a}, logging.Written{ID: c.b}
		if a.Equal(b) != c.same || b.Equal(a) != c.same || (a.String() == b.String()) != c.same {
			t.Errorf("%v and %v, equal: %v, want %v", a, b, a.Equal(b), c.same)
		}
	}
	stored := logging.Stored{Entry: logging.Entry{ID: "a", Name: "n", Data: "d"}, Position: 3, At: time.Unix(1, 0)}
	if later := (logging.Stored{Entry: stored.Entry, Position: 3, At: time.Unix(2, 0)}); !stored.Equal(later) ||
		stored.String() != later.String() {
		t.Errorf("%v differs from %v by its time", stored, later)
	}
	for why, other := range map[string]logging.Stored{
		"id":       {Entry: logging.Entry{ID: "b", Name: "n", Data: "d"}, Position: 3, At: time.Unix(1, 0)},
		"name":     {Entry: logging.Entry{ID: "a", Name: "m", Data: "d"}, Position: 3, At: time.Unix(1, 0)},
		"data":     {Entry: logging.Entry{ID: "a", Name: "n", Data: "e"}, Position: 3, At: time.Unix(1, 0)},
		"position": {Entry: stored.Entry, Position: 4, At: time.Unix(1, 0)},
		"no time":  {Entry: stored.Entry, Position: 3},
	} {
		if stored.Equal(other) ||
			(logging.EntryList{Entries: []logging.Stored{stored}}).Equal(logging.EntryList{Entries: []logging.Stored{other}}) {
			t.Errorf("another %s is the same", why)
		}
	}
	if !(logging.EntryList{}).Equal(logging.EntryList{Entries: []logging.Stored{}}) ||
		(logging.EntryList{}).Equal(logging.EntryList{Next: 1}) ||
		(logging.Deleted{}).Equal(logging.Deleted{Count: 1}) {
		t.Error("lists or counts are compared wrongly")
	}
}

// The replies to drawn calls do not depend on who else calls, in which order,
// nor on what was there before: a load over a log that others fill checks each.
func TestDrawnRepliesStandAlone(t *testing.T) {
	t.Parallel()
	s := logging.New()
	for i := range 50 {
		if _, err := s.WriteLog(t.Context(), logging.Entry{
			ID: fmt.Sprint("other-", i), Name: fmt.Sprint("load-", i%16),
		}); err != nil {
			t.Fatal(err)
		}
	}
	r := rand.New(rand.NewPCG(7, 7))
	var checks []wirelab.Check[logging.Service]
	for i := range 400 {
		for _, o := range logging.Operations() {
			e, err := o.Draw(o.Requests[i%len(o.Requests)], r)
			if err != nil {
				t.Fatal(err)
			}
			checks = append(checks, e.Expect(t.Context(), logging.New()))
		}
	}
	for range 2 { // the second time every entry is there
		r.Shuffle(len(checks), func(i, j int) { checks[i], checks[j] = checks[j], checks[i] })
		for _, check := range checks {
			var wrong *wirelab.Mismatch
			if err := check(t.Context(), s); errors.As(err, &wrong) ||
				err != nil && wirelab.CodeOf(err) != wirelab.NotFound {
				t.Error(err)
			}
		}
	}
}

// Drawn entries cover what a wire may spoil, and those of the published size are
// of that size: 76 bytes in the origin's envelope (ms-F64).
func TestDrawnEntries(t *testing.T) {
	t.Parallel()
	draw := func(requests string, n int) []logging.Entry {
		log := &listener{Service: logging.New()}
		r := rand.New(rand.NewPCG(1, 1))
		for range n {
			e, err := logging.Operations()[0].Draw(requests, r)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := e.Ask(t.Context(), log); err != nil {
				t.Fatal(err)
			}
		}
		return log.entries
	}
	empty, wide, ids := 0, 0, map[string]bool{}
	for _, e := range draw(wirelab.Drawn, 500) {
		ids[e.ID] = true
		if e.Data == "" {
			empty++
		}
		if strings.ContainsRune(e.Data, '\U0001F4DC') && strings.ContainsAny(e.Data, "\n\"\\<") {
			wide++
		}
	}
	if len(ids) != 500 || empty < 150 || wide < 100 {
		t.Errorf("500 entries with %d ids, %d empty, %d with letters that are escaped", len(ids), empty, wide)
	}
	for _, e := range draw(logging.Published, 50) {
		body, err := json.Marshal(map[string]any{
			"action": "log",
			"log":    map[string]string{"name": e.Name, "data": e.Data},
		})
		if err != nil || len(body) != 76 {
			t.Errorf("%s has %d bytes, %v", body, len(body), err)
		}
	}
	again := map[string]bool{}
	for _, e := range draw(logging.Again, 1000) {
		again[e.ID] = true
	}
	if len(again) != 64 {
		t.Errorf("%d entries are written over and over, want 64", len(again))
	}
}

// listener notes the entries that are written.
type listener struct {
	logging.Service
	entries []logging.Entry
}

func (l *listener) WriteLog(ctx context.Context, e logging.Entry) (logging.Written, error) {
	l.entries = append(l.entries, e)
	return l.Service.WriteLog(ctx, e)
}

// Every call goes through the hooks by its own name, and what they refuse does
// not reach the service.
func TestWrap(t *testing.T) {
	t.Parallel()
	var seen []string
	refuse := error(nil)
	s := logging.Wrap(logging.New(), wirelab.Hooks{
		Before: func(_ context.Context, operation string) error { seen = append(seen, "+"+operation); return refuse },
		After:  func(operation string) { seen = append(seen, "-"+operation) },
	})
	calls := func() (all []error) {
		_, err1 := s.WriteLog(t.Context(), logging.Entry{ID: "a", Name: "n"})
		_, err2 := s.GetEntry(t.Context(), logging.EntryID{ID: "a"})
		_, err3 := s.ListEntries(t.Context(), logging.Query{})
		_, err4 := s.DeleteEntries(t.Context(), logging.Retention{Before: time.Unix(1, 0)})
		return []error{err1, err2, err3, err4}
	}
	if errs := calls(); errors.Join(errs...) != nil {
		t.Error(errs)
	}
	refuse = wirelab.Errorf(wirelab.Unavailable, "not now")
	for _, err := range calls() {
		wantCode(t, "refused", err, wirelab.Unavailable)
	}
	var want []string
	for range 2 {
		for _, o := range logging.Operations() {
			want = append(want, "+"+o.Name, "-"+o.Name)
		}
	}
	if !slices.Equal(seen, want) {
		t.Errorf("hooks saw %v", seen)
	}
	if err := logging.Ready(t.Context(), s); err != nil {
		t.Errorf("memory is always ready: %v", err)
	}
	away := logging.Wrap(notReady{logging.New()}, wirelab.Hooks{})
	wantCode(t, "a database that is away", logging.Ready(t.Context(), away), wirelab.Unavailable)
}

type notReady struct{ logging.Service }

func (notReady) Ready(context.Context) error { return wirelab.Errorf(wirelab.Unavailable, "away") }

// A page of the longest entries fits a message of every wire, even where each
// byte of text becomes six in JSON.
func TestPageFitsMessage(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(strings.Repeat("\x01", logging.PageBytes+logging.DataLimit+logging.NameLimit))
	if err != nil {
		t.Fatal(err)
	}
	const aroundEach = 256 // ids, positions, times and their names
	if most := len(text) + logging.PageLimit*aroundEach; most > wirelab.MessageLimit {
		t.Errorf("a page may take %d bytes of a message of %d", most, wirelab.MessageLimit)
	}
}

// No two checks of the same thing differ in what they let pass; an embedded
// entry checks as itself.
func TestValidateIsTotal(t *testing.T) {
	t.Parallel()
	for _, q := range []logging.Query{
		{Before: math.MinInt64},
		{Limit: math.MinInt32},
		{Since: time.Unix(math.MaxInt64, 0)},
		{Until: time.Unix(-math.MaxInt64, 999_999_999)},
	} {
		wantCode(t, fmt.Sprintf("%+v", q), q.Validate(), wirelab.InvalidArgument)
	}
	if err := (logging.Query{Since: time.Time{}.In(time.FixedZone("", 3600))}).Validate(); err != nil {
		t.Errorf("the zero time in another zone: %v", err)
	}
	if err := (logging.Stored{}).Validate(); err == nil {
		t.Error("nothing is an entry")
	}
}

// FuzzEntry checks that an arbitrary entry is stored and returned unchanged, or is InvalidArgument with a short
// message (ms-D01, ms-D02).
func FuzzEntry(f *testing.F) {
	f.Add("", "n", "")
	f.Add("id", "a\x00", "\xff")
	f.Add(strings.Repeat("i", 65), "", strings.Repeat("d", 100))
	f.Fuzz(func(t *testing.T, id, name, data string) {
		s := logging.New()
		e := logging.Entry{ID: id, Name: name, Data: data}
		written, err := s.WriteLog(t.Context(), e)
		if err != nil {
			wantCode(t, "refused", err, wirelab.InvalidArgument)
			if len(err.Error()) > 500 {
				t.Errorf("%d bytes of error", len(err.Error()))
			}
			return
		}
		if id == "" {
			e.ID = written.ID
		}
		if got, err := s.GetEntry(t.Context(), logging.EntryID{ID: written.ID}); err != nil || got.Entry != e {
			t.Errorf("%+v is stored as %+v, %v", e, got.Entry, err)
		}
	})
}
