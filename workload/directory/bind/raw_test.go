package bind_test

import (
	"context"
	"testing"

	"wirelab"
	"wirelab/wire/conformance"
	"wirelab/workload/directory/bind"
)

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
				for what, serve := range map[string]func(context.Context, wirelab.Endpoint) error{
					"served": cell.Serve, "null": cell.Null,
				} {
					address := conformance.Listening(t, serve)
					for operation, calls := range map[string]int{
						"GetPerson": 300, "GetPersonLinks": 300,
						"ListPersons": 4,
					} {
						if err := conformance.Drive(t, cell, address, operation, "", calls); err != nil {
							t.Errorf("%s, %s persons, %s: %.300v", operation, data, what, err)
						}
					}
					for _, operation := range []string{"CreatePerson", "ProgramComposition"} {
						if err := conformance.Drive(t, cell, address, operation, "", 1); err == nil ||
							wirelab.CodeOf(err) != wirelab.Unimplemented || cell.RawHoles[operation] == "" {
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
