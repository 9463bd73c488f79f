package experiment_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"wirelab/lab/experiment"
	"wirelab/lab/probe"
	"wirelab/lab/result"
	"wirelab/lab/result/consistency"
	"wirelab/lab/result/gate"
)

// A round that the hypervisor spoils is run again in its place, with the same order of slices, and its measurements are
// kept separately. If the machine spoils round after round, at most half as many again are run.
func TestRoundsAreMadeAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stolen func(reading int) bool // of the CPU times, from 0; each round reads them twice
		remade []int                  // the places
	}{
		"never":         {func(int) bool { return false }, nil},
		"in one round":  {func(n int) bool { return n == 3 }, []int{1}},
		"in two":        {func(n int) bool { return n == 1 || n == 5 }, []int{0, 1}},
		"in each round": {func(n int) bool { return n%2 == 1 }, []int{0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := runner(t, newBench(), 3, "a", "b")
			reading, steal, began := 0, 0.0, time.Now()
			e.CPUTimes = func() (probe.CPUTimes, error) {
				if c.stolen(reading) {
					steal += 1e6 // far more than a round has
				}
				reading++
				return probe.CPUTimes{
					At: began.Add(time.Duration(reading) * time.Second), CPUs: 2, Steal: steal, CPUPressure: -1,
					IOPressure: -1, Throttled: -1,
				}, nil
			}
			r, err := e.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Rounds) != 3 || len(r.Remade) != len(c.remade) || len(r.Remade) > result.RemadeMost(r.Plan) {
				t.Fatalf("%d rounds, and %d made again; want 3 and %v", len(r.Rounds), len(r.Remade), c.remade)
			}
			orders := func(round *result.Round) (all [][]int) {
				for _, trial := range round.Trials {
					all = append(all, trial.Order)
				}
				return all
			}
			for i, m := range r.Remade {
				if m.Place != c.remade[i] || m.Gate != result.Steal || len(m.Round.Trials) == 0 {
					t.Errorf("round %d was made again for %s, with %d trials; want %d", m.Place, m.Gate,
						len(m.Round.Trials), c.remade[i])
				}
				if was, is := orders(&m.Round), orders(&r.Rounds[m.Place]); !slices.EqualFunc(was, is, slices.Equal) {
					t.Errorf("its slices ran at %v, in its place at %v", was, is)
				}
			}
			for _, flaw := range consistency.Flaws(r) {
				if strings.HasPrefix(flaw.Path, "remade") {
					t.Error(flaw)
				}
			}
			if words := gate.RemadeWords(r); (words == "") != (len(c.remade) == 0) {
				t.Errorf("it says: %q", words)
			}
		})
	}
}

// A round in which an arm failed stays, whatever the machine did: no failure may be lost.
func TestFailuresAreNotMadeAgain(t *testing.T) {
	t.Parallel()
	bench := newBench()
	e := runner(t, bench, 4, "a", "b")
	e.Observe = func(now experiment.Event) {
		if now.Round == 2 && now.Phase == experiment.Measuring && now.Arm == "b" {
			bench.killServer("b")
		}
	}
	reading, steal, began := 0, 0.0, time.Now()
	e.CPUTimes = func() (probe.CPUTimes, error) {
		if reading++; reading == 4 { // the end of the second round
			steal = 1e6
		}
		return probe.CPUTimes{
			At: began.Add(time.Duration(reading) * time.Second), CPUs: 2, Steal: steal, CPUPressure: -1, IOPressure: -1,
			Throttled: -1,
		}, nil
	}
	r, err := e.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Remade) > 0 || len(r.Rounds) != 4 || len(r.Rounds[1].Failures) != 1 {
		t.Errorf("%d rounds were made again; of %d the second has failures %v", len(r.Remade), len(r.Rounds),
			r.Rounds[1].Failures)
	}
}
