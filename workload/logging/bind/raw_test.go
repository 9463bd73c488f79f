package bind_test

import (
	"context"
	"testing"

	"wirelab"
	"wirelab/wire/conformance"
	"wirelab/workload/logging/bind"
)

// The raw driver is answered rightly by every server that it knows, and every
// null responder answers as the server does, DELETE too. That it does not carry
// the writes it says.
func TestRaw(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	driven := map[string]bool{}
	for _, cell := range bind.Workload().Erase().Cells {
		if cell.DialRaw == nil || cell.Protocol.Secure {
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
				if serve == nil {
					continue
				}
				address := conformance.Listening(t, serve)
				for _, operation := range []string{"GetEntry", "ListEntries", "DeleteEntries"} {
					if err := conformance.Drive(t, cell, address, operation, "", 300); err != nil {
						t.Errorf("%s, %s: %.300v", operation, what, err)
					}
				}
				err := conformance.Drive(t, cell, address, "WriteLog", "", 1)
				if err == nil || wirelab.CodeOf(err) != wirelab.Unimplemented || cell.RawHoles["WriteLog"] == "" {
					t.Errorf("WriteLog: %v, hole %q", err, cell.RawHoles["WriteLog"])
				}
			}
		})
	}
	if len(driven) < 5 {
		t.Errorf("only these servers are driven: %v", driven)
	}
}

// Writes are answered by a null responder each for itself, by clients of every
// kind: their replies depend on more than the request.
func TestNullWrites(t *testing.T) {
	t.Parallel()
	driven := 0
	for _, cell := range bind.Workload().Erase().Cells {
		if cell.Null == nil || cell.Protocol.Secure || !cell.Usual {
			continue
		}
		driven++
		t.Run(cell.Protocol.Name, func(t *testing.T) {
			t.Parallel()
			address := conformance.Listening(t, cell.Null)
			client, err := cell.Dial(t.Context(), wirelab.Dialing{Address: address})
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			for _, requests := range []string{"", "published", "again"} {
				write, err := client.Caller("WriteLog", requests, 1)
				if err != nil {
					t.Fatal(err)
				}
				for range 100 {
					if err := write(t.Context()); err != nil {
						t.Fatalf("%s: %v", requests, err)
					}
				}
			}
		})
	}
	if driven < 4 {
		t.Errorf("only %d are driven", driven)
	}
}
