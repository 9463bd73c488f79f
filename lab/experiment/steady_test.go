package experiment_test

import (
	"context"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"wirelab/lab/agent"
	"wirelab/lab/experiment"
	"wirelab/lab/kind/kinds"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/consistency"
)

// priced is a bench whose servers use CPU time as price says, which gets the number of calls that the server answered
// before. It reads no clock.
type priced struct {
	*bench
	price func(calls int64) time.Duration
}

// pricedService doubles numbers, and adds up the price of its calls.
type pricedService struct {
	price       func(calls int64) time.Duration
	calls, cost atomic.Int64
}

func (s *pricedService) Double(_ context.Context, n number) (number, error) {
	s.cost.Add(int64(s.price(s.calls.Add(1) - 1)))
	return 2 * n, nil
}

type pricedChild struct {
	experiment.Child
	service *pricedService
}

func (c pricedChild) CPU() (time.Duration, error) { return time.Duration(c.service.cost.Load()), nil }

func (b *priced) Server(_ context.Context, arm plan.Arm) (experiment.Child, error) {
	service := &pricedService{price: b.price}
	cell := toyOver(arm.Protocol, service)
	at, ready, err := agent.Listen(cell, "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	c := startChild(func(ctx context.Context, in io.Reader, out io.Writer) error {
		return agent.Serve(ctx, cell, nil, at, ready, in, out)
	})
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all = append(b.all, c)
	return pricedChild{c, service}, c.begin()
}

// There is one call in flight, so that a server that compiles while it runs looks no different to a driver.
func onePriced(t *testing.T, rounds int, price func(int64) time.Duration,
	observe func(experiment.Event),
) *result.Result {
	t.Helper()
	p, err := plan.Plan{
		Workload: "toy", Operation: "Double", Arms: []plan.Arm{{Protocol: "lines"}}, Loads: []plan.Load{{InFlight: 1}},
		Rounds: plan.Rounds{Min: rounds, Max: rounds}, Slices: 4, Slice: plan.Duration(30 * time.Millisecond),
		WarmUp: plan.Duration(20 * time.Millisecond), Floor: plan.FloorNone, Pin: plan.PinNone, Primary: plan.ServerCPU,
		Seed: 5,
	}.Complete()
	if err != nil {
		t.Fatal(err)
	}
	b := &priced{newBench(), price}
	c := experiment.Runner{
		Plan: p, Arms: []result.Arm{{Name: "lines", Protocol: "lines"}}, Bench: b, ID: "r-20261127-000000-0052",
		Observe: observe,
	}
	r, err := c.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b.checkAllStopped(t)
	return r
}

// A server whose calls become cheaper is never called steady, whatever times and throughput look like to the driver.
func TestServerThatGetsCheaperIsNotSteady(t *testing.T) {
	t.Parallel()
	r := onePriced(t, 1, func(calls int64) time.Duration { return time.Second / time.Duration(1+calls) }, nil)
	if trial := r.Rounds[0].Trials[0]; trial.Steady {
		t.Errorf("called steady after %v", time.Duration(trial.Warmed))
	}
}

// The slices show a change that the warm-up could not see, since it was over before: the server gets cheaper while it
// is measured.
func TestServerThatGetsCheaperWhileMeasuredIsNotSteady(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		later time.Duration
		want  claim.Verdict
	}{
		"half": {10 * time.Microsecond, claim.Unsteady},
		"same": {20 * time.Microsecond, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var price atomic.Int64
			slices := 0
			r := onePriced(t, 10, func(int64) time.Duration { return time.Duration(price.Load()) },
				func(e experiment.Event) {
					switch e.Phase {
					case experiment.Starting:
						price.Store(int64(20 * time.Microsecond))
						slices = 0
					case experiment.Measuring:
						if slices++; slices == 3 {
							price.Store(int64(c.later))
						}
					}
				})
			arm := analyse.Result(r).Loads[0].Arms[0]
			if got := arm.Spoiled(kinds.MustMetric(plan.ServerCPU)); got != c.want {
				t.Errorf("%q, want %q: %+v", got, c.want, arm.Failed())
			}
			for _, trial := range r.Rounds[0].Trials {
				h := trial.Halves
				if h == nil || h.First.Calls == 0 || h.Second.Calls == 0 ||
					h.First.Calls+h.Second.Calls != trial.Calls() || h.First.CPU+h.Second.CPU != trial.Server.CPU {
					t.Errorf("halves %+v of %d calls that cost %v", h, trial.Calls(), trial.Server.CPU)
				}
			}
			if found := consistency.Flaws(r); len(found) > 0 {
				t.Errorf("inconsistent: %v", found)
			}
		})
	}
}
