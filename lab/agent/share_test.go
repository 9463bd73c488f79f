package agent_test

import (
	"context"
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"wirelab"
	"wirelab/lab/control"
	"wirelab/lab/load"
	"wirelab/lab/plan"
)

// counter is a closer that counts.
type counter struct{ closed *int }

func (c counter) Close() error { *c.closed++; return nil }

// counted is a cell that counts how often it is dialled and closed.
func counted(dialled, closed *int) wirelab.Cell {
	return wirelab.Workload[silent]{
		Name: "silence", New: func() silent { return quiet{} },
		Operations: []wirelab.Operation[silent]{
			wirelab.Unary("Hush", func(r *rand.Rand) question { return question{r.IntN(9)} }, silent.Hush),
		},
		Bindings: []wirelab.Binding[silent]{{
			Protocol: wirelab.Protocol{Name: "none", Network: "tcp", Multiplexed: true},
			Servers: []wirelab.Server[silent]{{Serve: func(ctx context.Context, at wirelab.Endpoint, _ silent) error {
				<-ctx.Done()
				return at.Close()
			}}},
			Clients: []wirelab.Dialer[silent]{{Dial: func(context.Context, wirelab.Dialing) (silent, io.Closer, error) {
				*dialled++
				return quiet{}, counter{closed}, nil
			}}},
		}},
	}.Erase().Cells[0]
}

// TestRatesShareConnections: loads that differ only in their rate are driven over the same connections, each at its own
// rate. Shared connections are closed once. A null responder has other connections.
func TestRatesShareConnections(t *testing.T) {
	t.Parallel()
	var dialled, closed int
	at := func(inFlight int, rate float64) control.Load {
		l := control.Load{InFlight: inFlight, Connections: 1}
		if rate > 0 {
			l.Schedule = load.ConstantRate(rate)
		}
		return l
	}
	slice := func(load int) control.Order {
		return control.Order{Slice: &control.Slice{Load: load, For: plan.Duration(100 * time.Millisecond)}}
	}
	replies := drive(t, counted(&dialled, &closed),
		// the closed loop shares too; the last load has other callers
		dial(at(4, 1000), at(4, 3000), at(4, 0), at(2, 1000)),
		slice(0), slice(1), slice(3),
		dial(at(4, 500)), slice(4), control.Order{Leave: &struct{}{}}, slice(1),
	)
	for i, r := range replies {
		if r.Error != "" {
			t.Fatalf("reply %d: %s", i, r.Error)
		}
	}
	if dialled != 3 || closed != 3 {
		t.Errorf("dialled %d times, closed %d; want 3 and 3", dialled, closed)
	}
	for i, want := range map[int]uint64{2: 100, 3: 300, 4: 100, 6: 50, 8: 300} {
		if n := replies[i].Slice.Recording.Planned; n != want {
			t.Errorf("reply %d: %d calls were due, want %d", i, n, want)
		}
	}
}

// TestSliceAtAnotherRate: an order may bring a rate that was not dialled, and may ask to keep the parts of the window
// apart.
func TestSliceAtAnotherRate(t *testing.T) {
	t.Parallel()
	replies := drive(t, cell(false, nil),
		dial(control.Load{InFlight: 4, Connections: 1}),
		control.Order{Slice: &control.Slice{
			Load: 0, For: plan.Duration(100 * time.Millisecond), Schedule: load.PoissonRate(2000, 1), Seed: 9, Parts: 4,
		}},
		control.Order{Slice: &control.Slice{Load: 0, For: plan.Duration(20 * time.Millisecond)}},
	)
	for i, r := range replies {
		if r.Error != "" {
			t.Fatalf("reply %d: %s", i, r.Error)
		}
	}
	open, closed := replies[2].Slice.Recording, replies[3].Slice.Recording
	if open.Law != load.Poisson || open.Planned < 100 || open.Planned > 300 || len(open.Parts) != 4 {
		t.Errorf("the open slice: law %q, %d calls due, %d parts", open.Law, open.Planned, len(open.Parts))
	}
	parts := uint64(0)
	for _, h := range open.Parts {
		parts += h.Count()
	}
	if parts != open.OK || open.OK == 0 {
		t.Errorf("parts hold %d times, %d calls were right", parts, open.OK)
	}
	if closed.Law != "" || closed.Planned != 0 || len(closed.Parts) != 0 {
		t.Errorf("the load's own slice: law %q, %d calls due", closed.Law, closed.Planned)
	}
}

// TestWarmUpAtFewCalls: the windows of a warm-up are long enough for calls to be due in each.
func TestWarmUpAtFewCalls(t *testing.T) {
	t.Parallel()
	replies := drive(t, cell(false, nil),
		dial(control.Load{InFlight: 2, Connections: 1, Schedule: load.PoissonRate(100, 1)}),
		control.Order{Warm: &control.Warm{Load: 0, Least: plan.Duration(2 * time.Millisecond)}},
	)
	if r := replies[2]; r.Error != "" || r.Warm == nil {
		t.Errorf("%+v", r)
	}
}
