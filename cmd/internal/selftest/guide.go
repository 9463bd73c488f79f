package selftest

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"

	"google.golang.org/protobuf/proto"

	"wirelab"
	"wirelab/internal/fault"
	"wirelab/lab/prepare"
	"wirelab/workload/external"
	"wirelab/workload/external/grpcschema"
	"wirelab/workload/routeguide/gen"
)

// guideJSON is the call over HTTP, for every version.
const guideJSON = `{path: /v1/route.getFeature, body: {latitude: 409146138, longitude: -746188906}}`

// describedGuide returns this description, prepared for drivers. For gRPC it asks one of our servers for its schema.
func describedGuide(ctx context.Context, l *prepare.Lab) (json.RawMessage, error) {
	point, err := proto.Marshal(&gen.Point{Latitude: 409146138, Longitude: -746188906})
	if err != nil {
		return nil, err
	}
	call := append([]byte{1, 1, 0}, point...) // a call of the first operation, without a deadline
	d, err := external.Parse("", fmt.Appendf(nil, guideText, guideJSON, base64.StdEncoding.EncodeToString(call)))
	if err != nil {
		return nil, err
	}
	p, _, err := external.Prepare(ctx, d, external.Sources{
		Getenv: func(string) string { return "" },
		Read:   func(context.Context, string) ([]byte, error) { return point, nil },
		Schema: func(ctx context.Context, wire external.Wire, text external.WireText) (*grpcschema.Schema, error) {
			return ownSchema(ctx, l, wire, text)
		},
	})
	if err != nil {
		return nil, err
	}
	return json.Marshal(p)
}

// ownSchema starts routeguide over gRPC, and asks it for its schema.
func ownSchema(ctx context.Context, l *prepare.Lab, wire external.Wire,
	text external.WireText,
) (schema *grpcschema.Schema, err error) {
	cell, err := l.Cell("routeguide", "grpc", "", "")
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
		err = fault.Both(err, <-ended)
	}()
	return l.Services.Reflected(ctx, listener.Addr().String(), wire, text)
}

// guideText describes routeguide as a user would. Its wires have the names of ours, so that our servers answer. For
// WebSocket it has the message that our client sends.
const guideText = `
service: routeguide
wires:
  http1-json: {target: "http://localhost:1"}
  h2c-json: {target: "http://localhost:1", version: http2}
  http2-json: {target: "https://localhost:1", version: http2, tls: {insecure: true}}
  http3-proto: {target: "https://localhost:1", version: http3, tls: {insecure: true}}
  grpc: {target: "grpc://localhost:1"}
  graphql: {target: "http://localhost:1/graphql", kind: graphql}
  websocket: {target: "ws://localhost:1"}
  sse: {target: "sse://localhost:1"}
operations:
  GetFeature:
    calls:
      http1-json: %[1]s
      h2c-json: %[1]s
      http2-json: %[1]s
      http3-proto: {method: POST, path: /v1/route.getFeature, headers: {Content-Type: application/protobuf}, file: point}
      grpc: {call: routeguide.RouteGuide/GetFeature, message: {latitude: 409146138, longitude: -746188906}}
      graphql: {document: "{ getFeature(at: {latitude: 409146138, longitude: -746188906}) { name } }"}
      websocket: {headers: {Sec-WebSocket-Protocol: exchange.v1.wirelab}, send: [{base64: "%[2]s"}]}
  ListFeatures:
    calls:
      sse: {path: "/v1/route.listFeatures/events?lo.latitude=400000000&lo.longitude=-750000000&hi.latitude=420000000&hi.longitude=-730000000"}
`
