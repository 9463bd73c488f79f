package external_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"testing"

	"go.uber.org/goleak"

	"wirelab"
	"wirelab/internal/leaktest"
	routeguide "wirelab/workload/routeguide/bind"
)

// serveVariable names the protocol whose null responder the test binary is, until its input ends: for benchmarks.
const serveVariable = "WIRELAB_EXTERNAL_SERVE"

func TestMain(m *testing.M) {
	if protocol := os.Getenv(serveVariable); protocol != "" {
		os.Exit(respond(protocol))
	}
	goleak.VerifyTestMain(leaktest.Patient(m))
}

func respond(protocol string) int {
	cell, _ := cellOf(routeguide.Workload().Erase(), protocol)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 1
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	if _, err := fmt.Fprintln(os.Stdout, listener.Addr()); err != nil {
		return 1
	}
	if err := cell.Null(ctx, wirelab.Endpoint{Listener: listener}); err != nil {
		return 1
	}
	return 0
}
