package bind

import (
	"context"
	"iter"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"wirelab/wire/httprpc"
	"wirelab/workload/ledger"
)

// FuzzRESTMessages decodes arbitrary bodies in each encoding: a decoded value must survive encoding and decoding.
func FuzzRESTMessages(f *testing.F) {
	c := newRESTCodecs()
	for _, seed := range []string{
		`{}`, `null`, `[]`, `{"account":"a","balance":-1,"timestamp":"2024-01-31T12:00:00.1234567+01:00"}`,
		`{"balances":[{}],"verdicts":[{"found":true}]}`, `{"balances":null,"verdicts":[{"found":false},null]}`,
		`{"transactions":[null],"next":"x"}`, `{"tx_id":"\ud800\u0000","amount":9223372036854775807}`,
		"{\"type\":\"\xff\"}",
		`{"tx_id":"a","sequence":18446744073709551615,"due_unix_nano":-9223372036854775808}`,
		`{"timestamp":"0001-01-01T00:00:00+23:59"}`,
		"\n\x00\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "\x12\x02\x10\x01\n\x00",
	} {
		f.Add([]byte(seed))
	}
	f.Add([]byte(handHead(inAvro().posting.schema).text("p", "a", "b").long(5).text("transfer")))
	f.Add([]byte(handHead(inAvro().balance.schema).text("a").long(5).text("2024-01-31T12:00:00.1234567+01:00")))
	f.Fuzz(func(t *testing.T, data []byte) {
		for e := httprpc.JSON; e <= httprpc.Avro; e++ {
			restAgain(t, c.balance.In(e), data)
			restAgain(t, c.balances.In(e), data)
			restAgain(t, c.list.In(e), data)
			restAgain(t, c.transaction.In(e), data)
		}
		restAgain(t, &c.event, data)
		for e := httprpc.JSON; e <= httprpc.Avro; e++ {
			p, err := c.posting.In(e).Decode(data)
			if err != nil {
				continue
			}
			written, err := c.posting.In(e).Encode(p)
			if err != nil {
				t.Fatalf("%#v: %v", p, err)
			}
			if back, err := c.posting.In(e).Decode(written); err != nil || back != p {
				t.Fatalf("%#v is written %q and read %#v, %v", p, written, back, err)
			}
		}
	})
}

func restAgain[T interface{ Equal(T) bool }](t *testing.T, codec *httprpc.Codec[T], data []byte) {
	t.Helper()
	v, err := codec.Decode(data)
	if err != nil {
		return
	}
	written, err := codec.Encode(v)
	if err != nil {
		t.Fatalf("%#v: %v", v, err)
	}
	// A decoded time may be finer than the encoding writes, or outside the valid years: no request with such a time
	// is valid, and our servers never reply with one.
	back, err := codec.Decode(written)
	if err != nil {
		return
	}
	rewritten, err := codec.Encode(back)
	if err != nil || string(rewritten) != string(written) {
		t.Fatalf("%#v is written %q, and that is read and written %q, %v", v, written, rewritten, err)
	}
}

// FuzzRESTQuery parses arbitrary queries: a parsed query is in the contract or refused by it, and is written to the
// same URL again.
func FuzzRESTQuery(f *testing.F) {
	for _, seed := range []string{
		"", "since=2024-01-31T12:00:00Z&rate=-1&account=a&after=b&limit=5&follow=true",
		"since=2024-01-31T12:00:00.0000001Z",
		"rate=2147483648", "rate=+1", "follow=false&limit=", "ids=a,b,,c", "since=9999-12-31T23:59:59-23:59", "%zz",
		"rate=1&rate=2", "a=%00",
	} {
		f.Add(seed)
	}
	var feeds []ledger.Feed
	var pages []ledger.Page
	var batches []ledger.AccountIDs
	handler := httprpc.NewREST(map[string][]httprpc.Route{
		"/stream": {httprpc.GetStream(feedParameters(),
			func(_ context.Context, feed ledger.Feed) iter.Seq2[ledger.Event, error] {
				feeds = append(feeds, feed)
				return func(func(ledger.Event, error) bool) {}
			}, httprpc.Lines[ledger.Feed](newRESTCodecs().event))},
		"/page": {httprpc.Get(pageParameters(), newRESTCodecs().list,
			func(_ context.Context, page ledger.Page) (ledger.TransactionList, error) {
				pages = append(pages, page)
				return ledger.TransactionList{}, nil
			})},
		"/batch": {httprpc.Get(idsParameters(), newRESTCodecs().balances,
			func(_ context.Context, ids ledger.AccountIDs) (ledger.Balances, error) {
				batches = append(batches, ids)
				return ledger.Balances{}, nil
			})},
	})
	// asking is what a stub of ours sends for a request.
	client := httprpc.NewClient(nil, "http", "x", 1, nil)
	stream := httprpc.Asking(client, "/stream", feedParameters(), "")
	page := httprpc.Asking(client, "/page", pageParameters(), "")
	batch := httprpc.Asking(client, "/batch", idsParameters(), "")
	f.Fuzz(func(t *testing.T, query string) {
		feeds, pages, batches = nil, nil, nil
		send := func(at *url.URL) {
			r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
			r.URL = at
			reply := httptest.NewRecorder()
			if handler.ServeHTTP(reply, r); reply.Code != 200 && reply.Code != 400 {
				t.Fatalf("%s: %d, %s", at, reply.Code, reply.Body)
			}
		}
		for _, path := range []string{"/stream", "/page", "/batch"} {
			send(&url.URL{Path: path, RawQuery: query})
		}
		resend := func(r *http.Request, err error) {
			if err != nil {
				t.Fatal(err)
			}
			send(r.URL)
		}
		if len(feeds) == 1 && feeds[0].Validate() == nil {
			resend(stream(t.Context(), &feeds[0]))
			if len(feeds) != 2 || feeds[0] != feeds[1] {
				t.Fatalf("%q: %+v", query, feeds)
			}
		}
		if len(pages) == 1 && pages[0].Validate() == nil {
			resend(page(t.Context(), &pages[0]))
			if len(pages) != 2 || pages[0] != pages[1] {
				t.Fatalf("%q: %+v", query, pages)
			}
		}
		if len(batches) == 1 && batches[0].Validate() == nil {
			resend(batch(t.Context(), &batches[0]))
			if len(batches) != 2 || strings.Join(batches[0].IDs, ",") != strings.Join(batches[1].IDs, ",") {
				t.Fatalf("%q: %+v", query, batches)
			}
		}
	})
}

// brief is a service whose streams end soon.
type brief struct{ ledger.Service }

// StreamTransactions implements [ledger.Service].
func (b brief) StreamTransactions(ctx context.Context, feed ledger.Feed) iter.Seq2[ledger.Event, error] {
	if feed.Validate() == nil {
		feed.Follow, feed.Rate, feed.Limit = false, 0, 3
	}
	return b.Service.StreamTransactions(ctx, feed)
}

// FuzzRESTRequests sends the handler anything: it answers, never with the
// status of a fault, and in a type that it has.
func FuzzRESTRequests(f *testing.F) {
	for _, seed := range [][4]string{
		{"GET", "/api/v1/accounts/0.0.100000/balance", "", ""},
		{"GET", "/api/v1/balances?ids=0.0.100000,0.0.7", "", ""},
		{"HEAD", "/api/v1/transactions?after=tx-000000001&limit=2", "", ""},
		{"GET", "/api/v1/transactions/stream?rate=1", "", "tx-000000001"},
		{"GET", "/api/v1/transactions/stream?follow=true", "", "(end)"},
		{
			"POST", "/api/v1/transactions", `{"tx_id":"f","from":"0.0.109998","to":"0.0.109999","amount":1,"type":"x"}`,
			"",
		},
		{"GET", "/health", "", ""},
		{"GET", "/api/v1/accounts/%2e%2e/balance?%", "", "'; DROP TABLE"},
		{"PUT", "/api/v1//", "x", ""},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3])
	}
	handler := restHandler(brief{ledger.New()})
	f.Fuzz(func(t *testing.T, method, target, body, last string) {
		at, err := url.ParseRequestURI(target)
		if err != nil {
			return
		}
		asked := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
		asked.Method, asked.URL = method, at
		asked.Header.Set("Last-Event-Id", last)
		if body == "" {
			asked.Body, asked.ContentLength = http.NoBody, 0
		}
		reply := httptest.NewRecorder()
		handler.ServeHTTP(reply, asked)
		kind := reply.Header().Get("Content-Type")
		if reply.Code >= 500 || reply.Code != 204 && kind != httprpc.MediaJSON && kind != httprpc.MediaEvents {
			t.Fatalf("%s %s: %d, %v, %s", method, target, reply.Code, reply.Header(), reply.Body)
		}
	})
}
