package databasetest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"wirelab"
	"wirelab/workload/logging"
)

type (
	database = wirelab.Database[logging.Service]
	address  = wirelab.DatabaseAddress
)

func databaseTests() map[string]func(*testing.T, database, address) {
	return map[string]func(*testing.T, database, address){
		"what was stored is there when it is opened again": testReopened,
		"several processes make it at once":                testMakeTogether,
		"several processes are one log":                    testShared,
		"pages are right while several processes write":    testSharedPages,
		"several processes remove at once":                 testSharedRemove,
		"a pool of one connection is enough":               testOneConnection,
		"it tells what it is and how it is used":           testAbout,
		"a failed open gives the cause":                    testOpenRefused,
		"callers who leave are let go":                     testContext,
		"what was acknowledged before it closed is there":  testClosed,
	}
}

// Who writes again after a restart writes nothing twice, and positions go on.
func testReopened(t *testing.T, d database, at address) {
	o, err := d.Open(t.Context(), at, "")
	if err != nil {
		t.Fatal(err)
	}
	all := fill(t, o.Service, 20)
	remove(t, o.Service, all[20-1].At.Add(time.Microsecond)) // all
	all = append(all[:0:0], write(t, o.Service, all[3].Entry),
		write(t, o.Service, logging.Entry{ID: "last", Name: "n"}))
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s := opened(t, d, at).Service
		same(t, "opened again", pages(t, s, logging.Query{}), keep(all, every))
		same(t, "written again", []logging.Stored{write(t, s, all[1].Entry)}, all[1:2])
		_, err := s.WriteLog(t.Context(), logging.Entry{ID: "last", Name: "other"})
		wantCode(t, "another content", err, wirelab.Conflict)
	}
	if next := write(t, opened(t, d, at).Service, logging.Entry{Name: "n"}); next.Position <= all[1].Position {
		t.Errorf("position %d behind %d", next.Position, all[1].Position)
	}
}

func testMakeTogether(t *testing.T, d database, at address) {
	const processes = 4
	var all sync.WaitGroup
	for i := range processes {
		all.Go(func() {
			o, err := d.Open(limited(t), at, "")
			if err != nil {
				t.Errorf("open: %v", err)
				return
			}
			if _, err := o.Service.WriteLog(limited(t),
				logging.Entry{ID: fmt.Sprint("of-", i), Name: "n"}); err != nil {
				t.Errorf("write: %v", err)
			}
			if err := o.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
	}
	all.Wait()
	wantOrdered(t, pages(t, opened(t, d, at).Service, logging.Query{}), processes)
}

// Loggers of several processes, each gathering its own writers, store each entry
// once, in one order that all of them see.
func testShared(t *testing.T, d database, at address) {
	ctx := limited(t)
	services := []logging.Service{opened(t, d, at).Service, opened(t, d, at).Service, opened(t, d, at).Service}
	const writers, entries = 3, 25
	var all sync.WaitGroup
	for i, s := range services {
		for w := range writers {
			all.Go(func() {
				for n := range entries {
					shared := fmt.Sprintf("shared-%d-%d", w, n) // by every process
					if _, err := s.WriteLog(ctx, logging.Entry{ID: shared, Name: "shared", Data: shared}); err != nil {
						t.Errorf("%s: %v", shared, err)
					}
					own := logging.Entry{ID: fmt.Sprintf("own-%d-%d-%d", i, w, n), Name: fmt.Sprint("of-", i)}
					if _, err := s.WriteLog(ctx, own); err != nil {
						t.Errorf("%s: %v", own.ID, err)
					}
					if got, err := services[(i+1)%3].GetEntry(ctx, logging.EntryID{ID: own.ID}); err != nil ||
						got.Entry != own {
						t.Errorf("%s of another process: %v, %v", own.ID, got, err)
					}
				}
			})
		}
	}
	all.Wait()
	want := pages(t, services[0], logging.Query{})
	wantOrdered(t, want, writers*entries+3*writers*entries)
	for i, s := range services {
		same(t, fmt.Sprint("the log by process ", i), pages(t, s, logging.Query{Limit: 33}), want)
		_, err := s.WriteLog(ctx, logging.Entry{ID: "shared-0-0", Name: "other"})
		wantCode(t, "another content", err, wirelab.Conflict)
	}
}

// Commits of several processes become visible in the order of their positions.
func testSharedPages(t *testing.T, d database, at address) {
	pagesWhileWriting(t, opened(t, d, at).Service, opened(t, d, at).Service, opened(t, d, at).Service,
		opened(t, d, at).Service)
}

func testSharedRemove(t *testing.T, d database, at address) {
	services := []logging.Service{opened(t, d, at).Service, opened(t, d, at).Service}
	all := fill(t, services[0], 40)
	counts := make([]int64, len(services))
	var removers sync.WaitGroup
	for i, s := range services {
		removers.Go(func() {
			for _, e := range all[:31] {
				counts[i] += remove(t, s, e.At)
			}
		})
	}
	removers.Wait()
	if counts[0]+counts[1] != 30 {
		t.Errorf("%v were removed, want 30", counts)
	}
	for _, s := range services {
		same(t, "the rest", pages(t, s, logging.Query{}), keep(all[30:], every))
	}
}

func testOneConnection(t *testing.T, d database, at address) {
	at.Pool = 1
	o := opened(t, d, at)
	testSameEntry(t, o.Service)
	testDrawnTogether(t, o.Service)
	if use := o.Pool(); use.Size != 1 || use.Open > 1 || use.Waited == 0 || use.Waiting <= 0 {
		t.Errorf("a pool of 1 that many waited for is used as %+v", use)
	}
}

func testAbout(t *testing.T, d database, at address) {
	at.Pool = 3
	o := opened(t, d, at)
	before := o.Pool()
	write(t, o.Service, logging.Entry{ID: "one", Name: "n"}) // and gets it
	list(t, o.Service, logging.Query{})
	after := o.Pool()
	if o.About == "" || after.Size != 3 || after.Open < 1 || after.Open > 3 || after.Acquired != before.Acquired+3 {
		t.Errorf("%q: pool %+v, then %+v", o.About, before, after)
	}
	at.Pool = 0
	if use := opened(t, d, at).Pool(); use.Size != wirelab.PoolSize {
		t.Errorf("a pool without a configured size is %+v", use)
	}
	if err := logging.Ready(t.Context(), o.Service); err != nil {
		t.Errorf("ready: %v", err)
	}
}

func testOpenRefused(t *testing.T, d database, at address) {
	_, err := d.Open(t.Context(), at, "100x1000")
	wantCode(t, "a data set, of which there is none", err, wirelab.InvalidArgument)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = d.Open(over, at, "")
	wantCode(t, "opened by one who left", err, wirelab.Canceled)
	late, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	_, err = d.Open(late, at, "")
	wantCode(t, "opened when time is over", err, wirelab.DeadlineExceeded)
	same(t, "after that", pages(t, opened(t, d, at).Service, logging.Query{}), nil)
}

// Every call looks at its context: the origin's wait for ever (ms-D16).
func testContext(t *testing.T, d database, at address) {
	s := opened(t, d, at).Service
	all := fill(t, s, 3)
	calls := map[string]func(context.Context) error{
		"WriteLog": func(ctx context.Context) error {
			_, err := s.WriteLog(ctx, logging.Entry{ID: "late", Name: "n"})
			return err
		},
		"GetEntry": func(ctx context.Context) error {
			_, err := s.GetEntry(ctx, logging.EntryID{ID: "e0"})
			return err
		},
		"ListEntries": func(ctx context.Context) error {
			_, err := s.ListEntries(ctx, logging.Query{Name: "name-0"})
			return err
		},
		"DeleteEntries": func(ctx context.Context) error {
			_, err := s.DeleteEntries(ctx,
				logging.Retention{Before: time.Now().Add(time.Hour).Truncate(time.Microsecond)})
			return err
		},
		"Ready": func(ctx context.Context) error { return logging.Ready(ctx, s) },
	}
	for name, call := range calls {
		over, cancel := context.WithCancel(t.Context())
		cancel()
		wantCode(t, name+" of a caller who left", call(over), wirelab.Canceled)
		late, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
		wantCode(t, name+" when time is over", call(late), wirelab.DeadlineExceeded)
		cancel()
	}
	same(t, "after that", pages(t, s, logging.Query{}), keep(all, every))
}

// A logger that is stopped while others write tells each of them whether his
// entry is stored, or that he cannot know; and what it said is stored is (S2, S11).
func testClosed(t *testing.T, d database, at address) {
	o, err := d.Open(t.Context(), at, "")
	if err != nil {
		t.Fatal(err)
	}
	const writers = 8
	acknowledged := make([][]string, writers)
	var all, begun sync.WaitGroup
	begun.Add(writers)
	for w := range writers {
		all.Go(func() {
			for i := 0; ; i++ {
				written, err := o.Service.WriteLog(limited(t),
					logging.Entry{ID: fmt.Sprintf("w%d-%d", w, i), Name: "n"})
				if i == 0 {
					begun.Done()
				}
				if err != nil {
					wantCode(t, "while it closes", err, wirelab.Unavailable)
					return
				}
				acknowledged[w] = append(acknowledged[w], written.ID)
			}
		})
	}
	begun.Wait()
	if err := o.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	all.Wait()
	_, err = o.Service.WriteLog(t.Context(), logging.Entry{Name: "n"})
	wantCode(t, "written when it is closed", err, wirelab.Unavailable)
	s := opened(t, d, at).Service
	for _, ids := range acknowledged {
		for _, id := range ids {
			get(t, s, id)
		}
	}
}
