package client_test

import (
	"net"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	grpcstatus "google.golang.org/grpc/status"

	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/hermes/client"
	"wirelab/wire/status"
)

// A token goes with every call and stream; a node that does not take it is not asked again.
func TestToken(t *testing.T) {
	t.Parallel()
	address := answering(t, func(call grpc.ServerStream) error {
		shown := metadata.ValueFromIncomingContext(call.Context(), "authorization")
		if len(shown) != 1 || shown[0] != "Bearer secret" {
			return grpcstatus.Error(codes.Unavailable, "no token")
		}
		return grpcstatus.Error(codes.Unauthenticated, "the token is not known")
	})
	c := connect(t, client.Options{Addresses: []string{address}, Token: "secret"})
	ctx := patient(t)
	_, publish := c.Publish(ctx, "t", hermes.Consistent, &hermes.Message{})
	_, subscribe := c.Subscribe(ctx, broker.Start{Topic: "t"})
	_, ask := c.Status(ctx)
	for _, err := range []error{publish, subscribe, ask} {
		if err == nil || status.CodeOf(err) != status.Unauthenticated {
			t.Errorf("%v", err)
		}
	}
}

// answering is the address of a gRPC server that answers every call with an error.
func answering(t *testing.T, answer func(grpc.ServerStream) error) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, call grpc.ServerStream) error {
		return answer(call)
	}))
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := server.Serve(listener); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(serving.Wait)
	t.Cleanup(server.Stop)
	return listener.Addr().String()
}
