package hosts

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"wirelab/lab/control"
	"wirelab/lab/load"
)

// All parts together are the whole, for any numbers.
func TestPartsAreTheWhole(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	for range 200 {
		n := 1 + r.IntN(20)
		whole := control.Dial{Seed: r.Uint64(), Once: 1 + r.Uint64N(1000), Loads: []control.Load{
			{InFlight: n + r.IntN(1000), Connections: n + r.IntN(100)},
			{InFlight: n + r.IntN(1000), Connections: 1, Schedule: load.PoissonRate(1+1000*r.Float64(), 0)},
		}}
		inFlight, connections := make([]int, 2), 0
		var seeds, onces []uint64
		var rate float64
		for i := range n {
			d, err := divide(whole, i, n)
			if err != nil {
				t.Fatal(err)
			}
			for k, l := range d.Loads {
				inFlight[k] += l.InFlight
			}
			connections += d.Loads[0].Connections
			rate += d.Loads[1].Schedule.Expected(time.Second)
			seeds, onces = append(seeds, d.Seed), append(onces, d.Once)
		}
		for k, l := range whole.Loads {
			if inFlight[k] != l.InFlight {
				t.Errorf("%d drivers have %d in flight together, want %d", n, inFlight[k], l.InFlight)
			}
		}
		if want := whole.Loads[0].Connections; connections != want {
			t.Errorf("%d drivers have %d connections together, want %d", n, connections, want)
		}
		if want := whole.Loads[1].Schedule.Expected(time.Second); rate < want*0.999 || rate > want*1.001 {
			t.Errorf("%d drivers send %v/s together, want %v/s", n, rate, want)
		}
		slices.Sort(seeds)
		slices.Sort(onces)
		if len(slices.Compact(seeds)) != n || len(slices.Compact(onces)) != n {
			t.Errorf("two of %d drivers draw the same requests", n)
		}
	}
}

func TestTooLittleToDivideIsRefused(t *testing.T) {
	t.Parallel()
	for _, l := range []control.Load{{InFlight: 2}, {}, {InFlight: 1, Connections: 9}} {
		if _, err := divide(control.Dial{Loads: []control.Load{l}}, 0, 3); err == nil {
			t.Errorf("%+v is divided among 3", l)
		}
	}
}
