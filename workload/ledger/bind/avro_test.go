package bind

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"
	"time"

	"wirelab"
	"wirelab/wire/avro"
	"wirelab/wire/rfc3339"
	"wirelab/workload/ledger"
)

// byHand is a second reading of the schemas: what they say in bytes.
type byHand []byte

func (b byHand) text(all ...string) byHand {
	for _, s := range all {
		b = append(binary.AppendVarint(b, int64(len(s))), s...)
	}
	return b
}

func (b byHand) long(all ...int64) byHand {
	for _, n := range all {
		b = binary.AppendVarint(b, n)
	}
	return b
}

func (b byHand) flag(v bool) byHand {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

func (b byHand) transaction(t ledger.Transaction) byHand {
	return b.text(t.ID, t.From, t.To).long(t.Amount).text(t.Type, rfc3339.Text(t.Timestamp))
}

// handHead is what a message by the schema begins with.
func handHead(s *avro.Schema) byHand {
	return binary.LittleEndian.AppendUint64([]byte{0xC3, 0x01}, s.Fingerprint())
}

// written fails unless v is written as body behind the head, by all that write
// it, and read as what it was.
func written[T any](t *testing.T, m avroMessage[T], v T, body byHand, same func(a, b T) bool) {
	t.Helper()
	want := string(handHead(m.schema)) + string(body)
	message, err := m.Append([]byte("kept"), &v)
	if err != nil || string(message) != "kept"+want {
		t.Errorf("%+v is written\n%x, %v, by hand\n%x", v, message, err, want)
	}
	if message, err = m.http().Encode(v); err != nil || string(message) != want {
		t.Errorf("%+v is written for HTTP\n%x, %v, by hand\n%x", v, message, err, want)
	}
	if got, err := m.Decode([]byte(want)); err != nil || !same(got, v) {
		t.Errorf("%+v is read as %+v, %v", v, got, err)
	}
}

func identical[T comparable](a, b T) bool { return a == b }

// Every message is on the wire what its schema says, and comes back.
func TestAvroByHand(t *testing.T) {
	t.Parallel()
	c := inAvro()
	at := time.Date(2024, 1, 31, 12, 0, 0, 1000, time.UTC)
	const atText = "2024-01-31T12:00:00.000001Z"
	written(t, c.id, ledger.AccountID{ID: "0.0.1"}, byHand{}.text("0.0.1"), identical)
	written(t, c.ids, ledger.AccountIDs{IDs: []string{"a", "", "a"}}, byHand{}.long(3).text("a", "", "a").long(0),
		func(a, b ledger.AccountIDs) bool { return strings.Join(a.IDs, ",") == strings.Join(b.IDs, ",") })
	written(t, c.ids, ledger.AccountIDs{}, byHand{}.long(0),
		func(a, _ ledger.AccountIDs) bool { return len(a.IDs) == 0 })
	a := ledger.Balance{Account: "a", Amount: ledger.AmountLimit, UpdatedAt: at}
	b := ledger.Balance{Account: "b", Amount: -1}
	written(t, c.balance, a, byHand{}.text("a").long(1<<53-1).text(atText), ledger.Balance.Equal)
	written(t, c.balance, b, byHand{}.text("b").long(-1).text(""), ledger.Balance.Equal)
	written(t, c.balances, ledger.Balances{Verdicts: []ledger.Verdict{
		{Account: "b", Found: true, Balance: b}, {Account: "x"}, {Account: "a", Found: true, Balance: a},
	}}, byHand{}.long(2).text("b").long(-1).text("").text("a").long(1<<53-1).text(atText).
		long(0, 3).text("b").flag(true).text("x").flag(false).text("a").flag(true).long(0), ledger.Balances.Equal)
	written(t, c.page, ledger.Page{After: "x", Account: "a", Since: at, Limit: math.MinInt32},
		byHand{}.text("x", "a", atText).long(math.MinInt32), identical)
	written(t, c.page, ledger.Page{}, byHand{}.text("", "", "").long(0), identical)
	written(t, c.posting, ledger.Posting{ID: "p", From: "a", To: "b", Amount: math.MaxInt64, Type: "村"},
		byHand{}.text("p", "a", "b").long(math.MaxInt64).text("村"), identical)
	x := ledger.Transaction{ID: "x", From: "a", To: "b", Amount: 7, Type: "transfer", Timestamp: at}
	written(t, c.transaction, x, byHand{}.transaction(x), ledger.Transaction.Same)
	y := ledger.Transaction{ID: "y", Amount: math.MinInt64}
	written(t, c.list, ledger.TransactionList{Transactions: []ledger.Transaction{x, y}, Next: "y"},
		byHand{}.long(2).transaction(x).transaction(y).long(0).text("y"), ledger.TransactionList.Equal)
	written(t, c.feed, ledger.Feed{After: "x", Account: "a", Since: at, Rate: 1 << 31, Limit: -5, Follow: true},
		byHand{}.text("x", "a", atText).long(1<<31, -5).flag(true), identical)
	written(t, c.event, ledger.Event{Transaction: x, Stamp: wirelab.Stamp{
		Sequence: math.MaxInt64, Due: math.MinInt64, Sent: 3,
	}},
		byHand{}.transaction(x).long(math.MaxInt64, math.MinInt64, 3), func(a, b ledger.Event) bool { return a == b })
}

// What the schema admits and the ledger does not have is refused: a text that
// is no time is never taken for none (grb-D08), and a batch whose parts
// contradict each other is no reply.
func TestAvroRefuses(t *testing.T) {
	t.Parallel()
	c := inAvro()
	x := ledger.Transaction{ID: "x"}
	for why, err := range map[string]error{
		"a time in words":        refusal(c.page, byHand{}.text("", "", "yesterday").long(0)),
		"a time of another form": refusal(c.feed, byHand{}.text("", "", "2024-01-31").long(0, 0).flag(false)),
		"a balance's":            refusal(c.balance, byHand{}.text("a").long(1).text("0")),
		"a transaction's":        refusal(c.transaction, byHand{}.text("x", "a", "b").long(1).text("", " ")),
		"one of a list": refusal(c.list, byHand{}.long(1).text("x", "a", "b").long(1).text("",
			"?").long(0).text("")),
		"an event's":             refusal(c.event, byHand{}.text("x", "a", "b").long(1).text("", "?").long(1, 2, 3)),
		"a place before the 1st": refusal(c.event, byHand{}.transaction(x).long(-1, 2, 3)),
		"a boolean of two":       refusal(c.feed, append(byHand{}.text("", "", "").long(0, 0), 2)),
		"more ids than sent":     refusal(c.ids, byHand{}.long(1e9)),
		"more ids than may be":   refusal(c.ids, append(byHand{}.long(1<<18), make([]byte, 1<<18)...)),
		"a balance too few":      refusal(c.balances, byHand{}.long(0, 1).text("a").flag(true).long(0)),
		"a balance too many":     refusal(c.balances, byHand{}.long(1).text("a").long(1).text("").long(0, 0)),
	} {
		want := wirelab.InvalidArgument
		switch {
		case why == "more ids than may be":
			want = wirelab.ResourceExhausted
		case strings.HasPrefix(why, "a balance too"):
			want = wirelab.Internal // it is only ever a reply's
		}
		if err == nil || wirelab.CodeOf(err) != want {
			t.Errorf("%s: %v, want %v", why, err, want)
		}
	}
}

func refusal[T any](m avroMessage[T], body byHand) error {
	_, err := m.Decode(append(handHead(m.schema), body...))
	return err
}

// A schema that is changed changes what every peer reads: it is to be noticed.
func TestAvroFingerprints(t *testing.T) {
	t.Parallel()
	c := inAvro()
	for _, s := range []struct {
		schema *avro.Schema
		want   string
	}{
		{c.id.schema, "ledger.AccountId 383a06147f85f09b"},
		{c.ids.schema, "ledger.AccountIds b53bdbda64a478b0"},
		{c.balance.schema, "ledger.Balance 62f8aafe0c704254"},
		{c.balances.schema, "ledger.Balances f6b609ff6e684e1a"},
		{c.page.schema, "ledger.Page 63b8ae08448510ed"},
		{c.list.schema, "ledger.TransactionList 204c86dc9f48dbcb"},
		{c.posting.schema, "ledger.Posting 6245bc07b6eb3a45"},
		{c.transaction.schema, "ledger.Transaction 35fde030937c471b"},
		{c.feed.schema, "ledger.Feed a69d37a330e78942"},
		{c.event.schema, "ledger.Event c084f50d9371fad4"},
	} {
		if got := s.schema.String(); got != s.want {
			t.Errorf("%s was %s: let the codecs know that one as a writer's", got, s.want)
		}
	}
}

// FuzzAvro: bytes of any kind behind the head of any message are read, or
// refused as the caller's fault, and what was read is written as it was read.
func FuzzAvro(f *testing.F) {
	at := time.Unix(1_700_000_000, 1000).UTC()
	x := ledger.Transaction{ID: "t", From: "a", To: "b", Amount: 1, Type: "transfer", Timestamp: at}
	for _, seed := range []byHand{
		nil, byHand{}.text("a"), byHand{}.long(2).text("a", "b").long(0),
		byHand{}.text("a").long(1).text(rfc3339.Text(at)),
		byHand{}.text("a", "b", rfc3339.Text(at)).long(5), byHand{}.text("a", "b", "").long(1, 2).flag(true),
		byHand{}.transaction(x), byHand{}.transaction(x).long(1, 2, 3),
		byHand{}.long(1).transaction(x).long(0).text("t"),
		byHand{}.long(1).text("a").long(1).text(rfc3339.Text(at)).long(0, 1).text("a").flag(true).long(0),
		byHand{}.long(-1, 3).text("ab").long(0), byHand{}.long(math.MinInt64, math.MaxInt64),
		{0xff, 0xff, 0xff, 0xff, 0x1f},
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		c := inAvro()
		rewrite(t, c.id, body)
		rewrite(t, c.ids, body)
		rewrite(t, c.balance, body)
		rewrite(t, c.balances, body)
		rewrite(t, c.page, body)
		rewrite(t, c.list, body)
		rewrite(t, c.posting, body)
		rewrite(t, c.transaction, body)
		rewrite(t, c.feed, body)
		rewrite(t, c.event, body)
	})
}

func rewrite[T any](t *testing.T, m avroMessage[T], body []byte) {
	t.Helper()
	v, err := m.Decode(append(handHead(m.schema), body...))
	if err != nil {
		if code := wirelab.CodeOf(err); code != wirelab.InvalidArgument && code != wirelab.ResourceExhausted &&
			code != wirelab.Internal {
			t.Fatalf("%x: %v", body, err)
		}
		return
	}
	first, err := m.Append(nil, &v)
	if err != nil {
		t.Fatalf("%+v was read and cannot be written: %v", v, err)
	}
	// A decoded time may be finer than the encoding writes, or outside the valid years: no request with such a time
	// is valid, and our servers never reply with one.
	again, err := m.Decode(first)
	if err != nil {
		return
	}
	if second, err := m.Append(nil, &again); err != nil || string(first) != string(second) {
		t.Fatalf("%+v is written %x, and that is read and written %x, %v", v, first, second, err)
	}
}
