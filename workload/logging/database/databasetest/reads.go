package databasetest

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"wirelab"
	"wirelab/wire/edgevalues"
	"wirelab/workload/logging"
)

func readTests() map[string]func(*testing.T, logging.Service) {
	return map[string]func(*testing.T, logging.Service){
		"lists filter by name, time and position":          testFilters,
		"pages join without a gap":                         testPages,
		"a page ends before it is too large for a message": testPageBytes,
		"a page is of what was there when it was begun":    testPagesWhileWriting,
		"an entry there is not":                            testUnknown,
		"invalid queries are refused":                      testQueriesRefused,
	}
}

// Every condition, alone and with others, newest first; ends of times are where
// the contract says (ms-F24, ms-D16).
func testFilters(t *testing.T, s logging.Service) {
	same(t, "of nothing", pages(t, s, logging.Query{}), nil)
	all := fill(t, s, 30)
	at := func(i int) time.Time { return all[i].At }
	for _, c := range []struct {
		why  string
		q    logging.Query
		want func(e logging.Stored) bool
	}{
		{"no condition", logging.Query{}, every},
		{"a name", logging.Query{Name: "name-1"}, func(e logging.Stored) bool { return e.Name == "name-1" }},
		{"a name in capitals", logging.Query{Name: "NAME-1"}, func(logging.Stored) bool { return false }},
		{"the begin of a name", logging.Query{Name: "name-"}, func(logging.Stored) bool { return false }},
		{"a name that is a pattern", logging.Query{Name: "name-_"}, func(logging.Stored) bool { return false }},
		{
			"since the time of one, with it",
			logging.Query{Since: at(10)},
			func(e logging.Stored) bool { return !e.At.Before(at(10)) },
		},
		{
			"until the time of one, without it",
			logging.Query{Until: at(10)},
			func(e logging.Stored) bool { return e.At.Before(at(10)) },
		},
		{
			"a microsecond after one",
			logging.Query{Since: at(10).Add(time.Microsecond)},
			func(e logging.Stored) bool { return e.At.After(at(10)) },
		},
		{
			"between two",
			logging.Query{Since: at(5), Until: at(20)},
			func(e logging.Stored) bool { return !e.At.Before(at(5)) && e.At.Before(at(20)) },
		},
		{
			"between two, of a name",
			logging.Query{Since: at(5), Until: at(20), Name: "name-2"},
			func(e logging.Stored) bool {
				return !e.At.Before(at(5)) && e.At.Before(at(20)) && e.Name == "name-2"
			},
		},
		{
			"an end before the beginning",
			logging.Query{Since: at(20), Until: at(5)},
			func(logging.Stored) bool { return false },
		},
		{"nothing between", logging.Query{Since: at(5), Until: at(5)}, func(logging.Stored) bool { return false }},
		{
			"in another zone",
			logging.Query{Since: at(10).In(time.FixedZone("", 3600))},
			func(e logging.Stored) bool { return !e.At.Before(at(10)) },
		},
		{"since long ago", logging.Query{Since: time.Date(1, 1, 2, 0, 0, 0, 0, time.UTC)}, every},
		{
			"until far in the future",
			logging.Query{Until: time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC)},
			every,
		},
		{"until long ago", logging.Query{Until: time.Unix(0, 0)}, func(logging.Stored) bool { return false }},
		{
			"since the future",
			logging.Query{Since: time.Now().Add(time.Hour).Truncate(time.Microsecond)},
			func(logging.Stored) bool { return false },
		},
		{
			"before a position",
			logging.Query{Before: all[12].Position},
			func(e logging.Stored) bool { return e.Position < all[12].Position },
		},
		{"before the first", logging.Query{Before: 1}, func(logging.Stored) bool { return false }},
		{"before a position far away", logging.Query{Before: logging.PositionLimit}, every},
		{
			"all of it",
			logging.Query{Before: all[25].Position, Since: at(3), Until: at(22), Name: "name-0"},
			func(e logging.Stored) bool {
				return e.Position < all[25].Position && !e.At.Before(at(3)) && e.At.Before(at(22)) && e.Name == "name-0"
			},
		},
	} {
		for _, limit := range []int32{0, 1, 7, logging.PageLimit} {
			c.q.Limit = limit
			same(t, fmt.Sprintf("%s, pages of %d", c.why, limit), pages(t, s, c.q), keep(all, c.want))
		}
	}
}

// Next is there if the page is full, and leads on; after the last full page there
// may be none.
func testPages(t *testing.T, s logging.Service) {
	all := keep(fill(t, s, 12), every)
	for _, c := range []struct {
		q    logging.Query
		want []logging.Stored
		next int64
	}{
		{logging.Query{Limit: 5}, all[:5], all[4].Position},
		{logging.Query{Limit: 5, Before: all[4].Position}, all[5:10], all[9].Position},
		{logging.Query{Limit: 5, Before: all[9].Position}, all[10:], 0},
		{logging.Query{Limit: 12}, all, all[11].Position},
		{logging.Query{Limit: 12, Before: all[11].Position}, nil, 0},
		{logging.Query{Limit: 13}, all, 0},
		{logging.Query{}, all, 0},
		{logging.Query{Limit: 1, Name: all[5].Name, Before: all[4].Position}, all[5:6], all[5].Position},
	} {
		l := list(t, s, c.q)
		same(t, fmt.Sprintf("%+v", c.q), l.Entries, c.want)
		if l.Next != c.next {
			t.Errorf("%+v: Next is %d, want %d", c.q, l.Next, c.next)
		}
	}
}

// A page of long entries fits a message, and an entry of the longest data a page.
func testPageBytes(t *testing.T, s logging.Service) {
	var all []logging.Stored
	for i, size := range []int{
		logging.DataLimit, 10, 200_000, 200_000, 200_000, 200_000, logging.DataLimit, 5, logging.DataLimit - 2,
	} {
		all = append(all, write(t, s,
			logging.Entry{ID: fmt.Sprint("long-", i), Name: "n", Data: strings.Repeat("x", size)}))
	}
	all = keep(all, every)
	var q logging.Query
	for i, want := range [][]logging.Stored{all[:2], all[2:3], all[3:6], all[6:9], nil} {
		l := list(t, s, q)
		same(t, fmt.Sprint("page ", i), l.Entries, want)
		if len(want) == 0 {
			break
		}
		if l.Next != want[len(want)-1].Position {
			t.Fatalf("page %d: Next is %d", i, l.Next)
		}
		q.Before = l.Next
	}
	same(t, "all pages", pages(t, s, logging.Query{Name: "n"}), all)
}

// testPagesWhileWriting: a reader that pages while others write sees each entry once that was there when it began,
// and no entry appears below a position that it has passed.
func testPagesWhileWriting(t *testing.T, s logging.Service) { pagesWhileWriting(t, s, s) }

// pagesWhileWriting reads with one service while others write to the same log.
func pagesWhileWriting(t *testing.T, s logging.Service, by ...logging.Service) {
	t.Helper()
	ctx := limited(t)
	const begun = 60
	fill(t, s, begun)
	stop := make(chan struct{})
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() {
			by := by[w%len(by)]
			for i := range 2_000 { // memory would fill while pages are read
				select {
				case <-stop:
					return
				default:
				}
				if _, err := by.WriteLog(ctx,
					logging.Entry{Name: fmt.Sprint("name-", i%3), Data: fmt.Sprint(w, i)}); err != nil {
					t.Errorf("write: %v", err)
					return
				}
			}
		})
	}
	for round := range 8 {
		newest := list(t, s, logging.Query{Limit: 1}).Entries[0]
		first := pages(t, s, logging.Query{Limit: 50, Before: newest.Position + 1})
		wantOrdered(t, first, len(first))
		if len(first) == 0 || first[0].Position != newest.Position || first[len(first)-1].ID != "e0" {
			t.Errorf("round %d: %d entries from the newest, %d, on", round, len(first), newest.Position)
		}
		same(t, "the same pages later", pages(t, s, logging.Query{Limit: 41, Before: newest.Position + 1}), first)
		until := pages(t, s, logging.Query{Until: newest.At})
		same(t, "until the newest's time", until, keep(reversed(first),
			func(e logging.Stored) bool { return e.At.Before(newest.At) }))
	}
	close(stop)
	writers.Wait()
}

// reversed returns the entries oldest first.
func reversed(all []logging.Stored) []logging.Stored { return keep(all, every) }

func testUnknown(t *testing.T, s logging.Service) {
	fill(t, s, 3)
	for _, id := range []string{"absent", "E1", "e", "e11", strings.Repeat("e", logging.IDLimit), logging.NewID()} {
		_, err := s.GetEntry(t.Context(), logging.EntryID{ID: id})
		wantCode(t, "entry "+id, err, wirelab.NotFound)
	}
}

func testQueriesRefused(t *testing.T, s logging.Service) {
	fill(t, s, 3)
	for _, id := range []string{"", ".", "..", "a/b", "a\x00", "\xff", "%", strings.Repeat("e", logging.IDLimit+1)} {
		_, err := s.GetEntry(t.Context(), logging.EntryID{ID: id})
		wantCode(t, fmt.Sprintf("entry %q", id), err, wirelab.InvalidArgument)
	}
	refused := map[string]logging.Query{
		"a limit below 0":      {Limit: -1},
		"a limit too high":     {Limit: logging.PageLimit + 1},
		"the highest limit":    {Limit: math.MaxInt32},
		"a position below 0":   {Before: -1},
		"a position too high":  {Before: logging.PositionLimit + 1},
		"the highest position": {Before: math.MaxInt64},
		"a long name":          {Name: strings.Repeat("n", logging.NameLimit+1)},
		"a name with NUL":      {Name: "\x00"},
		"a fine time":          {Since: time.Unix(0, 1)},
		"a fine end":           {Until: time.Unix(0, 1)},
		"a year before 1":      {Since: time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)},
		"a year after 9999":    {Until: time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)},
	}
	for _, v := range edgevalues.BrokenTexts() {
		refused["a name: "+v.Name] = logging.Query{Name: v.Value}
	}
	for why, q := range refused {
		_, err := s.ListEntries(t.Context(), q)
		wantCode(t, why, err, wirelab.InvalidArgument)
	}
}
