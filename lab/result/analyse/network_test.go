package analyse_test

import (
	"slices"
	"strings"
	"testing"

	"wirelab/lab/plan"
	"wirelab/lab/result"
)

// relayed adds a relay to every trial of a healthy result. It uses a share of the driver's core.
func relayed(share float64, cpus []int) *result.Result {
	r := healthy(plan.Load{InFlight: 2})
	r.Network = &result.Network{Spec: "rtt=1ms", Via: "relay", Notes: []string{}}
	r.Placement = result.Placement{ServerCPUs: []int{1}, DriverCPUs: []int{0}, RelayCPUs: cpus}
	each(r, func(_ int, t *result.Trial) {
		t.Relay = &result.Relayed{CPU: plan.Duration(share * float64(t.Driver.Wall)), Forwarded: 2 * t.OK}
	})
	return r
}

// A relay on the driver's core counts for whether the generator is too busy. A relay on a separate core does not.
func TestRelayBesideTheGenerator(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		r     *result.Result
		fails bool
	}{
		"beside it, and little":   {relayed(0.05, []int{0}), false},
		"beside it, and too much": {relayed(0.6, []int{0}), true},
		"on a core of its own":    {relayed(0.6, []int{2}), false},
	} {
		_, by, failed, _ := checks(c.r, 1)
		if slices.Contains(failed, result.GeneratorCPU) != c.fails {
			t.Errorf("%s: failed %v: %s", name, failed, by[result.GeneratorCPU].Detail)
		}
		if c.fails && !strings.Contains(by[result.GeneratorCPU].Detail, "together with the network's relay") {
			t.Errorf("%s: %q does not name the relay", name, by[result.GeneratorCPU].Detail)
		}
	}
}

// Near the floor, the network is named as part of the time.
func TestFloorNamesTheNetwork(t *testing.T) {
	t.Parallel()
	r := relayed(0.05, []int{0})
	each(r, func(_ int, t *result.Trial) { t.Floor.Service = t.Service })
	state, by, _, limited := checks(r, 1)
	if !slices.Contains(limited, result.AboveFloor) || !state.Floor.Limited ||
		!strings.Contains(by[result.AboveFloor].Detail, "client, kernel and network") {
		t.Errorf("limited by %v: %s", limited, by[result.AboveFloor].Detail)
	}
}
