package bind_test

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"wirelab"
	"wirelab/workload/ledger"
	"wirelab/workload/ledger/bind"
)

// hostileCall is a request that no stub of ours lets pass.
type hostileCall struct {
	operation, why string
	ask            func(ctx context.Context, service ledger.Service) error
	// also is a code that some wires have before the request is read; else
	// every server says InvalidArgument.
	also wirelab.Code
}

// million is a batch that no address holds: over plain HTTP it is no request at
// all, and what refuses it is the library, before any service is asked.
const million = "1,000,000 ids"

func hostileCalls() []hostileCall {
	var all []hostileCall
	get := func(why, id string) {
		all = append(all, hostileCall{"GetBalance", why, func(ctx context.Context, s ledger.Service) error {
			_, err := s.GetBalance(ctx, ledger.AccountID{ID: id})
			return err
		}, wirelab.InvalidArgument})
	}
	batch := func(why string, also wirelab.Code, ids ...string) {
		all = append(all, hostileCall{"GetBalances", why, func(ctx context.Context, s ledger.Service) error {
			_, err := s.GetBalances(ctx, ledger.AccountIDs{IDs: ids})
			return err
		}, also})
	}
	page := func(why string, p ledger.Page) {
		all = append(all, hostileCall{"GetTransactions", why, func(ctx context.Context, s ledger.Service) error {
			_, err := s.GetTransactions(ctx, p)
			return err
		}, wirelab.InvalidArgument})
	}
	stream := func(why string, f ledger.Feed) {
		all = append(all, hostileCall{"StreamTransactions", why, func(ctx context.Context, s ledger.Service) error {
			for _, err := range s.StreamTransactions(ctx, f) {
				return err
			}
			return nil
		}, wirelab.InvalidArgument})
	}
	post := func(why string, p ledger.Posting) {
		all = append(all, hostileCall{"PostTransaction", why, func(ctx context.Context, s ledger.Service) error {
			_, err := s.PostTransaction(ctx, p)
			return err
		}, wirelab.InvalidArgument})
	}
	for _, id := range []string{
		"' OR '1'='1", "x'; DROP TABLE accounts; --", `"; SELECT pg_sleep(10); --`, "0' UNION SELECT 1,2,3 --", "%", "a\x00b",
		"../../etc/passwd", "..%2f..%2fetc", alice + "/balance", alice + "?ids=" + bob, "<script>", "é", strings.Repeat("x", 4096),
	} {
		get("account "+id, id)
		batch("account "+id, wirelab.InvalidArgument, alice, id)
		page("account "+id, ledger.Page{Account: id})
		page("after "+id, ledger.Page{After: id})
		stream("account "+id, ledger.Feed{Account: id})
		stream("after "+id, ledger.Feed{After: id})
		post("id "+id, ledger.Posting{ID: id, From: payer, To: payee, Amount: 1})
		post("from "+id, ledger.Posting{ID: "x", From: id, To: payee, Amount: 1})
	}
	batch("no ids", wirelab.InvalidArgument)
	batch("an empty id", wirelab.InvalidArgument, alice, "")
	batch("1,001 ids", wirelab.InvalidArgument, make1(1_001)...)
	batch(million, wirelab.ResourceExhausted, make1(1_000_000)...) // GraphQL bounds the values of a document
	for _, n := range []int32{-1, ledger.PageLimit + 1, math.MaxInt32, math.MinInt32} {
		page("limit", ledger.Page{Limit: n})
	}
	for _, n := range []int64{-1, 1 << 31, 1 << 32, 1_000_000_001, ledger.RateLimit + 1, math.MaxInt64, math.MinInt64} {
		stream("rate", ledger.Feed{Rate: n})
		if n != ledger.RateLimit+1 {
			stream("limit", ledger.Feed{Limit: n})
		}
	}
	for _, n := range []int64{0, -1, 1 << 53, 1<<53 + 1, math.MaxInt64, math.MinInt64} {
		post("amount", ledger.Posting{ID: "x", From: payer, To: payee, Amount: n})
	}
	for _, year := range []int{-44, 0, 10_000, 292_277_026} {
		since := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)
		page("year", ledger.Page{Since: since})
		stream("year", ledger.Feed{Since: since})
	}
	post("nothing", ledger.Posting{})
	post("to itself", ledger.Posting{ID: "x", From: payer, To: payer, Amount: 1})
	post("a type with NUL", ledger.Posting{ID: "x", From: payer, To: payee, Amount: 1, Type: "a\x00"})
	post("a long type", ledger.Posting{ID: "x", From: payer, To: payee, Amount: 1, Type: strings.Repeat("t", ledger.TypeLimit+1)})
	return all
}

// make1 returns n ids of one letter.
func make1(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = "1"
	}
	return ids
}

// A server refuses by itself what our stubs would not have sent, with the same
// code on every wire (grb-D01, D08, D09); and it moves no money for it, and
// answers afterwards.
func TestHostile(t *testing.T) {
	t.Parallel()
	calls := hostileCalls()
	eachServer(t, "", func(t *testing.T, p pair) {
		t.Parallel()
		memory := ledger.New()
		service := bind.Unchecked(p.open(t, memory, 1))
		for _, c := range calls {
			if _, hole := p.Holes[c.operation]; hole || c.why == million && p.Protocol.Framing == "HTTP" {
				continue
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			err := c.ask(ctx, service)
			cancel()
			if err == nil {
				t.Errorf("%s, %.60s: passes", c.operation, c.why)
			} else if code := wirelab.CodeOf(err); code != wirelab.InvalidArgument && code != c.also {
				t.Errorf("%s, %.60s: %.200v", c.operation, c.why, err)
			}
		}
		list, err := memory.GetTransactions(t.Context(), ledger.Page{After: lastInLog})
		if err != nil || len(list.Transactions) > 0 {
			t.Errorf("posted were %v, %v", list, err)
		}
		if _, hole := p.Holes["GetBalance"]; hole {
			return
		}
		if _, err := service.GetBalance(t.Context(), ledger.AccountID{ID: alice}); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}
