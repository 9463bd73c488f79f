package bind_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"wirelab/workload/ledger"
	"wirelab/workload/ledger/bind"
)

func serveGraphQL(t testing.TB) (address string) {
	t.Helper()
	b := bind.GraphQL()
	address, _ = pair{Binding: b, Server: b.Servers[0], Client: b.Clients[0]}.Serve(t, ledger.New())
	return address
}

// document posts a query and returns the reply's status and text.
func document(t testing.TB, address, accept string, body []byte) (status int, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+"/graphql",
		bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", accept)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	reply, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	data, err := io.ReadAll(reply.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply.StatusCode, string(data)
}

const (
	asResponse = "application/graphql-response+json"
	asEvents   = "text/event-stream"
)

// asked writes a query with variables, given as JSON so that numbers are as they are written.
func asked(t testing.TB, query, variables string) []byte {
	t.Helper()
	text, err := json.Marshal(query)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Appendf(nil, `{"query":%s,"variables":%s}`, text, variables)
}

// What a client that is not ours may send, well or badly. Numbers of 64 bits
// travel whole, and one that is too large is refused as on the other wires.
func TestGraphQLRequests(t *testing.T) {
	t.Parallel()
	address := serveGraphQL(t)
	const (
		balance = "query($id: ID!) { getBalance(id: $id) { account amount updatedAt } }"
		page    = "query($since: Time! = \"\", $limit: Int! = 1) { getTransactions(since: $since, limit: $limit) { " +
			"transactions { id } next } }"
		post    = "mutation($p: PostingInput!) { postTransaction(posting: $p) { id amount } }"
		posting = `{"p":{"id":"%s","from":"0.0.109998","to":"0.0.109999","amount":%s}}`

		invalid, exhausted, conflict, absent = `"code":"invalid_argument"`, `"code":"resource_exhausted"`, `"code":"conflict"`, `"code":"not_found"`
	)
	pages := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "p%d: getTransactions { transactions { id from to amount type timestamp } } ", i)
		}
		return "{ " + b.String() + "}"
	}
	for _, k := range []struct {
		why, query, variables string
		has                   string
	}{
		{
			"an account", balance, `{"id":"0.0.100000"}`,
			`{"data":{"getBalance":{"account":"0.0.100000","amount":91018687071,"updatedAt":"2025-12-07T09:19:51.261061Z"}}}`,
		},
		{"an unknown account", balance, `{"id":"absent"}`, absent},
		{"a statement", balance, `{"id":"' OR '1'='1"}`, invalid},
		{"an id that is a number", balance, `{"id":7}`, absent},
		{
			"a verdict that has no balance",
			`{ getBalances(ids: ["absent", "0.0.100000"]) { account found balance { amount } } }`, `{}`,
			`[{"account":"absent","found":false,"balance":null},{"account":"0.0.100000","found":true,"balance":{"amount":91018687071}}]`,
		},
		{"no ids", "{ getBalances(ids: []) { found } }", `{}`, invalid},
		{"an id that is null", "{ getBalances(ids: [null]) { found } }", `{}`, invalid},
		{"one id that is no list", `{ getBalances(ids: "0.0.100000") { found } }`, `{}`, `[{"found":true}]`},
		{"a page that says nothing", page, `{}`, `{"transactions":[{"id":"tx-000000001"}],"next":"tx-000000001"}`},
		{"since a moment", page, `{"since":"2025-12-31T12:00:00Z"}`, `"tx-0000500`},
		{"since nonsense", page, `{"since":"yesterday"}`, invalid},
		{"since a comma", page, `{"since":"2025-12-31T12:00:00,5Z"}`, invalid},
		{"since a date", page, `{"since":"2025-12-31"}`, invalid},
		{"since a date as databases write it", page, `{"since":"2025-12-31 12:00:00"}`, invalid},
		{"since a number", page, `{"since":1767139200}`, invalid},
		{"since null", page, `{"since":null}`, invalid},
		{"a limit of 32 bits and one", page, `{"limit":2147483648}`, invalid},
		{"a limit below", page, `{"limit":-1}`, invalid},
		{"an amount that is too much", post, fmt.Sprintf(posting, "a", "9007199254740991"), conflict},
		{"an amount above all", post, fmt.Sprintf(posting, "a", "9007199254740992"), invalid},
		{"an amount of 64 bits", post, fmt.Sprintf(posting, "a", "9223372036854775807"), invalid},
		{"an amount of more than 64 bits", post, fmt.Sprintf(posting, "a", "9223372036854775808"), invalid},
		{"an amount with a fraction", post, fmt.Sprintf(posting, "a", "1.5"), invalid},
		{"an amount in powers of ten", post, fmt.Sprintf(posting, "a", "1e3"), invalid},
		{"an amount that is null", post, fmt.Sprintf(posting, "a", "null"), invalid},
		{"an amount that is a list", post, fmt.Sprintf(posting, "a", "[1]"), invalid},
		{"an amount", post, fmt.Sprintf(posting, "a", "4294967297"), `{"id":"a","amount":4294967297}`},
		{"another amount under its id", post, fmt.Sprintf(posting, "a", "1"), conflict},
		{"a field there is not", "{ getBalance(id: \"1\") { owner } }", `{}`, invalid},
		{"many pages at once", pages(36), `{}`, exhausted},
		{"a stream without events", "subscription { streamTransactions { sequence } }", `{}`, invalid},
	} {
		if _, text := document(t, address, asResponse, asked(t, k.query, k.variables)); !strings.Contains(text, k.has) {
			t.Errorf("%s: %.400s; want %s", k.why, text, k.has)
		}
	}
}

// Rates that are no rate are refused with the code of the other wires, written
// in the document or as a variable (grb-D01).
func TestGraphQLSubscriptions(t *testing.T) {
	t.Parallel()
	address := serveGraphQL(t)
	const (
		query = "subscription($rate: Long! = 0) { streamTransactions(rate: $rate, limit: 1) { sequence " +
			"transaction { id " +
			"} } }"
		first = `event: next` + "\n" +
			`data: {"data":{"streamTransactions":{"sequence":1,"transaction":{"id":"tx-000000001"}}}}` + "\n\n"
		end     = "event: complete\ndata: \n\n"
		invalid = `"code":"invalid_argument"`
	)
	for rate, has := range map[string]string{
		"0": first + end, "1": first + end, "1000000": first + end,
		"-1": invalid, "1000001": invalid, "1000000001": invalid, "2147483648": invalid, "4294967296": invalid,
		"9223372036854775807": invalid, "9223372036854775808": invalid, "-9223372036854775808": invalid,
		"1e30": invalid, "1.5": invalid, "null": invalid, `"x"`: invalid, "true": invalid, "[1]": invalid,
		"{}": invalid,
	} {
		if _, text := document(t, address, asEvents, asked(t, query, `{"rate":`+rate+`}`)); !strings.Contains(text,
			has) {
			t.Errorf("the variable %s: %.300s", rate, text)
		}
		literal := "subscription { streamTransactions(rate: " + rate + ", limit: 1) { sequence transaction { id } } }"
		if _, text := document(t, address, asEvents, asked(t, literal, `{}`)); !strings.Contains(text, has) {
			t.Errorf("the literal %s: %.300s", rate, text)
		}
	}
}

// FuzzGraphQLServer posts any text: the server must answer in JSON or events, and live.
func FuzzGraphQLServer(f *testing.F) {
	address := serveGraphQL(f)
	for _, seed := range []string{
		`{"query":"{ getBalance(id: \"0.0.100000\") { amount } }"}`,
		`{"query":"query($ids: [ID!]!) { getBalances(ids: $ids) { found } }","variables":{"ids":["a","b"]}}`,
		`{"query":"subscription { streamTransactions(rate: 2147483648, since: \"2025-12-31T12:00:00Z\", limit: 2) { due } }"}`,
		`{"query":"mutation { postTransaction(posting: {id: \"f\", from: \"a\", to: \"b\", amount: 9223372036854775808}) { id } }"}`,
		`{"query":"query($l: Long!) { getBalance(id: $l) { amount } }","variables":{"l":1e999}}`, `{"query":7}`, ``,
	} {
		f.Add([]byte(seed), false)
		f.Add([]byte(seed), true)
	}
	f.Fuzz(func(t *testing.T, body []byte, subscribe bool) {
		accept := asResponse
		if subscribe {
			if bytes.Contains(body, []byte("treamTransactions")) &&
				(!bytes.Contains(body, []byte("limit")) || bytes.Contains(body, []byte("ollow"))) {
				return // which may well be endless, as asked
			}
			accept = asEvents
		}
		if status, text := document(t, address, accept, body); status >= 500 ||
			!subscribe && !json.Valid([]byte(text)) {
			t.Fatalf("status %d: %s", status, text)
		}
	})
}
