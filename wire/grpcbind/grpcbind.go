// Package grpcbind carries any service over gRPC and the Connect protocol: it joins grpc-go and connect-go to a
// binding, with the raw driver and the null responder. It knows no workload: the binding defines the calls.
//
// Protocol and library are separate dimensions. Both libraries serve and call over gRPC, because each has its own
// HTTP/2, and many statements about gRPC are true of one library only.
package grpcbind

import (
	"context"
	"io"
	"net/http"
	"slices"

	"connectrpc.com/connect"
	"google.golang.org/grpc"

	"wirelab"
	wireconnect "wirelab/wire/connect"
	wiregrpc "wirelab/wire/grpc"
	"wirelab/wire/raw"
)

// Service is how S lies on gRPC, in one encoding.
type Service[S any] struct {
	// Names are the services of gRPC that S is, with their packages: health,
	// and reflection in Protocol Buffers, list these.
	Names []string
	// Aliases are more names of these, under which clients of others call them.
	Aliases []wiregrpc.Alias
	// Subtype is that of the content type application/grpc+…; "": Protocol
	// Buffers.
	Subtype string
	// Register has grpc-go serve, and Handle connect-go.
	Register func(grpc.ServiceRegistrar, S)
	Handle   func(*http.ServeMux, S)
	// GRPC calls by grpc-go, and Connect by connect-go: a server at a URL, by
	// gRPC where speak says so and else by the Connect protocol.
	GRPC    func(*grpc.ClientConn) S
	Connect func(client connect.HTTPClient, url string, speak ...connect.ClientOption) S
	// Procedures are the paths of the operations.
	Procedures map[string]string
	// RawHoles are the operations that the raw driver does not carry. [raw.Null]
	// leaves those to the handler, by their paths and those of Fresh: a reply
	// that differs from call to call cannot be made beforehand at either end.
	RawHoles map[string]string
	Fresh    []string
}

// OverGRPC returns the binding of the service over gRPC, by both libraries.
func (s Service[S]) OverGRPC(protocol wirelab.Protocol) wirelab.Binding[S] {
	b := s.binding(protocol, func(mux *http.ServeMux) {
		options := wireconnect.HandlerOptions()
		beside := wiregrpc.Health(s.Names, options...)
		if s.Subtype == "" {
			beside = wiregrpc.Standard(s.Names, s.Aliases, options...)
		}
		for path, handler := range beside {
			mux.Handle(path, handler)
		}
	}, connect.WithGRPC())
	b.Servers = append([]wirelab.Server[S]{{
		Library: "grpc-go",
		Serve: func(ctx context.Context, at wirelab.Endpoint, service S) error {
			return wiregrpc.Serve(ctx, at, protocol.Secure, s.Subtype, func(to grpc.ServiceRegistrar) {
				s.Register(registrar{to, s.Aliases}, service)
			})
		},
	}}, b.Servers...)
	b.Clients = append([]wirelab.Dialer[S]{{
		Library: "grpc-go",
		Dial: func(_ context.Context, to wirelab.Dialing) (none S, _ io.Closer, _ error) {
			conn, err := wiregrpc.Dial(to, protocol.Secure)
			if err != nil {
				return none, nil, err
			}
			return s.GRPC(conn), conn, nil
		},
	}}, b.Clients...)
	return b
}

// OverConnect returns the binding of the service over the Connect protocol.
func (s Service[S]) OverConnect(protocol wirelab.Protocol) wirelab.Binding[S] {
	return s.binding(protocol, func(*http.ServeMux) {})
}

// binding returns the service by connect-go; beside adds handlers to the same server.
func (s Service[S]) binding(
	protocol wirelab.Protocol, beside func(*http.ServeMux), speak ...connect.ClientOption,
) wirelab.Binding[S] {
	over, wire := wireconnect.HTTP2(protocol.Secure), raw.Over{Version: raw.HTTP2, Secure: protocol.Secure}
	if protocol.Transport == string(wireconnect.HTTP1) {
		over, wire.Version = wireconnect.HTTP1, raw.HTTP1
	}
	return wirelab.Binding[S]{
		Protocol: protocol,
		Style:    wirelab.Idiomatic,
		Servers: []wirelab.Server[S]{{
			Library: "connect-go",
			Serve: func(ctx context.Context, at wirelab.Endpoint, service S) error {
				mux := s.handler(service)
				beside(mux)
				return wireconnect.Serve(ctx, at, over, mux)
			},
		}},
		Clients: []wirelab.Dialer[S]{{
			Library: "connect-go",
			Dial: func(_ context.Context, to wirelab.Dialing) (S, io.Closer, error) {
				client := wireconnect.Dial(to, over)
				return s.Connect(client, client.BaseURL(), speak...), client, nil
			},
		}},
		Raw: raw.Driver(wire, s.RawHoles, func(t *raw.Transport, scheme, address string) S {
			return s.Connect(t, scheme+"://"+address, speak...)
		}),
		Null: raw.Null(wire, func(service S) http.Handler { return s.handler(service) }, s.fresh()...),
	}
}

func (s Service[S]) handler(service S) *http.ServeMux {
	mux := http.NewServeMux()
	s.Handle(mux, service)
	for _, a := range s.Aliases {
		mux.Handle("/"+a.Name+"/", a.Handler(mux))
	}
	return mux
}

// fresh are the paths of what the raw driver does not carry and those of Fresh,
// those of aliases among them.
func (s Service[S]) fresh() []string {
	own := slices.Clone(s.Fresh)
	for operation, path := range s.Procedures {
		if _, hole := s.RawHoles[operation]; hole {
			own = append(own, path)
		}
	}
	all := slices.Clone(own)
	for _, path := range own {
		for _, a := range s.Aliases {
			all = append(all, a.Paths(path)...)
		}
	}
	return all
}

// registrar registers services with their aliases.
type registrar struct {
	grpc.ServiceRegistrar
	aliases []wiregrpc.Alias
}

// RegisterService implements [grpc.ServiceRegistrar].
func (r registrar) RegisterService(service *grpc.ServiceDesc, by any) {
	r.ServiceRegistrar.RegisterService(service, by)
	for _, a := range r.aliases {
		if a.Of == service.ServiceName {
			r.ServiceRegistrar.RegisterService(a.Describe(service), by)
		}
	}
}
