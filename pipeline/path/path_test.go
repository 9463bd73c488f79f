package path_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"wirelab"
	"wirelab/broker/workqueue"
	"wirelab/internal/porttest"
	"wirelab/pipeline/path"
	"wirelab/workload/logging"
)

// On every path an entry arrives as it was, under an id that the receipt tells,
// with the same deadline (ms-M12, ms-M15); HTTP and gRPC pass the request's id on
// (ms-D18).
func TestLog(t *testing.T) {
	t.Parallel()
	for _, d := range endpoints() {
		for _, e := range []logging.Entry{
			{ID: "chosen-1", Name: "event", Data: "a \"b\" <c> & \u2028 \u00e9 \U0001F600 \\u0000 \x01"},
			{Name: "no id", Data: ""},
		} {
			t.Run(d.name+"/"+e.Name, func(t *testing.T) {
				t.Parallel()
				l := &logger{}
				p, _ := d.start(t, l, path.Options{Deadline: time.Minute})
				if err := p.Check(t.Context()); err != nil {
					t.Errorf("check: %v", err)
				}
				before := time.Now()
				receipt, err := p.Log(path.WithRequestID(t.Context(), "request-7"), e)
				if err != nil {
					t.Fatal(err)
				}
				if e.ID == "" && !logging.MadeID(receipt.ID) || e.ID != "" && receipt.ID != e.ID {
					t.Errorf("receipt for id %q, want %q", receipt.ID, e.ID)
				}
				if receipt.Written.Before(before) || receipt.Confirmed.Before(receipt.Written) ||
					time.Now().Before(receipt.Confirmed) {
					t.Errorf("written %v, confirmed %v", receipt.Written, receipt.Confirmed)
				}
				want := e
				want.ID = receipt.ID
				if got := l.arrived(); len(got) != 1 || got[0] != want {
					t.Errorf("arrived %+v, want %+v", got, want)
				}
				if left := l.left[0]; left <= 30*time.Second || left > time.Minute+time.Second {
					t.Errorf("the logger was told of %v left of a minute", left)
				}
				if request := l.requests[0]; d.name != "rpc" && request != "request-7" {
					t.Errorf("the request's id arrived as %q", request)
				}
			})
		}
	}
}

// What a logger tells of a failure arrives whole, every code of them (ms-D17).
func TestErrorsArriveWhole(t *testing.T) {
	t.Parallel()
	for _, d := range endpoints() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			var want *wirelab.Error
			l := &logger{write: func(context.Context, logging.Entry) error { return want }}
			p, _ := d.start(t, l, path.Options{})
			for _, code := range wirelab.Codes() {
				want = &wirelab.Error{Code: code, Message: "whole: „é“ % \" <" + code.String()}
				_, err := p.Log(t.Context(), logging.Entry{Name: "n"})
				var got *wirelab.Error
				if !errors.As(err, &got) || *got != *want {
					t.Errorf("%v came as %v", want, err)
				}
			}
		})
	}
}

// A bad entry is the same error on every path, before anything is sent.
func TestBadEntries(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why   string
		entry logging.Entry
	}{
		{"no name", logging.Entry{}},
		{"a NUL", logging.Entry{Name: "n", Data: "a\x00b"}},
		{"not UTF-8", logging.Entry{Name: "n\xff"}},
		{"an id with a slash", logging.Entry{ID: "a/b", Name: "n"}},
		{"data above the limit", logging.Entry{Name: "n", Data: strings.Repeat("x", logging.DataLimit+1)}},
		{"too long once it is JSON", logging.Entry{Name: "n", Data: strings.Repeat("\x01", workqueue.BodyLimit/6)}},
	} {
		want := path.Check(c.entry)
		if want == nil || wirelab.CodeOf(want) != wirelab.InvalidArgument {
			t.Errorf("%s: check says %v", c.why, want)
			continue
		}
		for name, p := range everyPath(t) {
			if _, err := p.Log(t.Context(), c.entry); err == nil || err.Error() != want.Error() {
				t.Errorf("%s by %s: %v, want %v", c.why, name, err, want)
			}
		}
	}
}

// everyPath returns one path of each kind, without a peer: an entry that got as far as the peer would be
// Unavailable.
func everyPath(t *testing.T) map[string]path.Path {
	t.Helper()
	address := porttest.Refusing(t)
	all := map[string]path.Path{
		"queue":                   path.Queue(&publisher{}, path.Options{}),
		"queue per call":          path.QueuePerCall(&broker{}, workqueue.Options{Name: "q"}, path.Options{}),
		"http, as was published":  path.HTTP(address, path.Options{AsPublished: true}),
		"rpc, as was published":   path.RPC(address, path.Options{AsPublished: true}),
		"another, with no bounds": path.HTTP(address, path.Options{Connections: 1}),
	}
	for _, d := range endpoints() {
		all[d.name] = d.way(t, address, path.Options{})
	}
	t.Cleanup(func() {
		for _, p := range all {
			_ = p.Close()
		}
	})
	return all
}

// TestNobodyThere checks that a missing peer is Unavailable, with a message that contains no address.
func TestNobodyThere(t *testing.T) {
	t.Parallel()
	for name, p := range everyPath(t) {
		if strings.HasPrefix(name, "queue") {
			continue
		}
		for what, err := range map[string]error{
			"log":   second(p.Log(t.Context(), logging.Entry{Name: "n"})),
			"check": p.Check(t.Context()),
		} {
			if err == nil || wirelab.CodeOf(err) != wirelab.Unavailable || strings.Contains(err.Error(), "127.0.0.1") {
				t.Errorf("%s, %s: %v", name, what, err)
			}
		}
	}
}

func second(_ path.Receipt, err error) error { return err }

// A logger that does not answer costs the deadline, and a caller that gives up
// waits no longer.
func TestDeadlineAndCancel(t *testing.T) {
	t.Parallel()
	for _, d := range append(endpoints(), publishedEndpoints()...) {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			free := make(chan struct{})
			l := &logger{write: func(ctx context.Context, _ logging.Entry) error {
				select {
				case <-ctx.Done():
				case <-free:
				}
				return ctx.Err()
			}}
			p, _ := d.start(t, l,
				path.Options{Deadline: 30 * time.Millisecond, AsPublished: strings.HasPrefix(d.name, "published")})
			defer close(free)
			if _, err := p.Log(t.Context(), logging.Entry{Name: "n"}); err == nil ||
				wirelab.CodeOf(err) != wirelab.DeadlineExceeded {
				t.Errorf("no answer in time: %v", err)
			}
			gone, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := p.Log(gone, logging.Entry{Name: "n"}); err == nil || wirelab.CodeOf(err) != wirelab.Canceled {
				t.Errorf("a caller that had gone: %v", err)
			}
		})
	}
}

func publishedEndpoints() []endpoint {
	return []endpoint{
		{"published http", openHTTP, func(_ *testing.T, a string, o path.Options) path.Path { return path.HTTP(a, o) }},
		{
			"published rpc", openPublishedRPC,
			func(_ *testing.T, a string, o path.Options) path.Path { return path.RPC(a, o) },
		},
	}
}

// As it should be, calls one after the other share a connection; as published
// each has its own, since replies are closed unread (ms-M03) or nothing is kept
// (ms-D09). The published forms work all the same.
func TestConnections(t *testing.T) {
	t.Parallel()
	const calls = 10
	for _, d := range append(endpoints(), publishedEndpoints()...) {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			published := strings.HasPrefix(d.name, "published")
			want := 1
			if published {
				want = calls
			}
			l := &logger{}
			p, at := d.start(t, l, path.Options{AsPublished: published})
			for range calls {
				if receipt, err := p.Log(t.Context(), logging.Entry{Name: "n"}); err != nil ||
					receipt.Confirmed.IsZero() {
					t.Fatalf("%+v, %v", receipt, err)
				}
			}
			if got := len(l.arrived()); got != calls {
				t.Errorf("%d of %d arrived", got, calls)
			}
			if got := int(at.taken.Load()); got != want {
				t.Errorf("%d connections for %d calls, want %d", got, calls, want)
			}
		})
	}
}

// HTTP opens no more connections than it may; who finds none waits.
func TestBoundOfConnections(t *testing.T) {
	t.Parallel()
	l, free := &logger{}, make(chan struct{})
	l.write = func(context.Context, logging.Entry) error { <-free; return nil }
	p, at := endpoints()[0].start(t, l, path.Options{Connections: 3})
	failed := make(chan error, 20)
	for range cap(failed) {
		go func() { failed <- second(p.Log(t.Context(), logging.Entry{Name: "n"})) }()
	}
	close(free)
	for range cap(failed) {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
	if got := at.taken.Load(); got > 3 {
		t.Errorf("%d connections, want at most 3", got)
	}
}

// A logger that went away and came back at its address is found again (ms-D07).
// Until then a call is Unavailable, never anything else.
func TestReconnects(t *testing.T) {
	t.Parallel()
	for _, d := range endpoints() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			l := &logger{}
			address := porttest.Held(t)
			shut := d.open(t, l, listen(t, address))
			p := d.way(t, address, path.Options{})
			defer p.Close()
			if _, err := p.Log(t.Context(), logging.Entry{Name: "before"}); err != nil {
				t.Fatal(err)
			}
			shut()
			if _, err := p.Log(t.Context(), logging.Entry{Name: "while"}); err == nil ||
				wirelab.CodeOf(err) != wirelab.Unavailable {
				t.Errorf("while it is away: %v", err)
			}
			shut = d.open(t, l, listen(t, address))
			defer shut()
			var err error
			for t.Context().Err() == nil {
				if _, err = p.Log(t.Context(), logging.Entry{Name: "after"}); err == nil {
					return
				}
				if wirelab.CodeOf(err) != wirelab.Unavailable {
					t.Fatal(err)
				}
			}
			t.Errorf("never found again: %v", err)
		})
	}
}

// A refusal by the published net/rpc method is text that begins with its code:
// a database that is away is not the gateway's fault (ms-D17). Text of another
// form, which another logger's is, says no more than that it failed.
func TestPublishedRPCRefuses(t *testing.T) {
	t.Parallel()
	var refusal error // one call at a time
	l := &logger{write: func(context.Context, logging.Entry) error { return refusal }}
	p, _ := publishedEndpoints()[1].start(t, l, path.Options{AsPublished: true})
	for _, c := range []struct {
		refusal error
		code    wirelab.Code
		message string
	}{
		{wirelab.Errorf(wirelab.Conflict, "taken"), wirelab.Conflict, "taken"},
		{
			wirelab.Errorf(wirelab.Unavailable, "the database has no connection free"), wirelab.Unavailable,
			"the database has no connection free",
		},
		{wirelab.Errorf(wirelab.ResourceExhausted, "full: 1: 2"), wirelab.ResourceExhausted, "full: 1: 2"},
		{errors.New("sold out: come again"), wirelab.Internal, "sold out: come again"},
		{errors.New("conflict"), wirelab.Internal, "conflict"},
	} {
		refusal = c.refusal
		_, err := p.Log(t.Context(), logging.Entry{Name: "n"})
		if told := wirelab.Public(err); told.Code != c.code || told.Message != c.message {
			t.Errorf("%v arrives as %v", c.refusal, err)
		}
	}
	if err := p.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// An entry that may have arrived is not sent again behind the caller's back: a
// logger that dies with it is a failure, and the call after that is fine.
func TestNoHiddenRetry(t *testing.T) {
	t.Parallel()
	for _, d := range endpoints() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			at := listen(t, "127.0.0.1:0")
			l := &logger{}
			var dies atomic.Bool
			l.write = func(context.Context, logging.Entry) error {
				if dies.CompareAndSwap(true, false) {
					at.cut()
				}
				return nil
			}
			shut := d.open(t, l, at)
			p := d.way(t, at.Addr().String(), path.Options{})
			defer shut()
			defer p.Close()
			for _, die := range []bool{false, true, false} {
				dies.Store(die)
				_, err := p.Log(t.Context(), logging.Entry{Name: "n"})
				for !die && err != nil && wirelab.CodeOf(err) == wirelab.Unavailable && t.Context().Err() == nil {
					_, err = p.Log(t.Context(), logging.Entry{Name: "n"}) // gRPC waits before it connects again
				}
				if die && (err == nil || wirelab.CodeOf(err) != wirelab.Unavailable) || !die && err != nil {
					t.Errorf("the logger dies: %t; %v", die, err)
				}
			}
			if got := len(l.arrived()); got != 3 {
				t.Errorf("%d entries arrived, want 3", got)
			}
		})
	}
}
