package bind_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"wirelab"
	"wirelab/workload/ledger"
	"wirelab/workload/ledger/bind"
)

// restServe serves service over HTTP/1.1 in the clear until the test ends and
// returns the address.
func restServe(t *testing.T, service ledger.Service) string {
	t.Helper()
	b := bind.SSE() // what it serves is what every server of plain HTTP serves
	address, _ := pair{Binding: b, Server: b.Servers[0]}.Serve(t, service)
	return address
}

// replied is a reply as it came.
type replied struct {
	status int
	kind   string // Content-Type
	header http.Header
	body   string
	closed bool // whether the connection serves no other request
}

// restAsk writes a request unchanged, byte for byte, over a new connection: target is neither cleaned nor escaped.
// Each of header is a line.
func restAsk(t *testing.T, address, method, target, body string, header ...string) replied {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var text strings.Builder
	fmt.Fprintf(&text, "%s %s HTTP/1.1\r\nHost: localhost:8080\r\nUser-Agent: curl/8.5.0\r\n", method, target)
	for _, line := range header {
		text.WriteString(line + "\r\n")
	}
	if body != "" {
		fmt.Fprintf(&text, "Content-Length: %d\r\n", len(body))
	}
	if _, err := io.WriteString(conn, text.String()+"\r\n"+body); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		t.Fatalf("%s %s: %v", method, target, err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, target, err)
	}
	return replied{resp.StatusCode, resp.Header.Get("Content-Type"), resp.Header, string(data), resp.Close}
}

// The JSON that the published service writes, made by other means than the
// codecs.
func balanceText(b ledger.Balance) string {
	return fmt.Sprintf(`{"account":"%s","balance":%d,"timestamp":"%s"}`, b.Account, b.Amount,
		whenText(b.UpdatedAt.UnixMicro()))
}

// whenText writes a time without decimals that are zero.
func whenText(micros int64) string {
	whole, part := time.Unix(micros/1e6, 0).UTC().Format("2006-01-02T15:04:05"), strings.TrimRight(fmt.Sprintf("%06d",
		micros%1e6), "0")
	if part != "" {
		part = "." + part
	}
	return whole + part + "Z"
}

// transactionText is without the braces: an event has more.
func transactionText(x ledger.Transaction) string {
	return fmt.Sprintf(`"tx_id":"%s","from":"%s","to":"%s","amount":%d,"type":"%s","timestamp":"%s"`,
		x.ID, x.From, x.To, x.Amount, x.Type, whenText(x.Timestamp.UnixMicro()))
}

// firstOf are the first n transactions of the data set.
func firstOf(t *testing.T, n int32) []ledger.Transaction {
	t.Helper()
	list, err := ledger.New().GetTransactions(t.Context(), ledger.Page{Limit: n})
	if err != nil || len(list.Transactions) != int(n) {
		t.Fatalf("%d transactions, %v", len(list.Transactions), err)
	}
	return list.Transactions
}

func balanceOf(t *testing.T, id string) ledger.Balance {
	t.Helper()
	b, err := ledger.New().GetBalance(t.Context(), ledger.AccountID{ID: id})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestRESTPublishedReads asks what clients of the published service ask, and
// expects its names: grb-F05, grb-F06, grb-F08.
func TestRESTPublishedReads(t *testing.T) {
	t.Parallel()
	address := restServe(t, ledger.New())
	const a, b, unknown = "0.0.100000", "0.0.100009", "0.0.99"
	first, second := balanceText(balanceOf(t, a)), balanceText(balanceOf(t, b))
	found := func(id string, is bool) string { return fmt.Sprintf(`{"account":"%s","found":%v}`, id, is) }
	for _, c := range []struct{ why, target, want string }{
		{"grb-F05", "/api/v1/accounts/" + a + "/balance", first},
		{
			"grb-F05 by an absolute address, as through a proxy",
			"http://localhost:8080/api/v1/accounts/" + b + "/balance", second,
		},
		{"grb-F05, an escape that was not needed", "/api/v1/accounts/0%2e0.10000%30/balance", first},
		{"grb-F06", "/api/v1/balances?ids=" + a, `{"balances":[` + first + `],"verdicts":[` + found(a, true) + `]}`},
		{
			"grb-F06 in the order asked, repeats kept, the unknown told (grb-F02, grb-D17)",
			"/api/v1/balances?ids=" + b + "," + unknown + "," + a + "," + b,
			`{"balances":[` + second + "," + first + "," + second + `],"verdicts":[` +
				found(b, true) + "," + found(unknown, false) + "," + found(a, true) + "," + found(b, true) + `]}`,
		},
		{
			"grb-F06 with the comma escaped, as libraries do", "/api/v1/balances?ids=" + a + "%2C" + b,
			`{"balances":[` + first + "," + second + `],"verdicts":[` + found(a, true) + "," + found(b, true) + `]}`,
		},
		{
			"grb-F06 of an unknown id: lists, not null", "/api/v1/balances?ids=" + unknown,
			`{"balances":[],"verdicts":[` + found(unknown, false) + `]}`,
		},
		{"grb-F08", "/health", `{"status":"healthy"}`},
	} {
		for _, accept := range []string{"Accept: */*", "Accept: application/json", "X-No: accept"} {
			got := restAsk(t, address, "GET", c.target, "", accept)
			if got.status != 200 || got.kind != "application/json" || got.body != c.want || got.closed {
				t.Errorf("%s, %s: %+v\nwant 200, %s", c.why, accept, got, c.want)
			}
		}
		if got := restAsk(t, address, "HEAD", c.target, ""); got.status != 200 || got.body != "" ||
			got.header.Get("Content-Length") != fmt.Sprint(len(c.want)) {
			t.Errorf("%s: HEAD is %+v, want the length %d", c.why, got, len(c.want))
		}
	}
}

// stamps are what of an event differs each time.
func stamps() *regexp.Regexp {
	return regexp.MustCompile(`"due_unix_nano":[0-9]{19},"sent_unix_nano":[0-9]{19}`)
}

const noStamps = `"due_unix_nano":D,"sent_unix_nano":S`

// TestRESTPublishedStream reads the stream as clients of the published service do,
// and as EventSource: grb-F07, with the ids and the end that it lacked (grb-D10).
func TestRESTPublishedStream(t *testing.T) {
	t.Parallel()
	address := restServe(t, ledger.New())
	x := firstOf(t, 5)
	const retry, end = "retry: 200\n\n", "event: end\nid: (end)\ndata:{}\n\n"
	event := func(sequence int, x ledger.Transaction) string {
		return fmt.Sprintf("event: transaction\nid: %s\ndata: {%s,\"sequence\":%d,%s}\n\n", x.ID, transactionText(x),
			sequence, noStamps)
	}
	line := func(sequence int, x ledger.Transaction) string {
		return fmt.Sprintf("{\"result\":{%s,\"sequence\":%d,%s}}\n", transactionText(x), sequence, noStamps)
	}
	const events, lines = "text/event-stream", "application/x-ndjson"
	since := whenText(x[3].Timestamp.UnixMicro())
	for _, c := range []struct{ why, query, header, kind, want string }{
		{
			"from the beginning", "?limit=2", "Accept: text/event-stream", events,
			retry + event(1, x[0]) + event(2, x[1]) + end,
		},
		{
			"as the published client asks", "?since=&account=&rate=0&limit=1", "Accept: */*", events,
			retry + event(1, x[0]) + end,
		},
		{"at a rate", "?rate=1000000&limit=2", "X-No: accept", events, retry + event(1, x[0]) + event(2, x[1]) + end},
		{"since", "?since=" + since + "&limit=1", "X-No: accept", events, retry + event(1, sinceFirst(t, x[3])) + end},
		{"of an account", "?account=" + x[0].From + "&limit=1", "X-No: accept", events, retry + event(1, x[0]) + end},
		{"of an unknown account", "?account=0.0.7", "X-No: accept", events, retry + end},
		{"after one", "?after=" + x[1].ID + "&limit=1", "X-No: accept", events, retry + event(1, x[2]) + end},
		{"resumed by EventSource", "?limit=1", "Last-Event-ID: " + x[2].ID, events, retry + event(1, x[3]) + end},
		{
			"resumed by EventSource at its own address", "?after=" + x[0].ID + "&limit=1", "Last-Event-ID: " + x[3].ID,
			events,
			retry + event(1, x[4]) + end,
		},
		{"behind the last", "?after=" + lastInLog, "X-No: accept", events, retry + end},
		{
			"as lines", "?limit=2", "Accept: application/x-ndjson", lines,
			line(1, x[0]) + line(2, x[1]) + "{\"end\":true}\n",
		},
		{"as lines, of unknown", "?account=0.0.7", "Accept: application/x-ndjson", lines, "{\"end\":true}\n"},
	} {
		got := restAsk(t, address, "GET", "/api/v1/transactions/stream"+c.query, "", c.header)
		if body := stamps().ReplaceAllString(got.body, noStamps); got.status != 200 || got.kind != c.kind ||
			body != c.want || got.closed {
			t.Errorf("%s: %+v\nwant 200, %s, %q", c.why, got, c.kind, c.want)
		}
		if origin := got.header.Get("Access-Control-Allow-Origin"); c.kind == events && origin != "*" {
			t.Errorf("%s: the published stream is for pages of any origin, this for %q", c.why, origin)
		}
	}
	if got := restAsk(t, address, "GET", "/api/v1/transactions/stream", "",
		"Last-Event-ID: (end)"); got.status != 204 ||
		got.body != "" {
		t.Errorf("after the end: %+v; want 204, at which EventSource stops", got)
	}
	if got := restAsk(t, address, "HEAD", "/api/v1/transactions/stream?follow=true", ""); got.status != 200 ||
		got.kind != events {
		t.Errorf("HEAD of a stream that never ends: %+v", got)
	}
}

// sinceFirst is the first transaction that is as late as x: several may be.
func sinceFirst(t *testing.T, x ledger.Transaction) ledger.Transaction {
	t.Helper()
	list, err := ledger.New().GetTransactions(t.Context(), ledger.Page{Since: x.Timestamp, Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	return list.Transactions[0]
}

// refusal is a request that is refused, with a part of the error text.
type refusal struct {
	why, method, target, body string
	status                    int
	want                      string
}

const (
	restStream = "/api/v1/transactions/stream"
	restLog    = "/api/v1/transactions"
)

// refusedReads are refusals of the published paths.
func refusedReads() []refusal {
	const id = "/api/v1/accounts/0.0.100000/balance"
	huge := strings.Repeat("0.0.100000,", ledger.BatchLimit)
	return []refusal{
		{"unknown (grb-D09)", "GET", "/api/v1/accounts/0.0.7/balance", "", 404, `"wirelab.code":"not_found"`},
		{"no id (grb-F05)", "GET", "/api/v1/accounts//balance", "", 400, "account \\\"\\\" is not 1 to 64 characters"},
		{"no id at all", "GET", "/api/v1/accounts/", "", 400, "is not 1 to 64 characters"},
		{"no id and no slash", "GET", "/api/v1/accounts", "", 400, "is not 1 to 64 characters"},
		{
			"nothing behind the id (the origin did not look)", "GET", "/api/v1/accounts/0.0.100000", "", 404,
			`"wirelab.code":"unimplemented"`,
		},
		{"a slash behind the id", "GET", "/api/v1/accounts/0.0.100000/", "", 404, `"wirelab.code":"unimplemented"`},
		{
			"something else behind the id", "GET", "/api/v1/accounts/0.0.100000/history", "", 404,
			`"wirelab.code":"unimplemented"`,
		},
		{"more behind the balance", "GET", id + "/x", "", 404, `"wirelab.code":"unimplemented"`},
		{"a slash behind the balance", "GET", id + "/", "", 404, `"wirelab.code":"unimplemented"`},
		{"a query of a path that has none", "GET", id + "?x=1", "", 400, "is not known"},
		{"dots", "GET", "/api/v1/accounts/../balance", "", 400, "is not 1 to 64 characters"},
		{"escaped dots", "GET", "/api/v1/accounts/%2e%2e/balance", "", 400, "is not 1 to 64 characters"},
		{"traversal", "GET", "/api/v1/accounts/../../../etc/passwd", "", 404, `"wirelab.code":"unimplemented"`},
		{
			"escaped traversal", "GET", "/api/v1/accounts/..%2f..%2f..%2fetc%2fpasswd/balance", "", 400,
			"other characters",
		},
		{"traversal by backslash", "GET", `/api/v1/accounts/..%5c..%5cwindows/balance`, "", 400, "other characters"},
		{"out of the root", "GET", "/../../../../etc/passwd", "", 404, `"wirelab.code":"unimplemented"`},
		{"injection", "GET", "/api/v1/accounts/0.0.100000'%20OR%20'1'='1/balance", "", 400, "other characters"},
		{
			"injection with a comment", "GET", "/api/v1/accounts/0.0.100000;DROP%20TABLE%20accounts--/balance", "", 400,
			"other characters",
		},
		{"NUL", "GET", "/api/v1/accounts/0.0.100000%00/balance", "", 400, "other characters"},
		{"not UTF-8", "GET", "/api/v1/accounts/%ff/balance", "", 400, "not UTF-8"},
		{
			"too long", "GET", "/api/v1/accounts/" + strings.Repeat("9", 65) + "/balance", "", 400,
			"is not 1 to 64 characters",
		},
		{
			"far too long", "GET", "/api/v1/accounts/" + strings.Repeat("9", 50_000) + "/balance", "", 400,
			"is not 1 to 64 characters",
		},
		{"without ids (grb-F06)", "GET", "/api/v1/balances", "", 400, "0 ids; want 1 to 1000"},
		{"with empty ids (grb-F06)", "GET", "/api/v1/balances?ids=", "", 400, "0 ids; want 1 to 1000"},
		{
			"an empty one among ids", "GET", "/api/v1/balances?ids=0.0.100000,,0.0.100001", "", 400,
			"is not 1 to 64 characters",
		},
		{"one id too many", "GET", "/api/v1/balances?ids=" + huge + "0.0.100000", "", 400, "1001 ids; want 1 to 1000"},
		{
			"many ids too many", "GET", "/api/v1/balances?ids=" + strings.Repeat(",", 50_000), "", 400,
			"50001 ids; want 1 to 1000",
		},
		{"injection among ids", "GET", "/api/v1/balances?ids=0.0.100000'),('0.0.100001", "", 400, "other characters"},
		{"ids twice", "GET", "/api/v1/balances?ids=0.0.100000&ids=0.0.100001", "", 400, "more than once"},
	}
}

// refusedMethods returns refusals of methods, of paths and of postings.
func refusedMethods() []refusal {
	const id, stream, post = "/api/v1/accounts/0.0.100000/balance", restStream, restLog
	const valid = `{"tx_id":"x-1","from":"0.0.100001","to":"0.0.100002","amount":1,"type":"transfer"}`
	return []refusal{
		{"POST of a balance (grb-F05)", "POST", id, "{}", 405, "takes GET, HEAD, not POST"},
		{"DELETE of balances (grb-F06)", "DELETE", "/api/v1/balances?ids=0.0.100000", "", 405, "not DELETE"},
		{"POST to a stream (grb-F07)", "POST", stream, "{}", 405, "not POST"},
		{"PUT to health", "PUT", "/health", "{}", 405, "not PUT"},
		{"an unknown path", "GET", "/api/v1/account", "", 404, `"wirelab.code":"unimplemented"`},
		{
			"the results, which are a program of their own here", "GET", "/api/v1/results", "", 404,
			`"wirelab.code":"unimplemented"`,
		},
		{"after what there is not", "GET", post + "?after=tx-x", "", 404, `"wirelab.code":"not_found"`},
		{"a limit too large", "GET", post + "?limit=1001", "", 400, "limit 1001 is outside 0 to 1000"},
		{"a limit of 2^31", "GET", post + "?limit=2147483648", "", 400, "whole number of 32 bits"},
		{"POST of nothing", "POST", post, "", 400, "the body is empty"},
		{"POST of a list", "POST", post, "[" + valid + "]", 400, "cannot be read"},
		{"POST of two", "POST", post, valid + valid, 400, "cannot be read"},
		{"an amount that is none", "POST", post, strings.Replace(valid, `:1,`, `:"1",`, 1), 400, "cannot be read"},
		{"a fraction", "POST", post, strings.Replace(valid, `:1,`, `:1.5,`, 1), 400, "cannot be read"},
		{
			"an amount above 64 bits", "POST", post, strings.Replace(valid, `:1,`, `:9223372036854775808,`, 1), 400,
			"cannot be read",
		},
		{
			"an amount above the exact integers", "POST", post,
			strings.Replace(valid, `:1,`, `:9007199254740992,`, 1),
			400,
			"amount 9007199254740992 is outside",
		},
		{"an amount below", "POST", post, strings.Replace(valid, `:1,`, `:-1,`, 1), 400, "amount -1 is outside"},
		{"to itself", "POST", post, strings.Replace(valid, "100002", "100001", 1), 400, "are both account"},
		{
			"to an unknown account", "POST", post, strings.Replace(valid, "0.0.100002", "0.0.7", 1), 404,
			`"wirelab.code":"not_found"`,
		},
		{
			"more than there is", "POST", post, strings.Replace(valid, `:1,`, `:9007199254740991,`, 1), 409,
			`"wirelab.code":"conflict"`,
		},
		{"deep", "POST", post, `{"tx_id":` + strings.Repeat("[", 100_000), 400, "cannot be read"},
	}
}

// refusedQueries are refusals of what stands in the query of the stream, and of
// pages. Its status alone tells a refusal from the beginning of the log, which is
// what the origin made of them (grb-D08), or from its end (grb-D01).
func refusedQueries() (all []refusal) {
	for _, c := range [][2]string{
		{"since=yesterday", "since:"},
		{"since=2024-01-31", "since:"},
		{"since=2024-01-31T12:00:00", "since:"},
		{"since=2024-01-31T12:00:00+01:00", "since:"}, // + is a space in a query
		{"since=2024-13-31T12:00:00Z", "since:"},
		{"since=2024-02-30T12:00:00Z", "since:"},
		{"since=1706702400", "since:"},
		{"since=%00", "since:"},
		{"since=2024-01-31T12:00:00.0000001Z", "finer than a microsecond"},
		{"since=10000-01-01T00:00:00Z", "since:"},
		{"since=2024-01-31T12:00:00Z'--", "since:"},
		{"rate=-1", "rate -1 is outside"},
		{"rate=2147483648", "rate 2147483648 is outside"},
		{"rate=1000000001", "rate 1000000001 is outside"},
		{"rate=9223372036854775807", "is outside"},
		{"rate=9223372036854775808", "whole number of 64 bits"},
		{"rate=-9223372036854775808", "is outside"},
		{"rate=1e3", "whole number"},
		{"rate=0x10", "whole number"},
		{"rate=1.5", "whole number"},
		{"rate=NaN", "whole number"},
		{"rate=%20", "whole number"},
		{"rate=1_000", "whole number"},
		{"limit=-1", "limit -1 is outside"},
		{"limit=x", "whole number"},
		{"follow=yes", "want true or false"},
		{"follow=TRUE", "want true or false"},
		{"account=..", "account"},
		{"account='OR'1'='1", "other characters"},
		{"after=%2e%2e", "transaction"},
		{"account=%zz", "broken escape"},
		{"Rate=1", "is not known"},
		{"rate=1&rate=2", "more than once"},
	} {
		all = append(all, refusal{"?" + c[0], "GET", restStream + "?" + c[0], "", 400, c[1]})
		if name, _, _ := strings.Cut(c[0], "="); name == "since" || name == "account" {
			all = append(all, refusal{"page ?" + c[0], "GET", restLog + "?" + c[0], "", 400, c[1]})
		}
	}
	return all
}

// TestRESTPublishedFailures makes requests that are refused, with the statuses of the published service and a code
// (grb-D09), and without further details (grb-D01).
func TestRESTPublishedFailures(t *testing.T) {
	t.Parallel()
	address := restServe(t, ledger.New())
	for _, c := range slices.Concat(refusedReads(), refusedMethods(), refusedQueries()) {
		header := []string{"Accept: */*"}
		if c.body != "" || c.method == "POST" {
			header = append(header, "Content-Type: application/json")
		}
		got := restAsk(t, address, c.method, c.target, c.body, header...)
		if got.status != c.status || got.kind != "application/json" || !strings.Contains(got.body, c.want) {
			t.Errorf("%s: %d, %s, %.300s; want %d, %s", c.why, got.status, got.kind, got.body, c.status, c.want)
		}
		if strings.Contains(got.body, "json:") || strings.Contains(got.body, "strconv") ||
			strings.Contains(got.body, "Go ") {
			t.Errorf("%s: the caller is shown a library's text: %s", c.why, got.body)
		}
		if strings.Contains(c.target, "/stream") {
			asEvents := restAsk(t, address, c.method, c.target, c.body, append(header, "Accept: text/event-stream")...)
			if asEvents.status != c.status || asEvents.body != got.body {
				t.Errorf("%s: EventSource gets %+v", c.why, asEvents)
			}
		}
	}
	const want = `{"code":404,"message":"there is no account \"0.0.7\"","details":{"wirelab.code":"not_found"}}`
	if got := restAsk(t, address, "GET", "/api/v1/accounts/0.0.7/balance", ""); got.body != want {
		t.Errorf("unknown: %s, want %s", got.body, want)
	}
	if got := restAsk(t, address, "GET", "/api/v1/balances?ids=0.0.100000", "",
		"Accept: text/html"); got.status != 406 {
		t.Errorf("Accept of a page: %+v", got)
	}
	if got := restAsk(t, address, "POST", "/api/v1/transactions", "",
		fmt.Sprint("Content-Length: ", wirelab.MessageLimit+1)); got.status != 413 {
		t.Errorf("too much, told beforehand: %+v", got)
	}
	if got := restAsk(t, address, "POST", "/api/v1/transactions", "a=b",
		"Content-Type: application/x-www-form-urlencoded"); got.status != 415 {
		t.Errorf("a form: %+v", got)
	}
	// None of it was kept, and the server is well.
	if got := restAsk(t, address, "GET", "/api/v1/transactions?after="+lastInLog, ""); got.status != 200 ||
		got.body != `{"transactions":[]}` {
		t.Errorf("after all that: %+v", got)
	}
}

// TestRESTPages asks for pages and postings, which the published service has not.
func TestRESTPages(t *testing.T) {
	t.Parallel()
	address := restServe(t, ledger.New())
	x := firstOf(t, 3)
	const path = "/api/v1/transactions"
	want := fmt.Sprintf(`{"transactions":[{%s},{%s}],"next":"%s"}`, transactionText(x[0]), transactionText(x[1]),
		x[1].ID)
	if got := restAsk(t, address, "GET", path+"?limit=2", ""); got.status != 200 || got.body != want {
		t.Errorf("a page: %+v\nwant %s", got, want)
	}
	want = fmt.Sprintf(`{"transactions":[{%s}],"next":"%s"}`, transactionText(x[2]), x[2].ID)
	if got := restAsk(t, address, "GET", path+"?after="+x[1].ID+"&limit=1", ""); got.status != 200 || got.body != want {
		t.Errorf("the next: %+v\nwant %s", got, want)
	}
	const posting = `{"tx_id":"rest-1","from":"` + payer + `","to":"` + payee + `","amount":7,"type":"a \"b\" \u00e9"}`
	first := restAsk(t, address, "POST", path, posting, "Content-Type: application/json")
	const begins = `{"tx_id":"rest-1","from":"` + payer + `","to":"` + payee +
		`","amount":7,"type":"a \"b\" é","timestamp":"20`
	if first.status != 200 || !strings.HasPrefix(first.body, begins) {
		t.Errorf("a posting: %+v\nwant %s", first, begins)
	}
	if again := restAsk(t, address, "POST", path, posting); again.status != 200 || again.body != first.body {
		t.Errorf("the same posting again: %+v\nwant %s", again, first.body)
	}
	other := strings.Replace(posting, ":7,", ":8,", 1)
	if got := restAsk(t, address, "POST", path, other); got.status != 409 ||
		!strings.Contains(got.body, `"wirelab.code":"conflict"`) {
		t.Errorf("another under its id: %+v", got)
	}
	if got := restAsk(t, address, "GET", path+"?after="+lastInLog,
		""); got.body != `{"transactions":[`+first.body+`]}` {
		t.Errorf("the end of the log: %s", got.body)
	}
}

// away is a service whose database is away.
type away struct {
	ledger.Service
	err error
}

func (a away) Ready(ctx context.Context) error {
	if a.err == nil {
		panic("planted")
	}
	return a.err
}

// TestRESTHealth asks for the health of a service whose database does not answer: grb-F08, S11. The cause is not
// shown to the caller.
func TestRESTHealth(t *testing.T) {
	t.Parallel()
	for why, err := range map[string]error{
		"unavailable": wirelab.Errorf(wirelab.Unavailable, "password=secret"), "a panic": nil,
	} {
		address := restServe(t, away{ledger.New(), err})
		if got := restAsk(t, address, "GET", "/health", ""); got.status != 503 ||
			got.body != `{"status":"unhealthy"}` ||
			got.kind != "application/json" {
			t.Errorf("%s: %+v", why, got)
		}
		if got := restAsk(t, address, "GET", "/api/v1/balances?ids=0.0.7", ""); got.status != 200 {
			t.Errorf("%s: after it %+v", why, got)
		}
	}
}
