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

// asking collects such requests.
type asking struct{ all []hostileCall }

// add adds a request with its call.
func add[Req, Rep any](
	a *asking, operation, why string, call func(ledger.Service, context.Context, Req) (Rep, error), req Req,
) {
	a.all = append(a.all, hostileCall{operation, why, func(ctx context.Context, s ledger.Service) error {
		_, err := call(s, ctx, req)
		return err
	}, wirelab.InvalidArgument})
}

func (a *asking) get(why, id string) {
	add(a, "GetBalance", why, ledger.Service.GetBalance, ledger.AccountID{ID: id})
}

func (a *asking) batch(why string, ids ...string) {
	add(a, "GetBalances", why, ledger.Service.GetBalances, ledger.AccountIDs{IDs: ids})
}

func (a *asking) page(why string, page ledger.Page) {
	add(a, "GetTransactions", why, ledger.Service.GetTransactions, page)
}

func (a *asking) post(why string, posting ledger.Posting) {
	add(a, "PostTransaction", why, ledger.Service.PostTransaction, posting)
}

func (a *asking) stream(why string, feed ledger.Feed) {
	add(a, "StreamTransactions", why, func(
		s ledger.Service, ctx context.Context, feed ledger.Feed,
	) (none ledger.Event, _ error) {
		for event, err := range s.StreamTransactions(ctx, feed) {
			return event, err
		}
		return none, nil
	}, feed)
}

func hostileCalls() []hostileCall {
	a := &asking{}
	for _, id := range []string{
		"' OR '1'='1", "x'; DROP TABLE accounts; --", `"; SELECT pg_sleep(10); --`, "0' UNION SELECT 1,2,3 --", "%",
		"a\x00b",
		"../../etc/passwd", "..%2f..%2fetc", alice + "/balance", alice + "?ids=" + bob, "<script>", "é",
		strings.Repeat("x", 4096),
	} {
		a.get("account "+id, id)
		a.batch("account "+id, alice, id)
		a.page("account "+id, ledger.Page{Account: id})
		a.page("after "+id, ledger.Page{After: id})
		a.stream("account "+id, ledger.Feed{Account: id})
		a.stream("after "+id, ledger.Feed{After: id})
		a.post("id "+id, ledger.Posting{ID: id, From: payer, To: payee, Amount: 1})
		a.post("from "+id, ledger.Posting{ID: "x", From: id, To: payee, Amount: 1})
	}
	a.batch("no ids")
	a.batch("an empty id", alice, "")
	a.batch("1,001 ids", make1(1_001)...)
	a.batch(million, make1(1_000_000)...)
	a.all[len(a.all)-1].also = wirelab.ResourceExhausted // GraphQL bounds the values of a document
	for _, n := range []int32{-1, ledger.PageLimit + 1, math.MaxInt32, math.MinInt32} {
		a.page("limit", ledger.Page{Limit: n})
	}
	for _, n := range []int64{-1, 1 << 31, 1 << 32, 1_000_000_001, math.MaxInt64, math.MinInt64} {
		a.stream("rate", ledger.Feed{Rate: n})
		a.stream("limit", ledger.Feed{Limit: n})
	}
	a.stream("rate", ledger.Feed{Rate: ledger.RateLimit + 1})
	for _, n := range []int64{0, -1, 1 << 53, 1<<53 + 1, math.MaxInt64, math.MinInt64} {
		a.post("amount", ledger.Posting{ID: "x", From: payer, To: payee, Amount: n})
	}
	for _, year := range []int{-44, 0, 10_000, 292_277_026} {
		since := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)
		a.page("year", ledger.Page{Since: since})
		a.stream("year", ledger.Feed{Since: since})
	}
	a.post("nothing", ledger.Posting{})
	a.post("to itself", ledger.Posting{ID: "x", From: payer, To: payer, Amount: 1})
	a.post("a type with NUL", ledger.Posting{ID: "x", From: payer, To: payee, Amount: 1, Type: "a\x00"})
	a.post("a long type", ledger.Posting{
		ID: "x", From: payer, To: payee, Amount: 1, Type: strings.Repeat("t", ledger.TypeLimit+1),
	})
	return a.all
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
		service := bind.Unchecked(p.Open(t, memory, 1))
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
