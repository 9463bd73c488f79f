package netrpc_test

import (
	"context"
	"errors"
	"net"
	"net/rpc"
	"sync"
	"testing"

	"wirelab"
	"wirelab/wire/netrpc"
)

// Older is a service that was published elsewhere.
type Older struct {
	do func(context.Context, string) error
}

// OlderAsk is its argument.
type OlderAsk struct {
	Text string
	ctx  context.Context
}

// Admit implements [netrpc.Admitted].
func (a *OlderAsk) Admit(ctx context.Context) { a.ctx = ctx }

// Tell is the method Older.Tell.
func (o *Older) Tell(ask *OlderAsk, told *string) error {
	if err := o.do(ask.ctx, ask.Text); err != nil {
		return err
	}
	*told = "told " + ask.Text
	return nil
}

// besideEcho serves Older next to Echo until the test ends.
func besideEcho(t *testing.T, do func(context.Context, string) error) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- netrpc.Serve(ctx, wirelab.Endpoint{Listener: listener}, "Echo", &Echo{plain},
			netrpc.Beside{
				Name:     "Older",
				Receiver: &Older{do},
			})
	}()
	t.Cleanup(func() {
		cancel()
		if err := await(t, "the server's stop", ended); err != nil {
			t.Errorf("Serve returned %v", err)
		}
	})
	return listener.Addr().String()
}

// A client of net/rpc that knows nothing of ours is answered on the same server,
// each of its calls under a context, and never more at once than of our own.
func TestBeside(t *testing.T) {
	t.Parallel()
	address := besideEcho(t, func(ctx context.Context, text string) error {
		if text == "no" {
			return errors.New("as you say")
		}
		return ctx.Err()
	})
	older, err := rpc.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer older.Close()
	var told string
	if err := older.Call("Older.Tell", struct{ Text string }{"x"}, &told); err != nil || told != "told x" {
		t.Errorf("%q, %v", told, err)
	}
	if err := older.Call("Older.Tell", struct{ Text string }{"no"}, &told); err == nil || err.Error() != "as you say" {
		t.Errorf("%v", err)
	}
	if got, err := say(bounded(t), dial(t, address), "x"); err != nil || got != "x" {
		t.Errorf("next to it: %q, %v", got, err)
	}
	at := wirelab.Endpoint{Listener: new(net.TCPListener)}
	err = netrpc.Serve(t.Context(), at, "Echo", &Echo{plain}, netrpc.Beside{Name: "Nothing", Receiver: struct{}{}})
	wantCode(t, "a receiver without methods", err, wirelab.InvalidArgument)
}

// Calls of such a client are bounded as ours are, and end with its connection.
func TestBesideIsBounded(t *testing.T) {
	t.Parallel()
	h := newHeld()
	address := besideEcho(t, func(ctx context.Context, text string) error {
		_, err := h.do(ctx, ask{text})
		return err
	})
	older, err := rpc.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	var calls []*rpc.Call
	for range wirelab.MaxStreams + 1 {
		calls = append(calls, older.Go("Older.Tell", struct{ Text string }{"held"}, new(string),
			make(chan *rpc.Call, 1)))
	}
	for range wirelab.MaxStreams {
		await(t, "a call", h.entered)
	}
	// A further call is not taken before one of these ends.
	select {
	case <-h.entered:
		t.Error("more calls are taken than the wire has places for")
	default:
	}
	h.release <- struct{}{}
	await(t, "the call that waited", h.entered)
	if err := older.Close(); err != nil {
		t.Error(err)
	}
	var over sync.WaitGroup
	for _, call := range calls {
		over.Go(func() { <-call.Done })
	}
	over.Wait()
	for range wirelab.MaxStreams {
		if err := await(t, "a call's end", h.ended); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	}
}
