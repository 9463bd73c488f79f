package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"

	"google.golang.org/protobuf/proto"

	"wirelab"
	"wirelab/cmd/internal/cli"
	"wirelab/workload/external"
	"wirelab/workload/external/grpcschema"
	"wirelab/workload/routeguide/gen"
)

// guideJSON is the call over HTTP, whatever its version.
const guideJSON = `{path: /v1/route.getFeature, body: {latitude: 409146138, longitude: -746188906}}`

// describedGuide is that description, prepared for drivers. What gRPC serves is asked of a server of ours.
func (a *app) describedGuide(ctx context.Context) (json.RawMessage, error) {
	point, err := proto.Marshal(&gen.Point{Latitude: 409146138, Longitude: -746188906})
	if err != nil {
		return nil, err
	}
	call := append([]byte{1, 1, 0}, point...) // a call, of the first operation, without a deadline
	d, err := external.Parse("", fmt.Appendf(nil, helpText("guide"), guideJSON, base64.StdEncoding.EncodeToString(call)))
	if err != nil {
		return nil, err
	}
	p, _, err := external.Prepare(ctx, d, external.Sources{
		Getenv: func(string) string { return "" },
		Read:   func(context.Context, string) ([]byte, error) { return point, nil },
		Schema: func(ctx context.Context, wire external.Wire, text external.WireText) (*grpcschema.Schema, error) {
			return a.ownSchema(ctx, wire, text)
		},
	})
	if err != nil {
		return nil, err
	}
	return json.Marshal(p)
}

// ownSchema starts routeguide over gRPC, and asks what it serves.
func (a *app) ownSchema(ctx context.Context, wire external.Wire, text external.WireText) (schema *grpcschema.Schema, err error) {
	cell, err := a.Cell("routeguide", "grpc", "", "")
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	serving, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- cell.Serve(serving, wirelab.Endpoint{Listener: listener}) }()
	defer func() {
		stop()
		err = cli.Both(err, <-ended)
	}()
	return a.Services.Reflected(ctx, listener.Addr().String(), wire, text)
}
