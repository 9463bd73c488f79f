package grpc_test

import (
	"errors"
	"io"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	reflection "google.golang.org/grpc/reflection/grpc_reflection_v1"

	api "wirelab/hermes/api/grpc"
	"wirelab/hermes/gen/origin"
)

// Health and reflection are there for all services.
func TestStandardServices(t *testing.T) {
	t.Parallel()
	s := serve(t, memory(t), api.Options{})
	ctx := patient(t)
	for _, name := range []string{"", "hermes.v1.Hermes", "hermes.v1.Admin", "broker.BrokerService"} {
		r, err := grpc_health_v1.NewHealthClient(s.conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: name})
		if err != nil || r.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
			t.Errorf("%q: %v, %v", name, r, err)
		}
	}
	call, err := reflection.NewServerReflectionClient(s.conn).ServerReflectionInfo(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, symbol := range []string{"hermes.v1.Hermes", "broker.BrokerService"} {
		if err := call.Send(&reflection.ServerReflectionRequest{
			MessageRequest: &reflection.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: symbol},
		}); err != nil {
			t.Fatal(err)
		}
		if r, err := call.Recv(); err != nil || len(r.GetFileDescriptorResponse().GetFileDescriptorProto()) == 0 {
			t.Errorf("%s: %v, %v", symbol, r, err)
		}
	}
	if err := call.CloseSend(); err != nil {
		t.Error(err)
	}
	if _, err := call.Recv(); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	without := serve(t, memory(t), api.Options{NoOrigin: true})
	_, err = origin.NewBrokerServiceClient(without.conn).Publish(ctx, &origin.PublishRequest{})
	wantCode(t, "the origin's service left away", err, codes.Unimplemented)
}
