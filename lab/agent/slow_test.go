package agent_test

import (
	"context"
	"io"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"wirelab"
	"wirelab/lab/control"
	"wirelab/lab/load"
	"wirelab/lab/plan"
)

// slow is a stub whose calls take that long.
type slow time.Duration

func (s slow) Hush(ctx context.Context, q question) (question, error) {
	timer := time.NewTimer(time.Duration(s))
	defer timer.Stop()
	select {
	case <-timer.C:
		return q, nil
	case <-ctx.Done():
		return q, wirelab.Public(ctx.Err())
	}
}

// slowCell is a cell whose client is such a stub.
func slowCell(s slow) wirelab.Cell {
	return wirelab.Workload[silent]{
		Name: "silence", New: func() silent { return quiet{} },
		Operations: []wirelab.Operation[silent]{wirelab.Unary("Hush",
			func(r *rand.Rand) question { return question{r.IntN(9)} }, silent.Hush)},
		Bindings: []wirelab.Binding[silent]{{
			Protocol: wirelab.Protocol{Name: "none", Network: "tcp", Multiplexed: true},
			Servers: []wirelab.Server[silent]{{Serve: func(context.Context, wirelab.Endpoint, silent) error {
				return nil
			}}},
			Clients: []wirelab.Dialer[silent]{{Dial: func(context.Context, wirelab.Dialing) (silent, io.Closer, error) {
				return s, io.NopCloser(nil), nil
			}}},
		}},
	}.Erase().Cells[0]
}

// dialBy is dial with an address: a goroutine that looks up a name runs outside a test's time bubble.
func dialBy(l control.Load) control.Order {
	order := dial(l)
	order.Dial.Address = "127.0.0.1:1"
	return order
}

// A healthy service that is slow is dialled and warmed up at its own pace, and the driver reports that pace.
func TestSlowServiceIsDriven(t *testing.T) {
	t.Parallel()
	for _, takes := range []time.Duration{150 * time.Millisecond, 2 * time.Second, 8 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			replies := drive(t, slowCell(slow(takes)), dialBy(control.Load{InFlight: 300, Connections: 1}))
			if r := replies[1]; r.Error != "" || r.Dialled == nil || time.Duration(r.Dialled.Pace) != takes {
				t.Errorf("%v a call: %+v", takes, r)
			}
			if took := time.Since(began); took > 15*time.Second { // all 300, one after another: 45 s and more
				t.Errorf("%v a call: dialled after %v", takes, took)
			}
		})
	}
}

// If a service takes longer than the deadline of calls, the error says so.
func TestSlowerThanTheDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		replies := drive(t, slowCell(slow(time.Minute)), dialBy(control.Load{InFlight: 1}))
		const want = "the first call failed: no reply within its deadline of 20s"
		if got := replies[1].Error; len(got) < len(want) || got[:len(want)] != want {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

// At a rate of one call in ten seconds, nearly no window would have a call in it. The warm-up counts calls instead of
// time.
func TestWarmUpAtRareCalls(t *testing.T) {
	t.Parallel()
	for _, rate := range []float64{0.1, 0.5, 1, 2} {
		synctest.Test(t, func(t *testing.T) {
			replies := drive(t, slowCell(slow(time.Millisecond)),
				dialBy(control.Load{InFlight: 4, Connections: 1, Schedule: load.PoissonRate(rate, 1)}),
				control.Order{Warm: &control.Warm{Least: plan.Duration(200 * time.Millisecond)}},
			)
			if r := replies[2]; r.Error != "" || r.Warm == nil || r.Warm.Windows < 20 || r.Warm.Took > 5*time.Second {
				t.Errorf("%v/s: %+v %+v", rate, r, r.Warm)
			}
		})
	}
}
