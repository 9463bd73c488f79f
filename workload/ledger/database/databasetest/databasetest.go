// Package databasetest is the contract of a ledger as tests, for memory and
// for every database. It knows no implementation, and no wire.
package databasetest

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"wirelab"
	"wirelab/workload/ledger"
)

// Data is the data set that the suite is about.
const Data = "100x1000"

// patience ends a test that would hang. It is no claim about time.
const patience = time.Minute

// Run tests a ledger. open returns a service without other users, with the data set [Data] and nothing posted; it
// closes it with t.Cleanup.
func Run(t *testing.T, open func(t *testing.T) ledger.Service) {
	t.Helper()
	for _, tests := range []map[string]func(*testing.T, ledger.Service){readTests(), postTests(), streamTests()} {
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
func RunDatabase(t *testing.T, d wirelab.Database[ledger.Service], empty func(t *testing.T) wirelab.DatabaseAddress) {
	t.Helper()
	Run(t, func(t *testing.T) ledger.Service { return opened(t, d, empty(t)).Service })
	for name, test := range databaseTests() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, d, empty(t))
		})
	}
}

// opened opens a database until the test ends.
func opened(
	t *testing.T, d wirelab.Database[ledger.Service], at wirelab.DatabaseAddress,
) wirelab.Opened[ledger.Service] {
	t.Helper()
	o, err := d.Open(t.Context(), at, Data)
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

// limited is the context of a call that may hang.
func limited(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// set is the data set of the suite.
func set(t *testing.T) *ledger.Set {
	t.Helper()
	s, err := ledger.SetOf(Data)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// sumOf is what accounts have in the data set.
func sumOf(t *testing.T, accounts ...string) (total int64) {
	t.Helper()
	for b := range set(t).Accounts() {
		if slices.Contains(accounts, b.Account) {
			total += b.Amount
		}
	}
	return total
}

// seeded is the log of the data set.
func seeded(t *testing.T) []ledger.Transaction {
	t.Helper()
	var log []ledger.Transaction
	for e := range set(t).Transactions() {
		if int(e.Position) != len(log)+1 {
			t.Fatalf("the data set has position %d behind %d", e.Position, len(log))
		}
		log = append(log, e.Transaction)
	}
	return log
}

// ids are the ids of all accounts.
func ids(t *testing.T) []string {
	t.Helper()
	var all []string
	for b := range set(t).Accounts() {
		all = append(all, b.Account)
	}
	return all
}

// wantCode fails unless err has the code. An error that reaches here without
// one would reach callers as internal (grb-D09).
func wantCode(t *testing.T, what string, err error, want wirelab.Code) {
	t.Helper()
	if err == nil || wirelab.CodeOf(err) != want {
		t.Errorf("%s: %v, want %s", what, err, want)
	}
}

// get returns a balance that must be there.
func get(t *testing.T, s ledger.Service, id string) ledger.Balance {
	t.Helper()
	b, err := s.GetBalance(t.Context(), ledger.AccountID{ID: id})
	if err != nil {
		t.Fatalf("balance of %s: %v", id, err)
	}
	return b
}

// post makes a posting that must succeed.
func post(t *testing.T, s ledger.Service, p ledger.Posting) ledger.Transaction {
	t.Helper()
	done, err := s.PostTransaction(t.Context(), p)
	if err != nil {
		t.Fatalf("post %+v: %v", p, err)
	}
	return done
}

// sum adds up all balances, of one moment.
func sum(t *testing.T, s ledger.Service) int64 {
	t.Helper()
	all, err := s.GetBalances(t.Context(), ledger.AccountIDs{IDs: ids(t)})
	if err != nil {
		t.Errorf("balances: %v", err) // not Fatal: goroutines of tests call this
	}
	var total int64
	for _, v := range all.Verdicts {
		total += v.Balance.Amount
	}
	return total
}

// log returns the log behind a transaction, page by page.
func log(t *testing.T, s ledger.Service, after string) []ledger.Transaction {
	t.Helper()
	var all []ledger.Transaction
	for {
		l, err := s.GetTransactions(t.Context(), ledger.Page{After: after, Limit: 97})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, l.Transactions...)
		if after = l.Next; after == "" {
			return all
		}
	}
}

// same fails unless the two are the same transactions in the same order.
func same(t *testing.T, what string, got, want []ledger.Transaction) {
	t.Helper()
	for i := range min(len(got), len(want)) {
		if !got[i].Same(want[i]) {
			t.Errorf("%s: number %d is %+v, want %+v", what, i, got[i], want[i])
			return
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s: %d transactions, want %d", what, len(got), len(want))
	}
}

// keep returns the transactions that want keeps.
func keep(all []ledger.Transaction, want func(ledger.Transaction) bool) []ledger.Transaction {
	var kept []ledger.Transaction
	for _, t := range all {
		if want(t) {
			kept = append(kept, t)
		}
	}
	return kept
}

// of keeps the transactions with the account on either side.
func of(account string) func(ledger.Transaction) bool {
	return func(t ledger.Transaction) bool { return t.From == account || t.To == account }
}

// collect reads a stream to its end and checks its stamps.
func collect(t *testing.T, events iter.Seq2[ledger.Event, error]) ([]ledger.Transaction, error) {
	t.Helper()
	var got []ledger.Transaction
	for e, err := range events {
		if err != nil {
			return got, err
		}
		got = append(got, e.Transaction)
		if e.Sequence != uint64(len(got)) || e.Due > e.Sent || e.Sent <= 0 {
			t.Errorf("event %d is stamped %+v", len(got), e.Stamp)
		}
	}
	return got, nil
}

// stream reads a stream that must end well.
func stream(t *testing.T, s ledger.Service, feed ledger.Feed) []ledger.Transaction {
	t.Helper()
	got, err := collect(t, s.StreamTransactions(limited(t), feed))
	if err != nil {
		t.Errorf("stream %+v: %v", feed, err)
	}
	return got
}

// asReference asks a service and the reference the same of every operation.
func asReference(t *testing.T, s ledger.Service, seed uint64, rounds int) {
	t.Helper()
	d, err := ledger.Sized(Data)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(seed, 0))
	for range rounds {
		for _, o := range d.Operations {
			for _, requests := range o.Requests {
				e, err := o.Draw(requests, r)
				if err != nil {
					t.Fatal(err)
				}
				err = e.Expect(t.Context(), d.New())(t.Context(), s)
				var wrong *wirelab.Mismatch
				if errors.As(err, &wrong) || err != nil && wirelab.CodeOf(err) != wirelab.NotFound {
					t.Errorf("%s %s: %v", o.Name, e.Request(), err)
				}
			}
		}
	}
}
