package databasetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"wirelab"
	"wirelab/wire/edgevalues"
	"wirelab/workload/ledger"
)

func postTests() map[string]func(*testing.T, ledger.Service) {
	return map[string]func(*testing.T, ledger.Service){
		"a posting moves money and is in the log": testPost,
		"what contradicts is a conflict":          testConflicts,
		"a posting is done once":                  testOnce,
		"any type comes back as it was posted":    testTypes,
		"many posters keep the sum and the order": testPosters,
		"many with the same posting post it once": testSamePosting,
		"money is spent once":                     testOverdraft,
		"postings that cross do not block":        testOpposingPosts,
	}
}

// Accounts that the tests move money between.
const (
	alice = "0.0.100000"
	bob   = "0.0.100001"
	carol = "0.0.100002"
)

func testPost(t *testing.T, s ledger.Service) {
	before, a, b := sum(t, s), get(t, s, alice), get(t, s, bob)
	end := seeded(t)[999]
	p := ledger.Posting{ID: "p1", From: alice, To: bob, Amount: 17, Type: ledger.Transfer}
	done := post(t, s, p)
	if !done.Equal(p.Done(time.Time{})) || done.Timestamp.Before(end.Timestamp) ||
		done.Timestamp.Location() != time.UTC || done.Timestamp.Nanosecond()%1000 != 0 {
		t.Errorf("posted is %+v", done)
	}
	second := post(t, s, ledger.Posting{ID: "p0", From: bob, To: carol, Amount: 1})
	if second.Timestamp.Before(done.Timestamp) {
		t.Errorf("the second is of %v, before %v", second.Timestamp, done.Timestamp)
	}
	for _, want := range []ledger.Balance{
		{Account: alice, Amount: a.Amount - 17, UpdatedAt: done.Timestamp},
		{Account: bob, Amount: b.Amount + 16, UpdatedAt: second.Timestamp},
	} {
		if got := get(t, s, want.Account); !got.Equal(want) {
			t.Errorf("balance %+v, want %+v", got, want)
		}
	}
	same(t, "the log's end", log(t, s, end.ID), []ledger.Transaction{done, second})
	same(t, "alice's end", stream(t, s, ledger.Feed{After: end.ID, Account: alice}), []ledger.Transaction{done})
	same(t, "bob's end, on either side", stream(t, s, ledger.Feed{After: end.ID, Account: bob}),
		[]ledger.Transaction{done, second})
	same(t, "behind what bob received", stream(t, s, ledger.Feed{After: done.ID, Account: bob}),
		[]ledger.Transaction{second})
	same(t, "since it", stream(t, s, ledger.Feed{Since: done.Timestamp}), []ledger.Transaction{done, second})
	if after := sum(t, s); after != before {
		t.Errorf("the sum was %d and is %d", before, after)
	}
}

func testConflicts(t *testing.T, s ledger.Service) {
	before, a := sum(t, s), get(t, s, alice)
	for _, c := range []struct {
		why  string
		p    ledger.Posting
		want wirelab.Code
	}{
		{"more than there is", ledger.Posting{From: alice, To: bob, Amount: a.Amount + 1}, wirelab.Conflict},
		{"as much as can be said", ledger.Posting{From: alice, To: bob, Amount: ledger.AmountLimit}, wirelab.Conflict},
		{"from an unknown account", ledger.Posting{From: "absent", To: bob, Amount: 1}, wirelab.NotFound},
		{"to an unknown account", ledger.Posting{From: alice, To: "absent", Amount: 1}, wirelab.NotFound},
		{
			"more than there is, to an unknown account",
			ledger.Posting{From: alice, To: "absent", Amount: a.Amount + 1},
			wirelab.NotFound,
		},
		{"to oneself", ledger.Posting{From: alice, To: alice, Amount: 1}, wirelab.InvalidArgument},
		{"nothing", ledger.Posting{From: alice, To: bob}, wirelab.InvalidArgument},
		{"less than nothing", ledger.Posting{From: alice, To: bob, Amount: -1}, wirelab.InvalidArgument},
		{
			"more than can be said",
			ledger.Posting{From: alice, To: bob, Amount: ledger.AmountLimit + 1},
			wirelab.InvalidArgument,
		},
		{
			"with a long type",
			ledger.Posting{
				From: alice, To: bob, Amount: 1,
				Type: strings.Repeat("t", ledger.TypeLimit+1),
			},
			wirelab.InvalidArgument,
		},
	} {
		c.p.ID = "refused"
		_, err := s.PostTransaction(t.Context(), c.p)
		wantCode(t, c.why, err, c.want)
	}
	if got := get(t, s, alice); !got.Equal(a) || sum(t, s) != before {
		t.Errorf("after postings that failed the balance is %+v, was %+v", got, a)
	}
	same(t, "after postings that failed the log", log(t, s, ""), seeded(t))
	// The id of a posting that failed is free, and all there is can be spent.
	post(t, s, ledger.Posting{ID: "refused", From: alice, To: bob, Amount: a.Amount})
	if got := get(t, s, alice); got.Amount != 0 {
		t.Errorf("the balance is %d, want none", got.Amount)
	}
	_, err := s.PostTransaction(t.Context(), ledger.Posting{ID: "p", From: alice, To: bob, Amount: 1})
	wantCode(t, "out of nothing", err, wirelab.Conflict)
}

// testOnce: a posting takes effect once, whichever caller repeats it (grb-D11).
func testOnce(t *testing.T, s ledger.Service) {
	a := get(t, s, alice)
	p := ledger.Posting{ID: "once", From: alice, To: bob, Amount: a.Amount, Type: "x"}
	first := post(t, s, p)
	post(t, s, ledger.Posting{ID: "between", From: bob, To: carol, Amount: 1})
	if again := post(t, s, p); !again.Same(first) { // though the money is gone
		t.Errorf("again %+v, first %+v", again, first)
	}
	for why, change := range map[string]func(*ledger.Posting){
		"another payer":  func(p *ledger.Posting) { p.From = carol },
		"another payee":  func(p *ledger.Posting) { p.To = carol },
		"another amount": func(p *ledger.Posting) { p.Amount-- },
		"another type":   func(p *ledger.Posting) { p.Type = "y" },
		"no such payer":  func(p *ledger.Posting) { p.From = "absent" },
	} {
		other := p
		change(&other)
		_, err := s.PostTransaction(t.Context(), other)
		wantCode(t, why, err, wirelab.Conflict)
	}
	old := seeded(t)[41]
	again := ledger.Posting{ID: old.ID, From: old.From, To: old.To, Amount: old.Amount, Type: old.Type}
	if got := post(t, s, again); !got.Same(old) {
		t.Errorf("one of the data set again: %+v, want %+v", got, old)
	}
	again.Amount++
	_, err := s.PostTransaction(t.Context(), again)
	wantCode(t, "the id of one of the data set", err, wirelab.Conflict)
	if end := log(t, s, seeded(t)[999].ID); len(end) != 2 {
		t.Errorf("%d were posted, want 2", len(end))
	}
}

func testTypes(t *testing.T, s ledger.Service) {
	var want []ledger.Transaction
	for i, v := range edgevalues.TextsUpTo(ledger.TypeLimit) {
		p := ledger.Posting{ID: fmt.Sprint("type-", i), From: bob, To: alice, Amount: 1, Type: v.Value}
		if strings.Contains(v.Value, "\x00") {
			_, err := s.PostTransaction(t.Context(), p)
			wantCode(t, v.Name, err, wirelab.InvalidArgument)
			continue
		}
		done := post(t, s, p)
		if done.Type != v.Value || !post(t, s, p).Same(done) {
			t.Errorf("%s: %+v", v.Name, done)
		}
		want = append(want, done)
	}
	for _, v := range edgevalues.BrokenTexts() {
		_, err := s.PostTransaction(t.Context(),
			ledger.Posting{ID: "broken", From: bob, To: alice, Amount: 1, Type: v.Value})
		wantCode(t, v.Name, err, wirelab.InvalidArgument)
	}
	same(t, "what was posted", log(t, s, seeded(t)[999].ID), want)
}

const (
	posters = 8
	each    = 25 // postings of a poster
)

// testPosters has many move money among few, while others look: the sum is
// the same at every moment, and the log tells the whole story in order.
func testPosters(t *testing.T, s ledger.Service) {
	total, begin := sum(t, s), map[string]int64{}
	for b := range set(t).Accounts() {
		begin[b.Account] = b.Amount
	}
	var posting, looking sync.WaitGroup
	done := make(chan struct{})
	for range 2 {
		looking.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if now := sum(t, s); now != total {
					t.Errorf("the sum was %d and is %d while others post", total, now)
					return
				}
			}
		})
	}
	results := make([][]ledger.Transaction, posters)
	for n := range posters {
		posting.Go(func() { results[n] = postMany(t, s, n) })
	}
	posting.Wait()
	close(done)
	looking.Wait()

	all := log(t, s, seeded(t)[999].ID)
	var told []ledger.Transaction
	for _, r := range results {
		told = append(told, r...)
	}
	where := map[string]int{}
	for i, tx := range all {
		where[tx.ID] = i
		if i > 0 && tx.Timestamp.Before(all[i-1].Timestamp) {
			t.Errorf("%s is of %v, before the one before it", tx.ID, tx.Timestamp)
		}
		if begin[tx.From] -= tx.Amount; begin[tx.From] < 0 { // replayed in the log's order
			t.Errorf("%s overdraws %s", tx.ID, tx.From)
		}
		begin[tx.To] += tx.Amount
	}
	slices.SortFunc(told, func(a, b ledger.Transaction) int { return where[a.ID] - where[b.ID] })
	same(t, "what posters were told, in the log's order", told, all)
	for id, want := range begin {
		if got := get(t, s, id).Amount; got != want {
			t.Errorf("%s has %d, by the log %d", id, got, want)
		}
	}
	if now := sum(t, s); now != total {
		t.Errorf("the sum was %d and is %d", total, now)
	}
}

// postMany makes the postings of one of many posters, among six accounts, and
// returns those that were done. Some ask for too much.
func postMany(t *testing.T, s ledger.Service, poster int) []ledger.Transaction {
	r := rand.New(rand.NewPCG(7, uint64(poster)))
	var done []ledger.Transaction
	for i := range each {
		from := r.IntN(6)
		p := ledger.Posting{
			ID:   fmt.Sprintf("poster-%d-%d", poster, i),
			From: fmt.Sprint("0.0.", 100_000+from), To: fmt.Sprint("0.0.", 100_000+(from+1+r.IntN(5))%6),
			Amount: 1 + r.Int64N(40_000_000_000),
		}
		tx, err := s.PostTransaction(t.Context(), p)
		switch {
		case err == nil:
			done = append(done, tx)
		case wirelab.CodeOf(err) != wirelab.Conflict:
			t.Errorf("post: %v", err)
			return done
		}
	}
	return done
}

func testSamePosting(t *testing.T, s ledger.Service) {
	a := get(t, s, alice)
	for i := range 5 {
		p := ledger.Posting{ID: fmt.Sprint("same-", i), From: alice, To: bob, Amount: a.Amount / 10}
		var wg sync.WaitGroup
		got := make([]ledger.Transaction, posters)
		for n := range posters {
			wg.Go(func() {
				var err error
				if got[n], err = s.PostTransaction(t.Context(), p); err != nil {
					t.Errorf("poster %d: %v", n, err)
				}
			})
		}
		wg.Wait()
		for n := range got {
			if !got[n].Same(got[0]) {
				t.Errorf("poster %d was told %+v, another %+v", n, got[n], got[0])
			}
		}
	}
	if got := get(t, s, alice); got.Amount != a.Amount-5*(a.Amount/10) {
		t.Errorf("%d of %d is left", got.Amount, a.Amount)
	}
	if n := len(log(t, s, seeded(t)[999].ID)); n != 5 {
		t.Errorf("%d were posted, want 5", n)
	}
}

func testOverdraft(t *testing.T, s ledger.Service) {
	for i, payer := range []string{alice, carol, "0.0.100050"} {
		all := get(t, s, payer).Amount
		var wg sync.WaitGroup
		var mu sync.Mutex
		won := 0
		for n := range posters {
			wg.Go(func() {
				_, err := s.PostTransaction(t.Context(), ledger.Posting{
					ID: fmt.Sprintf("all-%d-%d", i, n), From: payer, To: fmt.Sprint("0.0.", 100_060+n), Amount: all,
				})
				if err != nil {
					wantCode(t, "the money is gone", err, wirelab.Conflict)
					return
				}
				mu.Lock()
				won++
				mu.Unlock()
			})
		}
		wg.Wait()
		if left := get(t, s, payer).Amount; won != 1 || left != 0 {
			t.Errorf("%s: %d of %d had all the money, %d is left", payer, won, posters, left)
		}
	}
}

// A database that locks the payer and then the payee locks itself up here.
func testOpposingPosts(t *testing.T, s ledger.Service) {
	ctx := limited(t)
	want := get(t, s, alice).Amount + get(t, s, bob).Amount
	var wg sync.WaitGroup
	for n := range posters {
		wg.Go(func() {
			for i := range each {
				p := ledger.Posting{ID: fmt.Sprintf("cross-%d-%d", n, i), From: alice, To: bob, Amount: 1}
				if n%2 == 0 {
					p.From, p.To = bob, alice
				}
				if _, err := s.PostTransaction(ctx, p); err != nil {
					t.Errorf("post: %v", err)
					return
				}
			}
		})
	}
	wg.Wait()
	if got := get(t, s, alice).Amount + get(t, s, bob).Amount; got != want {
		t.Errorf("the two had %d and have %d", want, got)
	}
}
