package agent_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"testing"
	"time"

	"wirelab"
	"wirelab/lab/control"
	"wirelab/lab/plan"
)

// reaching is a stub that connects for each call.
type reaching struct{ to wirelab.Dialing }

func (r reaching) Hush(ctx context.Context, q question) (question, error) {
	conn, err := r.to.Open(ctx)
	if err != nil {
		return q, wirelab.Public(err)
	}
	return q, conn.Close()
}

// A driver reports which addresses its connections to a target reached, also those opened after it dialled. It reports
// none for a server that was started for it.
func TestDriverTellsWhereItConnected(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		for {
			conn, err := listener.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err == nil {
				_ = conn.Close()
			}
		}
	}()
	defer func() { _ = listener.Close(); <-served }()
	c := wirelab.Workload[silent]{
		Name: "silence", New: func() silent { return quiet{} },
		Operations: []wirelab.Operation[silent]{wirelab.Unary("Hush",
			func(r *rand.Rand) question { return question{r.IntN(9)} }, silent.Hush)},
		Bindings: []wirelab.Binding[silent]{{
			Protocol: wirelab.Protocol{Name: "none", Network: "tcp", Multiplexed: true},
			Servers: []wirelab.Server[silent]{{Serve: func(context.Context, wirelab.Endpoint, silent) error {
				return nil
			}}},
			Clients: []wirelab.Dialer[silent]{{Dial: func(_ context.Context,
				to wirelab.Dialing,
			) (silent, io.Closer, error) {
				return reaching{to}, io.NopCloser(nil), nil
			}}},
		}},
	}.Erase().Cells[0]
	at := listener.Addr().String()
	for _, target := range []bool{true, false} {
		order := dial(control.Load{InFlight: 1, Connections: 1})
		order.Dial.Address, order.Dial.Target = at, target
		replies := drive(t, c, order, control.Order{Slice: &control.Slice{For: plan.Duration(20 * time.Millisecond)}})
		for _, r := range replies[1:] {
			if want := map[bool][]string{true: {at}}[target]; r.Error != "" || !slices.Equal(r.Met, want) {
				t.Errorf("target %v: told %q, want %q; %s", target, r.Met, want, r.Error)
			}
		}
	}
}
