package grpc

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
)

// healthEvery is how often the node is asked whether it is ready.
const healthEvery = time.Second

// registerHealth registers a health that says of all services what ready does, which is asked on a goroutine
// that ends with the API.
func (d *api) registerHealth(s grpc.ServiceRegistrar, services []string, ready func(context.Context) error) {
	h := health.NewServer()
	grpc_health_v1.RegisterHealthServer(s, h)
	set := func() {
		status := grpc_health_v1.HealthCheckResponse_SERVING
		if ready(d.stop) != nil {
			status = grpc_health_v1.HealthCheckResponse_NOT_SERVING
		}
		for _, service := range append(services, "") {
			h.SetServingStatus(service, status)
		}
	}
	for _, service := range append(services, "") {
		h.SetServingStatus(service, grpc_health_v1.HealthCheckResponse_NOT_SERVING) // until it was asked
	}
	d.readers.Go(func() {
		tick := time.NewTicker(healthEvery)
		defer tick.Stop()
		for {
			set()
			select {
			case <-tick.C:
			case <-d.stop.Done():
				h.Shutdown() // watchers are notified before the calls end
				return
			}
		}
	})
}
