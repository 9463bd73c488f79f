package ledger_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"wirelab"
	"wirelab/workload/ledger"
)

// What every ledger does is tested in database/databasetest, on the reference
// too. Here is what the reference, the data sets and the requests promise.

// wantCode fails unless err has the code.
func wantCode(t *testing.T, what string, err error, want wirelab.Code) {
	t.Helper()
	var coded *wirelab.Error
	if !errors.As(err, &coded) || coded.Code != want {
		t.Errorf("%s: %v, want %s", what, err, want)
	}
}

func setOf(t *testing.T, name string) *ledger.Set {
	t.Helper()
	s, err := ledger.SetOf(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func sized(t *testing.T, name string) wirelab.Data[ledger.Service] {
	t.Helper()
	d, err := ledger.Sized(name)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDataSetsAreNamedByTheirSize(t *testing.T) {
	t.Parallel()
	var names []string
	for _, d := range ledger.Data() {
		names = append(names, d.Name)
	}
	if fmt.Sprint(names) != "[10000x100000 100x1000]" {
		t.Errorf("data sets %v", names)
	}
	for name, want := range map[string]string{
		"": "10000x100000", "100x1000": "100x1000", "4x0": "4x0", "10000000x100000000": "10000000x100000000",
	} {
		s := setOf(t, name)
		accounts, transactions := s.Size()
		if s.Name() != want || fmt.Sprintf("%dx%d", accounts, transactions) != want ||
			!strings.HasSuffix(s.Seed(), " "+want) {
			t.Errorf("data set %q is %s, %dx%d, seed %s", name, s.Name(), accounts, transactions, s.Seed())
		}
		if d := sized(t, name); d.Name != want {
			t.Errorf("data %q is %s", name, d.Name)
		}
	}
	for _, name := range []string{
		"x", "1x", "x1", "10", "3x10", "4x-1", "04x1", "4x01", "+4x1", " 4x1", "4x1 ", "4X1", "4x1x1",
		"10000001x1", "4x100000001",
		"99999999999999999999x1", "4x0x", "1e3x10", strings.Repeat("9", 10_000),
	} {
		_, err := ledger.SetOf(name)
		wantCode(t, "data set "+name, err, wirelab.InvalidArgument)
		_, err = ledger.Sized(name)
		wantCode(t, "data "+name, err, wirelab.InvalidArgument)
		if len(err.Error()) > 300 {
			t.Errorf("the error repeats all of a long name")
		}
	}
}

// A database is filled once, by whichever version did it: what a name stands
// for must not change under it. Where this fails for a reason, SeedVersion and
// the digest change together (grb-D07).
func TestSeedIsWhatItWas(t *testing.T) {
	t.Parallel()
	h, s := sha256.New(), setOf(t, "100x1000")
	for b := range s.Accounts() {
		fmt.Fprintln(h, b.Account, b.Amount, b.UpdatedAt.UnixMicro())
	}
	for e := range s.Transactions() {
		fmt.Fprintln(h, e.Position, e.Transaction.ID, e.Transaction.From, e.Transaction.To, e.Transaction.Amount,
			e.Transaction.Type, e.Transaction.Timestamp.UnixMicro())
	}
	const want = "9f049b967a526197"
	if got := fmt.Sprintf("%x", h.Sum(nil)[:8]); ledger.SeedVersion != 1 || got != want {
		t.Errorf("version %d has the digest %s, want version 1 with %s", ledger.SeedVersion, got, want)
	}
}

// The data set is as published, and what it names is there (grb-D07).
func TestDataAreAsPublished(t *testing.T) {
	t.Parallel()
	s := setOf(t, "")
	known := map[string]bool{}
	var first, last ledger.Balance
	for b := range s.Accounts() {
		if len(known) == 0 {
			first = b
		}
		last = b
		known[b.Account] = true
		if b.Amount < 0 || b.Amount > 100_000_000_000 {
			t.Errorf("balance %+v", b)
		}
		if len(known) > 9_000 && b.Amount < 10_000_000_000 {
			t.Errorf("account %s is set aside, and a load could empty it", b.Account)
		}
	}
	if first.Account != "0.0.100000" || last.Account != "0.0.109999" || len(known) != 10_000 {
		t.Errorf("%d accounts from %s to %s", len(known), first.Account, last.Account)
	}
	types, ties, of := map[string]int{}, 0, map[string]int{}
	var before ledger.Transaction
	var begin time.Time
	n := 0
	for e := range s.Transactions() {
		tx := e.Transaction
		n++
		if e.Position != int64(n) || !known[tx.From] || !known[tx.To] || tx.From == tx.To ||
			len(tx.ID) != len("tx-000000001") ||
			tx.Amount < 1 || tx.Amount > 10_000_000_000 || tx.Timestamp.Before(before.Timestamp) ||
			tx.Timestamp.Nanosecond()%1000 != 0 {
			t.Fatalf("transaction %d is %+v", n, e)
		}
		if n == 1 {
			begin = tx.Timestamp
		} else if tx.Timestamp.Equal(before.Timestamp) {
			ties++
		}
		types[tx.Type]++
		of[tx.From]++
		of[tx.To]++
		before = tx
	}
	if n != 100_000 || before.Timestamp.Sub(begin) > 24*time.Hour || before.Timestamp.Sub(begin) < 23*time.Hour {
		t.Errorf("%d transactions over %v", n, before.Timestamp.Sub(begin))
	}
	for kind, want := range map[string]int{
		ledger.Transfer: 60_000, ledger.VestingRelease: 30_000, ledger.ContractCall: 10_000,
	} {
		if got := types[kind]; got < want-1000 || got > want+1000 {
			t.Errorf("%d of type %s, want about %d", got, kind, want)
		}
	}
	if ties < 5_000 || ties > 7_500 || len(of) != 10_000 {
		t.Errorf("%d equal timestamps; %d accounts are in the log", ties, len(of))
	}
}

// A load makes a reference for each posting, and a data set of any size is
// there at once: neither may cost what the size is.
func TestReferenceIsCheap(t *testing.T) { // not parallel: it counts what the process allocates
	for _, name := range []string{"", "100x1000", "10000000x100000000"} {
		d := sized(t, name)
		if n := testing.AllocsPerRun(100, func() { _ = d.New() }); n > 1 {
			t.Errorf("data %q: a new service allocates %v times", name, n)
		}
		s := d.New()
		known, unknown := ledger.AccountID{ID: "0.0.100003"}, ledger.AccountID{ID: "0.0.1"}
		if _, err := s.GetBalance(t.Context(), unknown); err == nil {
			t.Error("an unknown account was found")
		}
		if n := testing.AllocsPerRun(100, func() { _, _ = s.GetBalance(t.Context(), known) }); n > 0 {
			t.Errorf("data %q: a balance allocates %v times", name, n)
		}
		// A page of 100 has a slice for its transactions and another for the part of the log it read, with one text
		// for all ids.
		page := ledger.Page{After: "tx-000000500", Limit: 100}
		if n := testing.AllocsPerRun(100, func() { _, _ = s.GetTransactions(t.Context(), page) }); n > 6 {
			t.Errorf("data %q: a page allocates %v times", name, n)
		}
	}
	if n := testing.AllocsPerRun(100, func() { _ = ledger.New() }); n > 1 {
		t.Errorf("a new service allocates %v times", n)
	}
}

// The largest data set is as good as the small ones, at both its ends.
func TestLargestDataSet(t *testing.T) {
	t.Parallel()
	s := sized(t, "10000000x100000000").New()
	for _, c := range []struct {
		after string
		want  int
		next  string
	}{{"", 3, "tx-000000003"}, {"tx-099999997", 3, "tx-100000000"}, {"tx-099999998", 2, ""}, {"tx-100000000", 0, ""}} {
		l, err := s.GetTransactions(t.Context(), ledger.Page{After: c.after, Limit: 3})
		if err != nil || len(l.Transactions) != c.want || l.Next != c.next {
			t.Errorf("behind %q: %d, next %q, %v; want %d, %q", c.after, len(l.Transactions), l.Next, err, c.want,
				c.next)
		}
		for _, tx := range l.Transactions {
			all, err := s.GetBalances(t.Context(), ledger.AccountIDs{IDs: []string{tx.From, tx.To, "0.0.10100000"}})
			if err != nil || !all.Verdicts[0].Found || !all.Verdicts[1].Found || all.Verdicts[2].Found {
				t.Errorf("the accounts of %+v: %+v, %v", tx, all, err)
			}
			since, err := s.GetTransactions(t.Context(), ledger.Page{Since: tx.Timestamp, Limit: 1})
			if err != nil || len(since.Transactions) != 1 || !since.Transactions[0].Timestamp.Equal(tx.Timestamp) {
				t.Errorf("since %v: %+v, %v", tx.Timestamp, since, err)
			}
		}
	}
}

// Replies do not depend on other callers: what postings touch is asked for by
// nothing else that is drawn.
func TestDrawnRequestsAreApart(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"4x0", "4x1", "5x3", "100x1000", ""} {
		d, set := sized(t, name), setOf(t, name)
		busy, quiet := d.New(), d.New()
		r := rand.New(rand.NewPCG(3, 3))
		posted := map[string]bool{}
		for range 400 {
			for _, o := range d.Operations {
				for _, requests := range o.Requests {
					e, err := o.Draw(requests, r)
					if err != nil {
						t.Fatal(err)
					}
					if err := e.Expect(t.Context(), quiet)(t.Context(), busy); err != nil &&
						wirelab.CodeOf(err) != wirelab.NotFound {
						t.Fatalf("data %q: %s %s: %v", name, o.Name, e.Request(), err)
					}
					if o.Fresh != (o.Name == "PostTransaction") {
						t.Fatalf("%s is fresh: %v", o.Name, o.Fresh)
					}
				}
			}
			// The two have the same postings now; these come from others.
			e, err := d.Operations[3].Draw("", r)
			if err != nil {
				t.Fatal(err)
			}
			reply, err := e.Ask(t.Context(), busy)
			if err != nil {
				t.Fatal(err)
			}
			tx := reply[0].(ledger.Transaction)
			posted[tx.From], posted[tx.To] = true, true
		}
		n := 0
		for b := range set.Accounts() {
			if accounts, _ := set.Size(); posted[b.Account] && n < accounts-set.Aside() {
				t.Errorf("data %q: a posting has %s, which is not set aside", name, b.Account)
			}
			n++
		}
	}
}

func TestDrawnRequestsAreVaried(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 1))
	seen := map[string]int{}
	for _, o := range ledger.Operations() {
		if (o.Name == "GetBalance" || o.Name == "GetBalances") && strings.Join(o.Requests, " ") != "drawn known" {
			t.Errorf("%s has the requests %v", o.Name, o.Requests)
		}
		for range 400 {
			e, err := o.Draw("", r)
			if err != nil {
				t.Fatal(err)
			}
			reply, err := e.Ask(t.Context(), ledger.New())
			if err != nil {
				seen[o.Name+" "+wirelab.CodeOf(err).String()]++
				continue
			}
			switch {
			case len(reply) == 0 || strings.Contains(e.Request(), "Account:0"):
				seen[o.Name+" of an account"]++
			case strings.Contains(e.Request(), "After:tx"):
				seen[o.Name+" after"]++
			case strings.Contains(e.Request(), "Since:20"):
				seen[o.Name+" since"]++
			default:
				seen[o.Name]++
			}
		}
	}
	for what, least := range map[string]int{
		"GetBalance": 250, "GetBalance not_found": 60, "GetBalances": 400, "PostTransaction": 400,
		"GetTransactions": 40, "GetTransactions after": 40, "GetTransactions since": 40,
		"GetTransactions of an account": 80,
		"StreamTransactions":            40, "StreamTransactions after": 40, "StreamTransactions since": 40,
		"StreamTransactions of an account": 80,
	} {
		if seen[what] < least {
			t.Errorf("%d of %s, want at least %d: %v", seen[what], what, least, seen)
		}
	}
}

// No balance is ever more than every encoding carries whole.
func TestNoBalanceIsTooLarge(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why              string
		from, to, amount int64
		conflict         bool
	}{
		{"all there is", 7, 0, 7, false},
		{"one more", 6, 0, 7, true},
		{"to the limit", ledger.AmountLimit, 0, ledger.AmountLimit, false},
		{"to the limit, from a little below", 1, ledger.AmountLimit - 1, 1, false},
		{"over the limit", 1, ledger.AmountLimit, 1, true},
		{"far over it", ledger.AmountLimit, ledger.AmountLimit, ledger.AmountLimit, true},
	} {
		err := (ledger.Posting{Amount: c.amount}).Check(c.from, c.to)
		if c.conflict {
			wantCode(t, c.why, err, wirelab.Conflict)
		} else if err != nil {
			t.Errorf("%s: %v", c.why, err)
		}
	}
	s := ledger.Holding("0.0.100000", ledger.AmountLimit-5)
	p := ledger.Posting{ID: "over", From: "0.0.100001", To: "0.0.100000", Amount: 6}
	_, err := s.PostTransaction(t.Context(), p)
	wantCode(t, "one that is nearly full", err, wirelab.Conflict)
	p.ID, p.Amount = "full", 5
	if _, err := s.PostTransaction(t.Context(), p); err != nil {
		t.Error(err)
	}
	b, err := s.GetBalance(t.Context(), ledger.AccountID{ID: p.To})
	if err != nil || b.Amount != ledger.AmountLimit {
		t.Errorf("%+v, %v", b, err)
	}
}

func TestPostedAreBounded(t *testing.T) {
	t.Parallel()
	s := ledger.Keeping(2)
	p := ledger.Posting{From: "0.0.100000", To: "0.0.100001", Amount: 1}
	for _, id := range []string{"a", "b"} {
		p.ID = id
		if _, err := s.PostTransaction(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.PostTransaction(t.Context(), p); err != nil {
		t.Errorf("the last again: %v", err)
	}
	before, _ := s.GetBalance(t.Context(), ledger.AccountID{ID: p.From})
	p.ID = "c"
	_, err := s.PostTransaction(t.Context(), p)
	wantCode(t, "one more than is kept", err, wirelab.ResourceExhausted)
	if after, _ := s.GetBalance(t.Context(), ledger.AccountID{ID: p.From}); !after.Equal(before) {
		t.Errorf("a posting that was refused changed %+v to %+v", before, after)
	}
}

// The log's time never goes back, though a clock may.
func TestTimestampsNeverGoBack(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		why             string
		now, last, want time.Time
	}{
		{"the clock is ahead", noon.Add(time.Second), noon, noon.Add(time.Second)},
		{"the clock went back", noon, noon.Add(time.Hour), noon.Add(time.Hour)},
		{"finer than a microsecond", noon.Add(1999), noon, noon.Add(time.Microsecond)},
		{"cut off, it would be before the last", noon.Add(999), noon.Add(time.Microsecond), noon.Add(time.Microsecond)},
		{"an empty log", noon, time.Time{}, noon},
		{"another zone", noon.In(time.FixedZone("", 7200)), time.Time{}, noon},
	} {
		if got := ledger.Later(c.now, c.last); got != c.want { // the zone counts too
			t.Errorf("%s: %v, want %v", c.why, got, c.want)
		}
	}
}

// Replies are equal when all their fields are, but for what a clock decides.
func TestEqualSeesEveryField(t *testing.T) {
	t.Parallel()
	at := time.Unix(1, 0)
	b := ledger.Balance{Account: "a", Amount: 1, UpdatedAt: at}
	for _, other := range []ledger.Balance{{"b", 1, at}, {"a", 2, at}, {"a", 1, at.Add(1000)}} {
		x, y := ledger.Verdict{Account: "a", Found: true, Balance: b}, ledger.Verdict{
			Account: "a", Found: true, Balance: other,
		}
		if b.Equal(other) || x.Equal(y) ||
			(ledger.Balances{Verdicts: []ledger.Verdict{x}}).Equal(ledger.Balances{Verdicts: []ledger.Verdict{y}}) {
			t.Errorf("%+v equals %+v", b, other)
		}
	}
	if (ledger.Verdict{Account: "a"}).Equal(ledger.Verdict{Account: "a", Found: true}) ||
		(ledger.Verdict{Account: "a"}).Equal(ledger.Verdict{Account: "b"}) {
		t.Error("verdicts that differ are equal")
	}
	tx := ledger.Transaction{ID: "i", From: "f", To: "t", Amount: 1, Type: "k", Timestamp: at}
	for _, other := range []ledger.Transaction{
		{"j", "f", "t", 1, "k", at},
		{"i", "g", "t", 1, "k", at},
		{"i", "f", "u", 1, "k", at},
		{"i", "f", "t", 2, "k", at},
		{"i", "f", "t", 1, "l", at},
	} {
		if tx.Equal(other) || tx.Same(other) {
			t.Errorf("%+v equals %+v", tx, other)
		}
	}
	later := tx
	later.Timestamp = at.Add(time.Hour)
	if !tx.Equal(later) || tx.Same(later) {
		t.Error("a posting's time is no part of its reply, and one of a page's")
	}
	page := func(tx ledger.Transaction, next string) ledger.TransactionList {
		return ledger.TransactionList{Transactions: []ledger.Transaction{tx}, Next: next}
	}
	if !page(tx, "n").Equal(page(tx, "n")) || page(tx, "n").Equal(page(later, "n")) ||
		page(tx, "n").Equal(page(tx, "")) {
		t.Error("pages that differ are equal, or one is not itself")
	}
	e := ledger.Event{Transaction: tx, Stamp: wirelab.Stamp{Sequence: 1, Due: 1, Sent: 1}}
	sent, second := e, e
	sent.Due, sent.Sent, second.Sequence = 2, 2, 2
	if !e.Equal(sent) || e.Equal(second) || e.Equal(ledger.Event{Transaction: later, Stamp: e.Stamp}) ||
		e.String() != sent.String() {
		t.Error("events differ by the time of sending, or do not differ by their contents")
	}
}

// Hooks see every call of a stream, however it ends; an endless one's items
// are as large as they are said to be.
func TestHooks(t *testing.T) {
	t.Parallel()
	var calls []string
	stop := &wirelab.Error{Code: wirelab.Conflict, Message: "told to"}
	items := 0
	s := ledger.Wrap(ledger.New(), wirelab.Hooks{
		Before: func(_ context.Context, operation string) error {
			calls = append(calls, "before "+operation)
			return nil
		},
		After: func(operation string) { calls = append(calls, "after "+operation) },
		Item: func(context.Context) error {
			if items++; items > 3 {
				return stop
			}
			return nil
		},
	})
	n := 0
	for e, err := range s.StreamTransactions(t.Context(), ledger.Feed{}) {
		if err != nil {
			wantCode(t, "the item that failed", err, wirelab.Conflict)
			break
		}
		n++
		if size := len(e.Transaction.ID) + len(e.Transaction.Type); size < wirelab.ItemSize ||
			size > wirelab.ItemSize+100 ||
			e.Sequence != uint64(n) {
			t.Errorf("item %d has %d bytes and the sequence %d", n, size, e.Sequence)
		}
	}
	if n != 3 || strings.Join(calls, ", ") != "before StreamTransactions, after StreamTransactions" {
		t.Errorf("%d items, hooks %v", n, calls)
	}
}
