package bind_test

import (
	"context"
	"net"
	"testing"
	"time"

	"wirelab"
	"wirelab/workload/ledger/bind"
)

// drive makes calls by the raw driver, two at once, and returns the first error.
func drive(t *testing.T, cell wirelab.Cell, address, operation, requests string, calls int) error {
	t.Helper()
	const slots = 2
	lines, err := cell.DialRaw(t.Context(), wirelab.Dialing{Address: address, Connections: slots}, slots, operation, requests, 1)
	if err != nil {
		return err
	}
	defer func() {
		if err := lines.Close(); err != nil {
			t.Error(err)
		}
	}()
	begun, over := 0, 0
	var first error
	begin := func(slot int) {
		if begun < calls {
			begun++
			lines.Begin(slot)
		}
	}
	for slot := range slots {
		begin(slot)
	}
	for limit := time.Now().Add(patience); over < begun; {
		err := lines.Turn(100*time.Millisecond, func(slot int, err error) {
			if over++; first == nil {
				first = err
			}
			begin(slot)
		})
		if err != nil || time.Now().After(limit) {
			t.Fatalf("%d of %d calls are over: %v", over, begun, err)
		}
	}
	return first
}

// The raw driver is answered rightly by every server that it knows, and every
// null responder answers as the server does. What it does not carry it says.
func TestRaw(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	driven := map[string]bool{}
	for _, cell := range bind.Workload().Erase().Cells {
		if cell.DialRaw == nil || cell.Null == nil || cell.Protocol.Secure || cell.Holes["GetBalance"] != "" {
			continue // over TLS the same driver is tried on the route guide
		}
		name := cell.Protocol.Name + "/" + cell.Server
		if driven[name] {
			continue // the same with another client, which is not in it
		}
		driven[name] = true
		t.Run(name, func(t *testing.T) {
			for what, serve := range map[string]func(context.Context, wirelab.Endpoint) error{"served": cell.Serve, "null": cell.Null} {
				listener, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				until(t, func(ctx context.Context) error { return serve(ctx, wirelab.Endpoint{Listener: listener}) })
				address := listener.Addr().String()
				for _, call := range []struct {
					operation, requests string
					calls               int
				}{{"GetBalance", "", 300}, {"GetBalance", "known", 300}, {"GetBalances", "", 300}, {"GetTransactions", "", 300}} {
					if err := drive(t, cell, address, call.operation, call.requests, call.calls); err != nil {
						t.Errorf("%s %s, %s: %.300v", call.operation, call.requests, what, err)
					}
				}
				err = drive(t, cell, address, "PostTransaction", "", 1)
				if err == nil || wirelab.CodeOf(err) != wirelab.Unimplemented || cell.RawHoles["PostTransaction"] == "" {
					t.Errorf("PostTransaction: %v, hole %q", err, cell.RawHoles["PostTransaction"])
				}
				if cell.RawHoles["StreamTransactions"] == "" {
					t.Error("the stream, whose replies are never the same, is no hole")
				}
			}
		})
	}
	if len(driven) < 4 {
		t.Errorf("only these servers are driven: %v", driven)
	}
}
