package bind_test

import (
	"context"
	"net"
	"testing"
	"time"

	"wirelab"
	"wirelab/workload/directory/bind"
)

// serveUntil serves until the test ends, and returns the address.
func serveUntil(t *testing.T, serve func(context.Context, wirelab.Endpoint) error) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, wirelab.Endpoint{Listener: listener}) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Serve returned %v", err)
		}
	})
	return listener.Addr().String()
}

// drive makes calls by the raw driver, two at once, and returns the first error.
func drive(t *testing.T, cell wirelab.Cell, address, operation string, calls int) error {
	t.Helper()
	const slots = 2
	lines, err := cell.DialRaw(t.Context(), wirelab.Dialing{Address: address, Connections: slots}, slots, operation, "", 1)
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
	for limit := time.Now().Add(30 * time.Second); over < begun; {
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
// null responder answers as the server does: with each data set, for unknown
// persons too. What it does not carry it says.
func TestRaw(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	driven := map[string]bool{}
	for _, cell := range bind.Workload().Erase().Cells {
		if cell.DialRaw == nil || cell.Null == nil || cell.Protocol.Secure {
			continue // over TLS the same driver is tried on the route guide
		}
		name := cell.Protocol.Name + "/" + cell.Server
		if driven[name] {
			continue // the same with another client, which is not in it
		}
		driven[name] = true
		t.Run(name, func(t *testing.T) {
			sets := []string{"4", "10000"}
			if testing.Short() {
				sets = sets[:1]
			}
			for _, data := range sets {
				cell, err := cell.With(data)
				if err != nil {
					t.Fatal(err)
				}
				for what, serve := range map[string]func(context.Context, wirelab.Endpoint) error{"served": cell.Serve, "null": cell.Null} {
					address := serveUntil(t, serve)
					for operation, calls := range map[string]int{"GetPerson": 300, "GetPersonLinks": 300, "ListPersons": 4} {
						if err := drive(t, cell, address, operation, calls); err != nil {
							t.Errorf("%s, %s persons, %s: %.300v", operation, data, what, err)
						}
					}
					for _, operation := range []string{"CreatePerson", "ProgramComposition"} {
						if err := drive(t, cell, address, operation, 1); err == nil || wirelab.CodeOf(err) != wirelab.Unimplemented || cell.RawHoles[operation] == "" {
							t.Errorf("%s: %v, hole %q", operation, err, cell.RawHoles[operation])
						}
					}
				}
			}
		})
	}
	if len(driven) < 4 {
		t.Errorf("only these servers are driven: %v", driven)
	}
}
