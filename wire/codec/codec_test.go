package codec_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	grpcstatus "google.golang.org/grpc/status"

	"wirelab/wire/codec"
	wireconnect "wirelab/wire/connect"
	"wirelab/wire/endpoint"
	wiregrpc "wirelab/wire/grpc"
	"wirelab/wire/status"
)

// word and size are a service's messages: their bytes are "=" and what follows.
type (
	word string
	size int
)

// wordForm refuses some words at each of its ends.
func wordForm() codec.Form[word] {
	return codec.Form[word]{
		Append: func(dst []byte, v *word) ([]byte, error) {
			switch *v {
			case "unwritable":
				return dst, status.Errorf(status.InvalidArgument, "that word cannot be written")
			case "fatal":
				panic("a form that breaks writing")
			}
			return append(append(dst, '='), *v...), nil
		},
		Decode: func(message []byte) (word, error) {
			v, ok := strings.CutPrefix(string(message), "=")
			switch {
			case !ok:
				return "", status.Errorf(status.InvalidArgument, "a word begins otherwise")
			case v == "unreadable":
				return "", status.Errorf(status.ResourceExhausted, "too much of a word")
			case v == "foreign":
				return "", errors.New("with a secret")
			case v == "poison":
				panic("a form that breaks reading")
			}
			return word(v), nil
		},
	}
}

func sizeForm() codec.Form[size] {
	return codec.Form[size]{
		Append: func(dst []byte, v *size) ([]byte, error) {
			switch *v {
			case 3:
				return dst, errors.New("with a secret")
			case 4:
				return append(dst, "nonsense"...), nil
			case 5:
				panic("a form that breaks writing")
			case 6:
				return dst, nil // an empty message
			}
			return append(append(dst, '='), strings.Repeat("x", int(*v))...), nil
		},
		Decode: func(message []byte) (size, error) {
			v, ok := strings.CutPrefix(string(message), "=")
			if !ok {
				return 0, status.Errorf(status.InvalidArgument, "a size begins otherwise")
			}
			return size(len(v)), nil
		},
	}
}

// measure is the service.
type measure interface {
	Measure(ctx context.Context, w word) (size, error)
}

type ruler struct{}

func (ruler) Measure(_ context.Context, w word) (size, error) {
	switch w {
	case "absent":
		return 0, status.Errorf(status.NotFound, "no such word")
	case "broken":
		panic("a service that breaks")
	}
	return size(len(w)), nil
}

const (
	service   = "test.Measure"
	procedure = "/test.Measure/Measure"
	subtype   = "words"
)

// serve serves by a library until the test ends.
func serve(t *testing.T, library string) string {
	t.Helper()
	return served(t, func(ctx context.Context, at endpoint.Endpoint) error {
		if library == "grpc-go" {
			return wiregrpc.Serve(ctx, at, false, subtype, func(to grpc.ServiceRegistrar) {
				to.RegisterService(wiregrpc.Describe(service, subtype, wiregrpc.Unary("Measure", wordForm(), sizeForm(),
					measure.Measure)), ruler{})
			})
		}
		mux := http.NewServeMux()
		mux.Handle(procedure, wireconnect.HandleUnary(procedure, subtype, wordForm(), sizeForm(), ruler{}.Measure))
		for path, handler := range wiregrpc.Health([]string{service}, wireconnect.HandlerOptions()...) {
			mux.Handle(path, handler)
		}
		return wireconnect.Serve(ctx, at, wireconnect.H2C, mux)
	})
}

// served is the address of what serve serves on loopback until the test ends.
func served(t *testing.T, serve func(context.Context, endpoint.Endpoint) error) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, endpoint.Endpoint{Listener: listener, Drain: time.Second}) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return listener.Addr().String()
}

// dial returns a call by a library.
func dial(t *testing.T, library, address string) func(context.Context, word) (size, error) {
	t.Helper()
	to := endpoint.Dialing{Address: address}
	if library == "grpc-go" {
		conn, err := wiregrpc.Dial(to, false)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { closeQuietly(conn) })
		return wiregrpc.CallUnary(conn, service, "Measure", subtype, wordForm(), sizeForm())
	}
	client := wireconnect.Dial(to, wireconnect.H2C)
	t.Cleanup(func() { closeQuietly(client) })
	return wireconnect.CallUnary(client, client.BaseURL(), procedure, subtype, wordForm(), sizeForm(),
		connect.WithGRPC())
}

func closeQuietly(c io.Closer) { _ = c.Close() }

// Every client against every server: values cross, errors are the same, and
// nothing that a form or a service does ends the server.
func TestForms(t *testing.T) {
	t.Parallel()
	libraries := []string{"grpc-go", "connect-go"}
	for _, server := range libraries {
		address := serve(t, server)
		for _, client := range libraries {
			t.Run(client+"→"+server, func(t *testing.T) {
				t.Parallel()
				call := dial(t, client, address)
				for _, c := range []struct {
					ask  word
					want size
					code status.Code
					says string // "": success
				}{
					{ask: "sevens!", want: 7},
					{ask: "", want: 0},
					{ask: word(strings.Repeat("x", 3<<20)), want: 3 << 20},
					{ask: "absent", code: status.NotFound, says: "no such word"},
					{ask: "broken", code: status.Internal, says: "internal error"},
					{ask: "unwritable", code: status.InvalidArgument, says: "that word cannot be written"},
					{ask: "fatal", code: status.Internal, says: "internal error"},
					{ask: "unreadable", code: status.ResourceExhausted, says: "too much of a word"},
					{ask: "foreign", code: status.Internal, says: "internal error"},
					{ask: "poison", code: status.Internal, says: "internal error"},
					{ask: "abc", code: status.Internal, says: " "},   // the reply cannot be written
					{ask: "abcde", code: status.Internal, says: " "}, // nor without a panic
					{ask: "abcd", code: status.Internal, says: "the reply cannot be read: a size begins otherwise"},
					{ask: "abcdef", code: status.Internal, says: "the reply cannot be read: "}, // it is empty
					{ask: "sevens!", want: 7},
				} {
					got, err := call(t.Context(), c.ask)
					switch {
					case c.says == "" && (err != nil || got != c.want):
						t.Errorf("%.20q: %d, %v; want %d", c.ask, got, err, c.want)
					case c.says != "" &&
						(err == nil || status.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.says)):
						t.Errorf("%q: %v, want %v with %q", c.ask, err, c.code, c.says)
					case err != nil &&
						(strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "breaks")):
						t.Errorf("%q: %v gives away internals", c.ask, err)
					}
				}
			})
		}
	}
}

// Health is in Protocol Buffers, as those who ask it expect; reflection, which
// can describe nothing else, is not there.
func TestStandardBesideForms(t *testing.T) {
	t.Parallel()
	for _, server := range []string{"grpc-go", "connect-go"} {
		t.Run(server, func(t *testing.T) {
			t.Parallel()
			conn, err := wiregrpc.Dial(endpoint.Dialing{Address: serve(t, server)}, false)
			if err != nil {
				t.Fatal(err)
			}
			defer closeQuietly(conn)
			health, err := grpc_health_v1.NewHealthClient(conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{
				Service: service,
			})
			if err != nil || health.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
				t.Errorf("health: %v, %v", health, err)
			}
			call, err := reflectionv1.NewServerReflectionClient(conn).ServerReflectionInfo(t.Context())
			if err == nil {
				_, err = call.Recv()
			}
			if grpcstatus.Code(err) != codes.Unimplemented {
				t.Errorf("reflection: %v", err)
			}
		})
	}
}
