package bind

import (
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"wirelab"
	"wirelab/wire/codec"
	"wirelab/workload/ledger"
	"wirelab/workload/ledger/gen"
)

// FuzzMessages: bytes of any kind are read, or refused, by every conversion,
// and what was read is written as it was read.
func FuzzMessages(f *testing.F) {
	at := time.Unix(1_700_000_000, 1000).UTC()
	transaction := ledger.Transaction{ID: "t", From: "a", To: "b", Amount: 1, Type: "transfer", Timestamp: at}
	found := ledger.Verdict{Account: "a", Found: true, Balance: ledger.Balance{Account: "a", Amount: 7, UpdatedAt: at}}
	for _, m := range []proto.Message{
		balancesToProto(ledger.Balances{Verdicts: []ledger.Verdict{found, {Account: "x"}, found}}),
		listToProto(ledger.TransactionList{Transactions: []ledger.Transaction{transaction}, Next: "t"}),
		feedToProto(ledger.Feed{After: "t", Account: "a", Since: at, Rate: 1 << 31, Limit: 5, Follow: true}),
		eventToProto(ledger.Event{Transaction: transaction, Stamp: wirelab.Stamp{Sequence: 1, Due: 2, Sent: 3}}),
		&gen.GetBalancesResponse{Verdicts: []*gen.Verdict{{AccountId: "a", Found: true}}},
		&gen.GetBalancesResponse{Balances: []*gen.Balance{{AccountId: "a"}}},
		&gen.Balance{AccountId: "a", Timestamp: "yesterday"},
	} {
		data, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		reread(t, data, &gen.Balance{}, balanceFromProto, balanceToProto, ledger.Balance.Equal)
		reread(t, data, &gen.GetBalancesResponse{}, balancesFromProto, balancesToProto, ledger.Balances.Equal)
		reread(t, data, &gen.GetTransactionsRequest{}, pageFromProto, pageToProto, func(a, b ledger.Page) bool {
			same := a.Since.Equal(b.Since)
			b.Since = a.Since
			return same && a == b
		})
		reread(t, data, &gen.GetTransactionsResponse{}, listFromProto, listToProto, ledger.TransactionList.Equal)
		reread(t, data, &gen.Transaction{}, transactionFromProto, transactionToProto, ledger.Transaction.Same)
		reread(t, data, &gen.StreamTransactionsRequest{}, feedFromProto, feedToProto, func(a, b ledger.Feed) bool {
			same := a.Since.Equal(b.Since)
			b.Since = a.Since
			return same && a == b
		})
		reread(t, data, &gen.TransactionEvent{}, eventFromProto, eventToProto, func(a, b ledger.Event) bool {
			return a.Equal(b) && a.Stamp == b.Stamp
		})
	})
}

func reread[T any, M proto.Message](
	t *testing.T, data []byte, m M, from func(M) (T, error), to func(T) M, same func(T, T) bool,
) {
	t.Helper()
	if proto.Unmarshal(data, m) != nil {
		return
	}
	v, err := from(m)
	if err != nil {
		if code := wirelab.CodeOf(err); code != wirelab.InvalidArgument && code != wirelab.Internal {
			t.Fatal(err)
		}
		return
	}
	if back, err := from(to(v)); err == nil && !same(v, back) && whole(m) {
		t.Fatalf("%v is written and read as %v", v, back)
	}
}

// whole reports whether no time in a message is finer than the encoding writes.
func whole(m proto.Message) bool {
	text := m.(interface{ String() string }).String()
	return len(text) < 1<<20 && !finer(text)
}

// finer reports whether a text holds a run of more than six digits behind a point.
func finer(text string) bool {
	run := -1
	for _, c := range text {
		switch {
		case c == '.':
			run = 0
		case run >= 0 && '0' <= c && c <= '9':
			if run++; run > 6 {
				return true
			}
		default:
			run = -1
		}
	}
	return false
}

// A batch whose parts contradict each other is no reply, and no crash.
func TestBalancesThatDoNotFit(t *testing.T) {
	t.Parallel()
	balance := &gen.Balance{AccountId: "a", BalanceTinybar: 1, Timestamp: "2024-01-31T12:00:00Z"}
	for why, m := range map[string]*gen.GetBalancesResponse{
		"a balance too few":            {Verdicts: []*gen.Verdict{{AccountId: "a", Found: true}}},
		"a balance too many":           {Balances: []*gen.Balance{balance}},
		"a balance without an account": {Balances: []*gen.Balance{balance}, Verdicts: []*gen.Verdict{{AccountId: "a"}}},
		"a balance without time": {
			Balances: []*gen.Balance{{AccountId: "a", Timestamp: "?"}},
			Verdicts: []*gen.Verdict{{AccountId: "a", Found: true}},
		},
	} {
		if got, err := codec.Read(balancesFromProto(m)); err == nil || wirelab.CodeOf(err) != wirelab.Internal {
			t.Errorf("%s: %v, %v", why, got, err)
		}
	}
}
