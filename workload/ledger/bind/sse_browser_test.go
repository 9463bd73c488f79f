package bind_test

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"wirelab"
	"wirelab/internal/browsertest"
	"wirelab/workload/ledger"
)

// page is a blank page in a browser that lives as long as the test.
func page(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(browsertest.Start(t), 2*time.Minute)
	t.Cleanup(cancel)
	// A page of this host: a browser keeps those of others from it.
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<!doctype html><title>nothing</title>")
	}))
	t.Cleanup(host.Close)
	if err := chromedp.Run(ctx, chromedp.Navigate(host.URL)); err != nil {
		t.Fatal(err)
	}
	return ctx
}

// source is what a page saw of an EventSource.
type source struct {
	IDs    []string // of its transactions
	Texts  []string // tx_id of each as its data has it
	Opened int      // how often it was connected
	Broken int      // how often it was told that it is not
	Failed string   // the data of the event "error" that the server sent
	Ended  bool     // whether it got the event "end"
	State  int      // 2: it has stopped for good
}

// listen is a page's script: it reads a stream until done says so, given an
// event's name and the source.
const listen = `((url, done) => new Promise((resolve) => {
	const source = new EventSource(url);
	const seen = {IDs: [], Texts: [], Opened: 0, Broken: 0, Failed: "", Ended: false, State: 0};
	const look = (name) => {
		seen.State = source.readyState;
		if (done(name, source, seen)) { source.close(); resolve(seen); }
	};
	source.onopen = () => { seen.Opened++; look("open"); };
	source.addEventListener("transaction", (event) => {
		seen.IDs.push(event.lastEventId);
		seen.Texts.push(JSON.parse(event.data).tx_id);
		look("transaction");
	});
	source.addEventListener("end", () => { seen.Ended = true; look("end"); });
	source.addEventListener("error", (event) => {
		if (event.data === undefined) { seen.Broken++; look("broken"); } else { seen.Failed = event.data; look("error"); }
	});
}))`

// read has the page read a stream until done, in JavaScript, is true.
func read(page context.Context, t *testing.T, address, query, done string) source {
	t.Helper()
	var s source
	script := fmt.Sprintf(`%s("http://%s/api/v1/transactions/stream%s", (name, source, seen) => %s)`, listen,
		address, query, done)
	ctx, cancel := context.WithTimeout(page, patience)
	defer cancel()
	err := chromedp.Run(ctx, chromedp.Evaluate(script, &s, func(p *runtime.EvaluateParams) *runtime.EvaluateParams {
		return p.WithAwaitPromise(true)
	}))
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return s
}

// check reports what is wrong with the transactions that a page saw.
func (s *source) check(want []ledger.Transaction) string {
	if len(s.IDs) != len(want) {
		return fmt.Sprintf("%d transactions, want %d", len(s.IDs), len(want))
	}
	for i, x := range want {
		if s.IDs[i] != x.ID || s.Texts[i] != x.ID {
			return fmt.Sprintf("event %d is %s with the id %s, want %s", i+1, s.Texts[i], s.IDs[i], x.ID)
		}
	}
	return ""
}

// breaking is a service whose stream fails after its first event.
type breaking struct{ ledger.Service }

// StreamTransactions implements [ledger.Service].
func (b breaking) StreamTransactions(ctx context.Context, feed ledger.Feed) iter.Seq2[ledger.Event, error] {
	return func(yield func(ledger.Event, error) bool) {
		for event, err := range b.Service.StreamTransactions(ctx, feed) {
			if err != nil || !yield(event, nil) {
				return
			}
			yield(ledger.Event{}, wirelab.Errorf(wirelab.Unavailable, "the database is away"))
			return
		}
	}
}

// TestSSEInABrowser reads streams with the EventSource of a real browser, in a page of another origin: what it
// receives, how it continues after its connection broke, and when it stops (grb-F07, grb-D10).
func TestSSEInABrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	page := page(t)
	service, log := smallLog(t)
	address := restServe(t, service)
	// through is the server behind a relay that cuts.
	through := func(t *testing.T, cuts ...int64) string {
		t.Helper()
		return (&relay{to: address, cuts: cuts}).start(t)
	}
	t.Run("the whole log", func(t *testing.T) {
		s := read(page, t, address, "", `name == "end"`)
		if fault := s.check(log); fault != "" || s.Opened != 1 || s.Broken != 0 {
			t.Errorf("%s; opened %d, broken %d", fault, s.Opened, s.Broken)
		}
	})
	t.Run("cut twice", func(t *testing.T) {
		s := read(page, t, through(t, 100_003, 60_001, 0), "", `name == "end"`)
		if fault := s.check(log); fault != "" || s.Opened != 3 || s.Broken != 2 {
			t.Errorf("%s; opened %d, broken %d", fault, s.Opened, s.Broken)
		}
	})
	t.Run("cut, with a given beginning", func(t *testing.T) {
		s := read(page, t, through(t, 40_000, 0), "?after="+log[499].ID+"&rate=100000", `name == "end"`)
		if fault := s.check(log[500:]); fault != "" || s.Opened != 2 {
			t.Errorf("%s; opened %d", fault, s.Opened)
		}
	})
	t.Run("a page that does not listen for the end", func(t *testing.T) {
		s := read(page, t, address, "?limit=10", `source.readyState == 2`)
		if fault := s.check(log[:10]); fault != "" || s.State != 2 || s.Opened != 1 {
			t.Errorf("%s; state %d, opened %d: want it to stop by itself", fault, s.State, s.Opened)
		}
	})
	t.Run("a stream that is refused", func(t *testing.T) {
		s := read(page, t, address, "?rate=-1", `name == "broken"`)
		if s.State != 2 || s.Opened != 0 {
			t.Errorf("%+v: want it to stop by itself", s)
		}
	})
	t.Run("a stream that fails", func(t *testing.T) {
		s := read(page, t, restServe(t, breaking{service}), "", `name == "error"`)
		if s.check(log[:1]) != "" || !strings.Contains(s.Failed, `"wirelab.code":"unavailable"`) || s.Ended {
			t.Errorf("%+v", s)
		}
	})
	t.Run("a follower", func(t *testing.T) {
		memory := ledger.New()
		at := restServe(t, memory)
		// It is connected before there is anything to read, by the heartbeat.
		if s := read(page, t, at, "?follow=true&after="+lastInLog, `name == "open"`); s.Opened != 1 || len(s.IDs) != 0 {
			t.Errorf("%+v", s)
		}
		posted := make(chan error, 1)
		go func() {
			_, err := memory.PostTransaction(t.Context(),
				ledger.Posting{ID: "browser-1", From: payer, To: payee, Amount: 1})
			posted <- err
		}()
		s := read(page, t, at, "?follow=true&after="+lastInLog, `name == "transaction"`)
		if err := <-posted; err != nil || len(s.IDs) != 1 || s.IDs[0] != "browser-1" {
			t.Errorf("%+v, %v", s, err)
		}
	})
}
