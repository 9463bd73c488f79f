// Package databasetest is the contract of a logger as tests, for memory and for
// every database. It knows no implementation, and no wire.
package databasetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"wirelab"
	"wirelab/workload/logging"
)

// patience ends a test that would hang. It is no claim about time.
const patience = time.Minute

// Run tests a logger. open returns a service without other users, with nothing stored; it closes it with t.Cleanup.
func Run(t *testing.T, open func(t *testing.T) logging.Service) {
	t.Helper()
	for _, tests := range []map[string]func(*testing.T, logging.Service){writeTests(), readTests(), removeTests()} {
		for name, test := range tests {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t, open(t))
			})
		}
	}
}

// RunDatabase tests a database: everything [Run] does, and what only databases
// promise. empty returns the address of one that holds nothing yet, made for
// this call, and that may be opened more than once.
func RunDatabase(t *testing.T, d wirelab.Database[logging.Service], empty func(t *testing.T) wirelab.DatabaseAddress) {
	t.Helper()
	Run(t, func(t *testing.T) logging.Service { return opened(t, d, empty(t)).Service })
	for name, test := range databaseTests() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, d, empty(t))
		})
	}
}

// opened opens a database until the test ends.
func opened(
	t *testing.T, d wirelab.Database[logging.Service], at wirelab.DatabaseAddress,
) wirelab.Opened[logging.Service] {
	t.Helper()
	o, err := d.Open(t.Context(), at, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := o.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return o
}

// limited is the context of calls that may hang.
func limited(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// wantCode fails unless err has the code. An error that reaches here without
// one would reach callers as internal (ms-D17).
func wantCode(t *testing.T, what string, err error, want wirelab.Code) {
	t.Helper()
	if err == nil || wirelab.CodeOf(err) != want {
		t.Errorf("%s: %v, want %s", what, err, want)
	}
}

// write stores an entry, which must succeed, and returns the stored form.
func write(t *testing.T, s logging.Service, e logging.Entry) logging.Stored {
	t.Helper()
	written, err := s.WriteLog(limited(t), e)
	if err != nil || e.ID != "" && written.ID != e.ID {
		t.Fatalf("write %.100q: %v, %v", fmt.Sprint(e), written, err)
	}
	return get(t, s, written.ID)
}

// get returns an entry that must be there.
func get(t *testing.T, s logging.Service, id string) logging.Stored {
	t.Helper()
	e, err := s.GetEntry(limited(t), logging.EntryID{ID: id})
	if err != nil {
		t.Fatalf("entry %s: %v", id, err)
	}
	return e
}

// fill stores n entries of a few names, so that no two have the same time.
func fill(t *testing.T, s logging.Service, n int) []logging.Stored {
	t.Helper()
	all := make([]logging.Stored, n)
	for i := range all {
		all[i] = write(t, s, logging.Entry{
			ID: fmt.Sprint("e", i), Name: fmt.Sprint("name-", i%3), Data: fmt.Sprint("data ", i),
		})
		tick(all[i].At)
	}
	return all
}

// tick waits until the clock shows another microsecond than t.
func tick(t time.Time) {
	for !time.Now().Truncate(time.Microsecond).After(t) {
	}
}

// list returns one page.
func list(t *testing.T, s logging.Service, q logging.Query) logging.EntryList {
	t.Helper()
	l, err := s.ListEntries(limited(t), q)
	if err != nil {
		t.Fatalf("list %+v: %v", q, err)
	}
	return l
}

// pages returns every page that q begins, as one list.
func pages(t *testing.T, s logging.Service, q logging.Query) (all []logging.Stored) {
	t.Helper()
	for {
		l := list(t, s, q)
		all = append(all, l.Entries...)
		if l.Next == 0 {
			return all
		}
		q.Before = l.Next
	}
}

// same fails unless the two are the same entries in the same order, with the
// same times.
func same(t *testing.T, what string, got, want []logging.Stored) {
	t.Helper()
	for i := range min(len(got), len(want)) {
		if got[i].Entry != want[i].Entry || got[i].Position != want[i].Position || !got[i].At.Equal(want[i].At) {
			t.Errorf("%s: number %d is %.200v of %v, want %.200v of %v", what, i, got[i], got[i].At, want[i],
				want[i].At)
			return
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s: %d entries, want %d", what, len(got), len(want))
	}
}

// keep returns the entries that want keeps, newest first.
func keep(all []logging.Stored, want func(logging.Stored) bool) (kept []logging.Stored) {
	for i := len(all) - 1; i >= 0; i-- {
		if want(all[i]) {
			kept = append(kept, all[i])
		}
	}
	return kept
}

func every(logging.Stored) bool { return true }

// asReference asks a service and the reference the same of every operation: the
// replies do not depend on what the service holds, nor on who else asks.
func asReference(t *testing.T, s logging.Service, seed uint64, rounds int) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 0))
	for range rounds {
		for _, o := range logging.Operations() {
			for _, requests := range o.Requests {
				e, err := o.Draw(requests, r)
				if err != nil {
					t.Error(err)
					return
				}
				err = e.Expect(t.Context(), logging.New())(t.Context(), s)
				var wrong *wirelab.Mismatch
				if errors.As(err, &wrong) || err != nil && wirelab.CodeOf(err) != wirelab.NotFound {
					t.Errorf("%s %.200s: %v", o.Name, e.Request(), err)
				}
			}
		}
	}
}
