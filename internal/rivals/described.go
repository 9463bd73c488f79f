package main

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"strings"

	"wirelab"
	"wirelab/workload/external"
	"wirelab/workload/external/grpcschema"
	"wirelab/workload/routeguide"
	"wirelab/workload/routeguide/bind"
)

// requests is how many different requests are described: as many as our own series has.
const requests = 256

// described is the server at address as a service that is not ours, with the requests that our own binding draws.
// proto is the file with its schema.
func described(ctx context.Context, s scenario, address, proto string) (json.RawMessage, error) {
	wire := external.WireText{Target: "http://" + address}
	call := external.CallText{
		Method: "POST", Path: httpPath, Headers: map[string]string{"Content-Type": "application/json"},
		Body: map[string]any{"latitude": "{{.latitude}}", "longitude": "{{.longitude}}"},
	}
	if s.protocol == "grpc" {
		wire.Target = "grpc://" + address
		call = external.CallText{Call: strings.TrimPrefix(grpcPath, "/"), Message: call.Body}
	}
	rows, err := drawn()
	if err != nil {
		return nil, err
	}
	d := external.Description{
		Service: "routeguide", Wires: map[string]external.WireText{s.protocol: wire},
		Operations: map[string]external.OperationText{"GetFeature": {Rows: "rows.ndjson", Calls: map[string]external.CallText{s.protocol: call}}},
	}
	p, _, err := external.Prepare(ctx, d, external.Sources{
		Getenv: func(string) string { return "" },
		Read:   func(context.Context, string) ([]byte, error) { return rows, nil },
		Schema: func(ctx context.Context, _ external.Wire, _ external.WireText) (*grpcschema.Schema, error) {
			return grpcschema.Compile(ctx, []string{proto}, nil) // the null responder has no reflection
		},
	})
	if err != nil {
		return nil, err
	}
	return json.Marshal(p)
}

// drawn are requests as our own series has them, as rows.
func drawn() ([]byte, error) {
	var text strings.Builder
	rows := json.NewEncoder(&text)
	random := rand.New(rand.NewPCG(1, 1))
	for _, o := range bind.Workload().Operations {
		for range requests {
			if o.Name != "GetFeature" {
				break
			}
			exchange, err := o.Draw("", random)
			if err != nil {
				return nil, err
			}
			point, ok := exchange.Value().(routeguide.Point)
			if !ok {
				return nil, wirelab.Errorf(wirelab.Internal, "GetFeature asks for a %T", exchange.Value())
			}
			if err := rows.Encode(map[string]int32{"latitude": point.Latitude, "longitude": point.Longitude}); err != nil {
				return nil, err
			}
		}
	}
	return []byte(text.String()), nil
}
