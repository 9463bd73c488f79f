package client_test

import (
	"testing"

	api "wirelab/hermes/api/grpc"
	"wirelab/hermes/broker/brokertest"
	"wirelab/hermes/client"
)

// connect is a client that is closed when the test ends.
func connect(t testing.TB, o client.Options) *client.Client {
	t.Helper()
	c, err := client.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// A broker behind its gRPC API, as a client sees it, keeps the broker's own contract.
func TestConformance(t *testing.T) {
	t.Parallel()
	m := brokertest.Memory()
	t.Cleanup(m.Close)
	brokertest.Run(t, newRemote(t, serve(t, m, api.Options{}), m), m)
}
