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

// metadata are a wire's headers with values in the place of ${NAME}.
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

// kindOf tells which sides of a call are streams.
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

// grpcPort is gRPC by a library.
type grpcPort struct {
	grpccall.Stub
	close func() error
}

// DialGRPC opens a connection of gRPC over the wire, which knows what it trusts; see [Wire.Trust].
func (w Wire) DialGRPC(to wirelab.Dialing) (*grpc.ClientConn, error) {
	options := []grpc.DialOption{grpc.WithAuthority(w.Authority)}
	if w.Secure {
		options = append(options, grpc.WithTransportCredentials(nameless{credentials.NewTLS(to.TLS())}))
	}
	return wiregrpc.Dial(to, w.Secure, options...)
}

// nameless are credentials that do not tell which name they check: grpc-go takes that for the host that requests name,
// which is another where a port belongs to it.
type nameless struct {
	credentials.TransportCredentials
}

// Info implements [credentials.TransportCredentials].
func (n nameless) Info() credentials.ProtocolInfo {
	info := n.TransportCredentials.Info()
	info.ServerName = "" //nolint:staticcheck // what is deprecated is read all the same
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

// replayedGRPC is gRPC over the raw driver.
func replayedGRPC(over http.RoundTripper, w Wire) port {
	return &grpcPort{
		Stub:  grpccall.RawStub(doer{over}, w.scheme()+"://"+w.Authority),
		close: func() error { return nil },
	}
}

// doer sends requests as a client of HTTP does.
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
	reply := request.Reply{Proto: "HTTP/2.0", Fields: s.grpc.Header} // status OK of gRPC is 0
	if !c.streams && len(messages) == 1 {
		reply.Body = messages[0]
		return reply, nil
	}
	reply.Body = grpccall.Frame(messages)
	return reply, nil
}

// grpcRequest makes a request of gRPC ready.
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

// decoding reads the replies of a method as JSON.
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
