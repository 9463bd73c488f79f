package grpc_test

import (
	"context"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/health/grpc_health_v1"

	api "wirelab/hermes/api/grpc"
	"wirelab/hermes/broker/brokertest"
	"wirelab/wire/status"
)

// Health says of every service what the node says of itself, and tells watchers when that changes. (hb-D33)
func TestHealthOfNode(t *testing.T) {
	t.Parallel()
	var ready atomic.Bool
	s := serve(t, brokertest.Memory(), api.Options{Ready: func(context.Context) error {
		if !ready.Load() {
			return status.Errorf(status.Unavailable, "this node is behind")
		}
		return nil
	}})
	for _, service := range []string{"hermes.v1.Hermes"} {
		ready.Store(false)
		watch, err := grpc_health_v1.NewHealthClient(s.conn).Watch(patient(t), &grpc_health_v1.HealthCheckRequest{
			Service: service,
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []grpc_health_v1.HealthCheckResponse_ServingStatus{
			grpc_health_v1.HealthCheckResponse_NOT_SERVING, grpc_health_v1.HealthCheckResponse_SERVING,
		} {
			for {
				got, err := watch.Recv()
				if err != nil {
					t.Fatalf("%q: %v", service, err)
				}
				if got.GetStatus() == want {
					break
				}
			}
			ready.Store(true)
		}
	}
}
