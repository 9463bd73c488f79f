package external

import (
	"context"
	"net/http"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"wirelab"
	wiregrpc "wirelab/wire/grpc"
	"wirelab/workload/external/grpccall"
	"wirelab/workload/external/grpcschema"
	"wirelab/workload/external/request"
)

// method finds the method of a call in the schema of its wire.
func (w *preparing) method(ctx context.Context, field string, wire Wire, name string) (*grpcschema.Method, error) {
	schema := w.schemas[wire.Name]
	if schema == nil {
		var err error
		text := w.Wires[wire.Name]
		if text.Headers, err = w.metadata(wire, text.Headers); err != nil {
			return nil, err
		}
		if schema, err = w.Schema(ctx, wire, text); err != nil {
			return nil, wirelab.Public(err).Behind("wires." + wire.Name + ": ")
		}
		w.schemas[wire.Name] = schema
	}
	method, err := schema.Find(name)
	if err != nil {
		return nil, wirelab.Public(err).Behind(field + ".call: ")
	}
	return method, nil
}

// metadata returns the headers of a wire with ${NAME} replaced.
func (w *preparing) metadata(wire Wire, headers map[string]string) (map[string]string, error) {
	all := map[string]string{}
	for name, value := range headers {
		value, err := w.env.expand("wires."+wire.Name+".headers."+name, value)
		if err != nil {
			return nil, err
		}
		all[name] = value
	}
	return all, nil
}

// kindOf returns which sides of a call are streams.
func kindOf(calls Calls) (wirelab.Kind, error) {
	if calls.Method == nil {
		return wirelab.UnaryCall, nil
	}
	method, err := grpcschema.ParseMethod(calls.Method)
	if err != nil {
		return "", err
	}
	return method.Kind(), nil
}

// grpcPort calls gRPC with a library.
type grpcPort struct {
	grpccall.Stub
	close func() error
}

// DialGRPC opens a gRPC connection over the wire, which has its trust settings; see [Wire.Trust].
func (w Wire) DialGRPC(to wirelab.Dialing) (*grpc.ClientConn, error) {
	options := []grpc.DialOption{grpc.WithAuthority(w.Authority)}
	if w.Secure {
		options = append(options, grpc.WithTransportCredentials(nameless{credentials.NewTLS(to.TLS())}))
	}
	return wiregrpc.Dial(to, w.Secure, options...)
}

// nameless are credentials that hide the server name they check: grpc-go would send it as the host of requests,
// which differs if the host includes a port.
type nameless struct {
	credentials.TransportCredentials
}

// Info implements [credentials.TransportCredentials].
func (n nameless) Info() credentials.ProtocolInfo {
	info := n.TransportCredentials.Info()
	info.ServerName = "" //nolint:staticcheck // deprecated, but grpc-go still reads it
	return info
}

// Clone implements [credentials.TransportCredentials].
func (n nameless) Clone() credentials.TransportCredentials {
	return nameless{n.TransportCredentials.Clone()}
}

func openGRPC(w Wire, to wirelab.Dialing) (port, error) {
	conn, err := w.DialGRPC(to)
	if err != nil {
		return nil, err
	}
	return &grpcPort{Stub: grpccall.GRPCStub(conn), close: conn.Close}, nil
}

// replayedGRPC returns gRPC over the raw driver.
func replayedGRPC(over http.RoundTripper, w Wire) port {
	return &grpcPort{
		Stub:  grpccall.RawStub(doer{over}, w.scheme()+"://"+w.Authority),
		close: func() error { return nil },
	}
}

// doer sends requests like an HTTP client.
type doer struct{ http.RoundTripper }

func (d doer) Do(r *http.Request) (*http.Response, error) { return d.RoundTrip(r) }

// Close implements [io.Closer].
func (p *grpcPort) Close() error { return p.close() }

// call implements [port].
func (p *grpcPort) call(ctx context.Context, c *prepared, s *scratch) (request.Reply, error) {
	s.grpc.Want = c.fields
	if err := p.Do(ctx, c.grpc, &s.grpc); err != nil {
		return request.Reply{Status: s.grpc.Status}, err
	}
	messages := s.grpc.Messages
	reply := request.Reply{Proto: "HTTP/2.0", Fields: s.grpc.Header} // gRPC status OK is 0
	if !c.streams && len(messages) == 1 {
		reply.Body = messages[0]
		return reply, nil
	}
	reply.Body = grpccall.Frame(messages)
	return reply, nil
}

// grpcRequest prepares a gRPC request.
func (c *prepared) grpcRequest() error {
	method, err := grpcschema.ParseMethod(c.calls.Method)
	if err != nil {
		return err
	}
	c.streams = method.ServerStreaming
	c.grpc, err = grpccall.New(grpccall.Method{
		Path: method.Path, ClientStreaming: method.ClientStreaming, ServerStreaming: method.ServerStreaming,
	}, c.Fields, c.Messages)
	return err
}

// decoding returns the function that converts replies of a method to JSON.
func decoding(calls *Calls) (func([]byte) ([]byte, error), error) {
	method, err := grpcschema.ParseMethod(calls.Method)
	if err != nil {
		return nil, err
	}
	return func(body []byte) ([]byte, error) {
		if !method.ServerStreaming {
			return method.Decode(body)
		}
		messages, err := grpccall.Unframe(body)
		if err != nil {
			return nil, err
		}
		return method.DecodeAll(messages)
	}, nil
}
