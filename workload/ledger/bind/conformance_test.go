package bind_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"wirelab"
	"wirelab/wire/conformance"
	"wirelab/wire/edgevalues"
	"wirelab/workload/ledger"
	"wirelab/workload/ledger/bind"
)

// TestConformance tests every cell; package conformance defines the tests.
func TestConformance(t *testing.T) {
	conformance.Run(t, bind.Workload(), conformance.Suite[ledger.Service]{
		Scripts:    "testdata",
		EdgeValues: edgeValues(),
		Probes:     probes(),
		Behaviour:  behaviour(),
	})
}

// behaviour reads the log on.
func behaviour() conformance.Behaviour[ledger.Service] {
	return conformance.Behaviour[ledger.Service]{
		Stream: "StreamTransactions",
		Read: func(ctx context.Context, service ledger.Service, item func() bool) error {
			for _, err := range service.StreamTransactions(ctx, ledger.Feed{}) {
				if err != nil {
					return err
				}
				if !item() {
					return nil
				}
			}
			return nil
		},
	}
}

// Accounts and transactions of the default data set: some that drawn requests
// ask for, the last two of those set aside, and the log's ends.
const (
	alice      = "0.0.100000"
	bob        = "0.0.100001"
	payer      = "0.0.109998"
	payee      = "0.0.109999"
	nobody     = "0.0.99"
	firstInLog = "tx-000000001"
	thirdLast  = "tx-000099997"
	lastInLog  = "tx-000100000"
)

// edges collects edge values.
type edges struct {
	all []conformance.EdgeValue[ledger.Service]
}

// ask adds operation o with the one request that it draws.
func (t *edges) ask(o wirelab.Operation[ledger.Service], name, why string) {
	e, err := o.Draw("", nil)
	if err != nil {
		panic(err) // o has a default way to draw, or it is not an operation
	}
	t.all = append(t.all, conformance.EdgeValue[ledger.Service]{Operation: o.Name, Name: name, Why: why, Exchange: e})
}

func (t *edges) get(name, why, id string) {
	t.ask(wirelab.Unary("GetBalance", always(ledger.AccountID{ID: id}), ledger.Service.GetBalance), name, why)
}

func (t *edges) batch(name, why string, ids ...string) {
	t.ask(wirelab.Unary("GetBalances", always(ledger.AccountIDs{IDs: ids}), ledger.Service.GetBalances), name, why)
}

// from asks for a page and for a stream of the same part of the log, of two
// transactions at most: an empty part is as good a edge value as a full one.
func (t *edges) from(name, why string, part ledger.Feed) {
	part.Limit = 2
	t.page(name, why, ledger.Page{After: part.After, Account: part.Account, Since: part.Since, Limit: 2})
	t.stream(name, why, part)
}

func (t *edges) page(name, why string, page ledger.Page) {
	t.ask(wirelab.Unary("GetTransactions", always(page), ledger.Service.GetTransactions), name, why)
}

func (t *edges) stream(name, why string, feed ledger.Feed) {
	t.ask(wirelab.ServerStreaming("StreamTransactions", always(feed), ledger.Service.StreamTransactions), name, why)
}

func (t *edges) post(name, why string, posting ledger.Posting) {
	t.ask(wirelab.Unary("PostTransaction", always(posting), ledger.Service.PostTransaction), name, why)
}

// always draws one request.
func always[Req any](req Req) func(*rand.Rand) Req {
	return func(*rand.Rand) Req { return req }
}

// hostile are ids that wires, addresses and databases take for something else;
// which of them can be one, the contract says.
func hostile() []edgevalues.Value[string] {
	all := []edgevalues.Value[string]{
		{Name: "longest", Value: strings.Repeat("i", ledger.IDLimit), Why: "is the longest the contract admits"},
		{Name: "too-long", Value: strings.Repeat("i", ledger.IDLimit+1), Why: "is one longer than the contract admits"},
		{Name: "every-sign", Value: "Az09._~-", Why: "holds each sign that a path need not escape"},
		{Name: "dots", Value: "...", Why: "looks like a step in a path, and is none"},
		{Name: "dot", Value: ".", Why: "is the folder itself where an id becomes a path"},
		{Name: "two-dots", Value: "..", Why: "is the folder above where an id becomes a path"},
		{Name: "traversal", Value: "../../etc/passwd", Why: "leaves the folder where an id becomes a path"},
		{Name: "escaped-traversal", Value: "..%2f..%2fetc", Why: "leaves the folder once it is unescaped"},
		{Name: "balance", Value: "balance", Why: "is a word of the paths"},
		{Name: "slash", Value: alice + "/balance", Why: "is another path where an id becomes one"},
		{Name: "query", Value: alice + "?ids=" + bob, Why: "is a query where an id becomes a path"},
		{Name: "comma", Value: alice + "," + bob, Why: "is two ids where a list is joined by commas"},
		{Name: "tautology", Value: "' OR '1'='1", Why: "is always true where it becomes part of a statement"},
		{
			Name: "drop", Value: "x'; DROP TABLE accounts; --",
			Why: "is a separate statement if it becomes part of one",
		},
		{Name: "union", Value: "0' UNION SELECT 1,2,3 --", Why: "adds rows where it becomes part of a statement"},
		{Name: "wildcard", Value: "0.0.10000%", Why: "matches others where it is compared as a pattern"},
		{
			Name: "any-letter", Value: "0.0.10000_",
			Why: "is a valid id, and matches others if it is compared as a " +
				"pattern",
		},
		{Name: "comment", Value: alice + "--", Why: "is a valid id, and another one if the rest is a comment"},
		{Name: "zero-first", Value: "0.0.0100000", Why: "is another id to a reader that makes it a number"},
		{Name: "case", Value: "TX-000000001", Why: "is another id than in lower case"},
	}
	for _, v := range append(edgevalues.TextsUpTo(ledger.IDLimit), edgevalues.BrokenTexts()...) {
		all = append(all, edgevalues.Value[string]{Name: "text-" + v.Name, Value: v.Value, Why: v.Why})
	}
	return all
}

func edgeValues() []conformance.EdgeValue[ledger.Service] {
	t := &edges{}
	for _, v := range hostile() {
		t.get("id-"+v.Name, v.Why, v.Value)
		t.batch("id-"+v.Name, v.Why, alice, v.Value, bob)
		t.from("account-"+v.Name, v.Why, ledger.Feed{Account: v.Value})
		t.from("after-"+v.Name, v.Why, ledger.Feed{After: v.Value})
	}
	batchEdges(t)
	numberEdges(t)
	timeEdges(t)
	logEdges(t)
	postingEdges(t) // after all that reads to the end of the log, where a posting has its time
	return t.all
}

func batchEdges(t *edges) {
	many := func(n int) []string {
		ids := make([]string, n)
		for i := range ids {
			ids[i] = "0.0." + strconv.Itoa(99_500+i) // half of them unknown
		}
		return ids
	}
	t.batch("none", "asks for nothing at all, as an empty message")
	t.batch("unknown", "has one id, and that unknown", nobody)
	t.batch("repeats", "has each id twice, which a database gives once (grb-F02)", bob, nobody, alice, bob, nobody,
		alice)
	t.batch("descending", "is not in the order in which a database keeps them (grb-F02)", "0.0.100009",
		"0.0.100005", "0.0.100001")
	t.batch("same", "has one id as often as there may be", slices.Repeat([]string{alice}, ledger.BatchLimit)...)
	t.batch("at-limit", "has as many ids as there may be", many(ledger.BatchLimit)...)
	t.batch("over-limit", "has one id too many", many(ledger.BatchLimit+1)...)
	t.batch("million", "has a million ids, more than an address or a statement holds", many(1_000_000)...)
	t.batch("longest", "has as many ids as there may be, each as long as it may be",
		slices.Repeat([]string{strings.Repeat("L", ledger.IDLimit)}, ledger.BatchLimit)...)
}

func numberEdges(t *edges) {
	for _, v := range edgevalues.Int32s() {
		t.page("limit-"+v.Name, v.Why, ledger.Page{After: thirdLast, Limit: v.Value})
	}
	for _, v := range edgevalues.Ints() {
		t.stream("rate-"+v.Name, v.Why, ledger.Feed{Rate: v.Value, Limit: 1})
		t.stream("limit-"+v.Name, v.Why, ledger.Feed{After: thirdLast, Limit: v.Value})
	}
	t.stream("rate-at-limit", "is the highest rate there may be", ledger.Feed{Rate: ledger.RateLimit, Limit: 3})
	t.stream("rate-over-limit", "is one event too fast", ledger.Feed{Rate: ledger.RateLimit + 1, Limit: 3})
	t.stream("rate-of-the-crash", "makes an interval of zero, which stopped the published server (grb-D01)",
		ledger.Feed{Rate: 1_000_000_001, Limit: 1})
	t.stream("limit-at-limit", "is the longest stream there may be",
		ledger.Feed{After: thirdLast, Limit: ledger.CountLimit})
	t.stream("limit-over-limit", "is one event too long", ledger.Feed{After: thirdLast, Limit: ledger.CountLimit + 1})
	t.page("limit-at-limit", "is the largest page there may be", ledger.Page{Limit: ledger.PageLimit})
	t.page("limit-over-limit", "is one transaction too many", ledger.Page{Limit: ledger.PageLimit + 1})
}

func timeEdges(t *edges) {
	for _, v := range edgevalues.Times() {
		t.from("since-"+v.Name, v.Why, ledger.Feed{Since: v.Value})
		whole := v.Value.Truncate(time.Microsecond)
		t.from("since-"+v.Name+"-whole", v.Why, ledger.Feed{Since: whole})
		zone := time.FixedZone("", -(11*60+30)*60)
		t.from("since-"+v.Name+"-zone", v.Why+"; it is written in another zone", ledger.Feed{Since: whole.In(zone)})
	}
	end := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	t.from("since-end", "is when the log ends", ledger.Feed{Since: end})
	t.from("since-microsecond", "has six decimals, of which the last counts",
		ledger.Feed{Since: end.Add(-3 * time.Hour).Add(time.Microsecond)})
	t.from("since-year-zero", "is in a year that RFC 3339 can write and the contract has not",
		ledger.Feed{Since: time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)})
	t.from("since-year-10000", "is in a year that RFC 3339 cannot write",
		ledger.Feed{Since: time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)})
	t.from("since-before-christ", "is before all years",
		ledger.Feed{Since: time.Date(-44, 3, 15, 0, 0, 0, 0, time.UTC)})
}

func logEdges(t *edges) {
	t.page("nothing", "asks for nothing at all, as an empty message", ledger.Page{})
	t.from("last", "begins behind the last transaction", ledger.Feed{After: lastInLog})
	t.page("full", "is full and ends with the log, and so has a next page", ledger.Page{After: thirdLast, Limit: 3})
	t.from("account", "keeps those of one account", ledger.Feed{Account: alice})
	t.from("absent", "keeps those of an unknown account, which is none and no error", ledger.Feed{Account: nobody})
	t.stream("followed", "follows the log, and ends before its end",
		ledger.Feed{After: thirdLast, Limit: 3, Follow: true})
	t.from("everything", "has every field",
		ledger.Feed{After: firstInLog, Account: alice, Since: time.Date(2025, 12, 31, 12, 0, 0, 1000, time.UTC)})
}

func postingEdges(t *edges) {
	for _, v := range hostile() {
		t.post("from-"+v.Name, v.Why, ledger.Posting{ID: "from-" + v.Name, From: v.Value, To: payee, Amount: 1})
		t.post("to-"+v.Name, v.Why, ledger.Posting{ID: "to-" + v.Name, From: payer, To: v.Value, Amount: 1})
		t.post("id-"+v.Name, v.Why, ledger.Posting{ID: v.Value, From: payer, To: payee, Amount: 1})
		t.post("id-"+v.Name+"-again", v.Why, ledger.Posting{ID: v.Value, From: payer, To: payee, Amount: 1})
	}
	for _, v := range edgevalues.Ints() {
		t.post("amount-"+v.Name, v.Why, ledger.Posting{ID: "amount-" + v.Name, From: payer, To: payee, Amount: v.Value})
	}
	t.post("amount-at-limit", "is the largest valid amount, and no account has it",
		ledger.Posting{ID: "amount-at-limit", From: payer, To: payee, Amount: ledger.AmountLimit})
	t.post("amount-over-limit", "is one more than every encoding carries",
		ledger.Posting{ID: "amount-over-limit", From: payer, To: payee, Amount: ledger.AmountLimit + 1})
	for _, v := range slices.Concat(edgevalues.TextsUpTo(ledger.TypeLimit), edgevalues.BrokenTexts()) {
		p := ledger.Posting{ID: "type-" + v.Name, From: payer, To: payee, Amount: 1, Type: v.Value}
		t.post("type-"+v.Name, v.Why, p)
		t.post("type-"+v.Name+"-again", v.Why, p)
	}
	p := ledger.Posting{ID: "posted", From: payer, To: payee, Amount: 5, Type: "transfer"}
	t.post("posted", "moves money", p)
	t.post("posted-again", "is the same again, and moves nothing", p)
	for name, change := range map[string]func(*ledger.Posting){
		"amount": func(p *ledger.Posting) { p.Amount++ },
		"type":   func(p *ledger.Posting) { p.Type = "other" },
		"from":   func(p *ledger.Posting) { p.From = alice },
		"to":     func(p *ledger.Posting) { p.To = alice },
		"sides":  func(p *ledger.Posting) { p.From, p.To = p.To, p.From },
	} {
		other := p
		change(&other)
		t.post("posted-other-"+name, "has an id that stands for another posting", other)
	}
	t.post("nothing", "has no fields at all, as an empty message", ledger.Posting{})
	t.post("self", "is from an account to itself", ledger.Posting{ID: "self", From: payer, To: payer, Amount: 1})
	t.post("of-the-log", "has an id of the data set", ledger.Posting{ID: firstInLog, From: payer, To: payee, Amount: 1})
	t.post("from-absent", "is from an unknown account",
		ledger.Posting{ID: "from-absent", From: nobody, To: payee, Amount: 1})
	t.post("to-absent", "is to an unknown account", ledger.Posting{
		ID: "to-absent", From: payer, To: nobody, Amount: 1,
	})
	t.post("too-much", "is more than there is", ledger.Posting{ID: "too-much", From: payer, To: payee, Amount: 1 << 50})
	t.post("type-over", "has a type one byte too long",
		ledger.Posting{
			ID: "type-over", From: payer, To: payee, Amount: 1,
			Type: strings.Repeat("t", ledger.TypeLimit+1),
		})
}
