package bind_test

import (
	"context"
	"testing"

	"wirelab"
	"wirelab/wire/conformance"
	"wirelab/workload/ledger/bind"
)

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
			for what, serve := range map[string]func(context.Context, wirelab.Endpoint) error{
				"served": cell.Serve, "null": cell.Null,
			} {
				address := conformance.Listening(t, serve)
				for _, call := range []struct {
					operation, requests string
					calls               int
				}{
					{"GetBalance", "", 300},
					{"GetBalance", "known", 300},
					{"GetBalances", "", 300},
					{"GetTransactions", "", 300},
				} {
					if err := conformance.Drive(t, cell, address, call.operation, call.requests,
						call.calls); err != nil {
						t.Errorf("%s %s, %s: %.300v", call.operation, call.requests, what, err)
					}
				}
				err := conformance.Drive(t, cell, address, "PostTransaction", "", 1)
				if err == nil || wirelab.CodeOf(err) != wirelab.Unimplemented ||
					cell.RawHoles["PostTransaction"] == "" {
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
