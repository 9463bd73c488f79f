package databasetest

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"wirelab"
	"wirelab/workload/ledger"
)

func readTests() map[string]func(*testing.T, ledger.Service) {
	return map[string]func(*testing.T, ledger.Service){
		"the data set is there whole":               testSeeded,
		"drawn requests answer as the reference":    func(t *testing.T, s ledger.Service) { asReference(t, s, 1, 60) },
		"a balance, or not found":                   testBalance,
		"a batch has a verdict for each id":         testBatch,
		"pages are of the log, in order, and end":   testPages,
		"following Next gives each once":            testPagesCover,
		"since is inclusive, also among equals":     testSince,
		"requests outside the contract are refused": testRefused,
		"a service that works is ready":             testReady,
	}
}

// The data set is the same in every store: no account is missing, and none is
// named that there is not (grb-D07).
func testSeeded(t *testing.T, s ledger.Service) {
	known := map[string]bool{}
	for b := range set(t).Accounts() {
		known[b.Account] = true
		if got := get(t, s, b.Account); !got.Equal(b) || got.UpdatedAt.Location() != time.UTC {
			t.Errorf("balance %+v, want %+v", got, b)
		}
	}
	all := log(t, s, "")
	same(t, "the log", all, seeded(t))
	for i, tx := range all {
		if !known[tx.From] || !known[tx.To] || tx.From == tx.To || tx.Timestamp.Location() != time.UTC {
			t.Errorf("transaction %d is %+v", i, tx)
		}
		if i > 0 && tx.Timestamp.Before(all[i-1].Timestamp) {
			t.Errorf("transaction %d is of %v, before the one before it", i, tx.Timestamp)
		}
	}
}

func testBalance(t *testing.T, s ledger.Service) {
	for _, id := range []string{
		"0.0.99999", "0.0.100100", "0.0.0100000", "0.0.-100000", "100000", "0.0.", "absent", "0.0.100000.",
		strings.Repeat("9", 64),
		"0.0.100000--", "1-OR-1.1", "0.0.18446744073709651616", // 2^64 + 100000
	} {
		_, err := s.GetBalance(t.Context(), ledger.AccountID{ID: id})
		wantCode(t, "balance of "+id, err, wirelab.NotFound)
	}
}

// A batch keeps order and repeats, and says of whom nothing is known (grb-D17).
func testBatch(t *testing.T, s ledger.Service) {
	asked := []string{"0.0.100007", "absent", "0.0.100003", "0.0.100007", "0.0.99999", "absent", "0.0.100000"}
	got, err := s.GetBalances(t.Context(), ledger.AccountIDs{IDs: asked})
	if err != nil || len(got.Verdicts) != len(asked) {
		t.Fatalf("%+v, %v", got, err)
	}
	for i, v := range got.Verdicts {
		want := ledger.Verdict{Account: asked[i]}
		if strings.HasPrefix(asked[i], "0.0.1000") {
			want.Found, want.Balance = true, get(t, s, asked[i])
		}
		if !v.Equal(want) {
			t.Errorf("verdict %d is %+v, want %+v", i, v, want)
		}
	}
	longest := make([]string, ledger.BatchLimit)
	for i := range longest {
		longest[i] = fmt.Sprintf("0.0.%d", 100_099-i%200)
	}
	got, err = s.GetBalances(t.Context(), ledger.AccountIDs{IDs: longest})
	if err != nil || len(got.Verdicts) != ledger.BatchLimit {
		t.Fatalf("the longest batch: %d verdicts, %v", len(got.Verdicts), err)
	}
	for i, v := range got.Verdicts {
		if v.Account != longest[i] || v.Found != (i%200 < 100) {
			t.Errorf("verdict %d of the longest batch is %+v", i, v)
		}
	}
}

func testPages(t *testing.T, s ledger.Service) {
	all := seeded(t)
	account := all[10].From
	theirs := keep(all, of(account))
	for _, c := range []struct {
		why  string
		page ledger.Page
		want []ledger.Transaction
		next string
	}{
		{"no limit is a long one", ledger.Page{}, all, all[999].ID},
		{"the longest", ledger.Page{Limit: ledger.PageLimit}, all, all[999].ID},
		{"the first", ledger.Page{Limit: 1}, all[:1], all[0].ID},
		{"behind one", ledger.Page{After: all[9].ID, Limit: 5}, all[10:15], all[14].ID},
		{"a page that is not full", ledger.Page{After: all[989].ID, Limit: 11}, all[990:], ""},
		{"one that ends with the log", ledger.Page{After: all[989].ID, Limit: 10}, all[990:], all[999].ID},
		{"behind the last", ledger.Page{After: all[999].ID}, nil, ""},
		{"an account on either side", ledger.Page{Account: account}, theirs, ""},
		{
			"a part of an account's",
			ledger.Page{Account: account, After: theirs[1].ID, Limit: 2},
			theirs[2:4],
			theirs[3].ID,
		},
		{
			"an account's, behind one of others",
			ledger.Page{Account: account, After: all[500].ID},
			keep(all[501:], of(account)), "",
		},
		{"an unknown account", ledger.Page{Account: "absent"}, nil, ""},
		{
			"all conditions at once",
			ledger.Page{Account: account, After: all[3].ID, Since: all[400].Timestamp.Add(time.Microsecond)},
			keep(all, func(t ledger.Transaction) bool {
				return of(account)(t) &&
					t.Timestamp.After(all[400].Timestamp)
			}), "",
		},
	} {
		got, err := s.GetTransactions(t.Context(), c.page)
		if err != nil || got.Next != c.next {
			t.Errorf("%s: next %q, %v; want %q", c.why, got.Next, err, c.next)
		}
		same(t, c.why, got.Transactions, c.want)
	}
	_, err := s.GetTransactions(t.Context(), ledger.Page{After: "tx-absent"})
	wantCode(t, "a page behind no transaction", err, wirelab.NotFound)
	_, err = s.GetTransactions(t.Context(), ledger.Page{After: "tx-000001001"})
	wantCode(t, "a page behind the one after the last", err, wirelab.NotFound)
}

func testPagesCover(t *testing.T, s ledger.Service) {
	all := seeded(t)
	account := all[0].To
	for _, filter := range []string{"", account} {
		want := all
		if filter != "" {
			want = keep(all, of(filter))
		}
		for _, limit := range []int32{1, 7, 250, 999, 1000} {
			if filter == "" && limit == 1 {
				continue // a thousand pages tell no more
			}
			var got []ledger.Transaction
			for page := (ledger.Page{Account: filter, Limit: limit}); ; {
				l, err := s.GetTransactions(t.Context(), page)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, l.Transactions...)
				if page.After = l.Next; l.Next == "" {
					break
				}
			}
			same(t, fmt.Sprintf("pages of %d of %q", limit, filter), got, want)
		}
	}
}

func testSince(t *testing.T, s ledger.Service) {
	all := seeded(t)
	ties := 0
	for i := 1; i < len(all); i++ {
		if !all[i].Timestamp.Equal(all[i-1].Timestamp) {
			continue
		}
		ties++
		first := all[i].Timestamp
		for _, c := range []struct {
			why   string
			since time.Time
		}{{"the same time", first}, {"the moment after", first.Add(time.Microsecond)}, {
			"another zone", first.In(time.FixedZone("", 3600)),
		}} {
			got, err := s.GetTransactions(t.Context(), ledger.Page{Since: c.since, Limit: 3})
			if err != nil {
				t.Fatal(err)
			}
			want := keep(all, func(t ledger.Transaction) bool { return !t.Timestamp.Before(c.since) })
			same(t, c.why, got.Transactions, want[:min(3, len(want))])
		}
		// Behind the first of two with one time comes the second, and not both.
		got, err := s.GetTransactions(t.Context(), ledger.Page{Since: first, After: all[i-1].ID, Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		same(t, "behind an equal", got.Transactions, all[i:i+1])
	}
	if ties == 0 {
		t.Error("the data set has no equal timestamps")
	}
	for _, c := range []struct {
		why   string
		since time.Time
		want  []ledger.Transaction
	}{
		{"the first moment", time.Time{}.Add(time.Microsecond), all[:1]},
		{"before 1970", time.Date(1969, 12, 31, 23, 59, 59, 999_999_000, time.UTC), all[:1]},
		{"the last moment", time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC), nil},
		{"just behind the log", all[999].Timestamp.Add(time.Microsecond), nil},
	} {
		got, err := s.GetTransactions(t.Context(), ledger.Page{Since: c.since, Limit: 1})
		if err != nil {
			t.Errorf("%s: %v", c.why, err)
		}
		same(t, c.why, got.Transactions, c.want)
	}
}

// testRefused: a request refused on one wire or database is refused on all.
func testRefused(t *testing.T, s ledger.Service) {
	bad := []string{
		"", ".", "..", "a/b", "../etc/passwd", "a b", "é", "a\x00", "\xff", "0.0.100000'--",
		"'; DROP TABLE accounts; --", "%",
		strings.Repeat("x", ledger.IDLimit+1),
	}
	for _, id := range bad {
		_, err := s.GetBalance(t.Context(), ledger.AccountID{ID: id})
		wantCode(t, fmt.Sprintf("balance of %q", id), err, wirelab.InvalidArgument)
		_, err = s.GetBalances(t.Context(), ledger.AccountIDs{IDs: []string{"0.0.100000", id}})
		wantCode(t, fmt.Sprintf("balances of %q", id), err, wirelab.InvalidArgument)
		for _, p := range []ledger.Posting{
			{ID: id, From: "0.0.100000", To: "0.0.100001", Amount: 1},
			{ID: "p", From: id, To: "0.0.100001", Amount: 1},
			{ID: "p", From: "0.0.100000", To: id, Amount: 1},
		} {
			_, err = s.PostTransaction(t.Context(), p)
			wantCode(t, fmt.Sprintf("posting with %q", id), err, wirelab.InvalidArgument)
		}
		if id == "" {
			continue // is no filter, and the beginning
		}
		for _, from := range []ledger.Feed{{After: id}, {Account: id}} {
			refused(t, s, fmt.Sprintf("%+v", from), from)
		}
	}
	for why, ids := range map[string][]string{"no ids": nil, "too many ids": make([]string, ledger.BatchLimit+1)} {
		for i := range ids {
			ids[i] = "0.0.100000"
		}
		_, err := s.GetBalances(t.Context(), ledger.AccountIDs{IDs: ids})
		wantCode(t, why, err, wirelab.InvalidArgument)
	}
	for _, limit := range []int32{-1, ledger.PageLimit + 1, math.MaxInt32, math.MinInt32} {
		_, err := s.GetTransactions(t.Context(), ledger.Page{Limit: limit})
		wantCode(t, fmt.Sprint("limit ", limit), err, wirelab.InvalidArgument)
	}
	for _, since := range []time.Time{
		time.Date(2026, 1, 1, 0, 0, 0, 1, time.UTC), // finer than a microsecond
		time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(0, 12, 31, 0, 0, 0, 0, time.UTC),
	} {
		refused(t, s, since.String(), ledger.Feed{Since: since})
	}
	for _, feed := range []ledger.Feed{ // grb-D01: none of them stops anything
		{Rate: -1},
		{Rate: math.MinInt64},
		{Rate: math.MaxInt64},
		{Rate: 1 << 31},
		{Rate: 1_000_000_001},
		{Rate: ledger.RateLimit + 1},
		{Limit: -1},
		{Limit: ledger.CountLimit + 1},
		{Limit: math.MaxInt64},
	} {
		_, err := collect(t, s.StreamTransactions(limited(t), feed))
		wantCode(t, fmt.Sprintf("stream %+v", feed), err, wirelab.InvalidArgument)
	}
	same(t, "after all that, the log", log(t, s, ""), seeded(t))
}

// refused asks for a page and for a stream from the same place.
func refused(t *testing.T, s ledger.Service, what string, from ledger.Feed) {
	t.Helper()
	_, err := s.GetTransactions(t.Context(), ledger.Page{After: from.After, Account: from.Account, Since: from.Since})
	wantCode(t, "page from "+what, err, wirelab.InvalidArgument)
	_, err = collect(t, s.StreamTransactions(limited(t), from))
	wantCode(t, "stream from "+what, err, wirelab.InvalidArgument)
}

func testReady(t *testing.T, s ledger.Service) {
	if err := ledger.Ready(t.Context(), s); err != nil {
		t.Error(err)
	}
	if err := ledger.Ready(t.Context(), ledger.Wrap(s, wirelab.Hooks{})); err != nil {
		t.Errorf("with hooks: %v", err)
	}
}
