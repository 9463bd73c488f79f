package selftest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"wirelab/lab/experiment"
	"wirelab/lab/kind/kinds"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/claim"
)

// equalWire is the wire over which equal servers are compared.
const equalWire = "http1-proto"

// ofEquals and ofUnequals are how many comparisons are made from the rounds of one experiment. roundsOf is the number
// of rounds of each: the fewest that allow a claim. With 1,000 comparisons of equals, 5 % false ones and 8 % can be
// told apart despite chance.
const (
	ofEquals   = 1000
	ofUnequals = 200
	roundsOf   = claim.MinRounds
)

// footing is the CPU time that equal servers use for each request, so that a server that uses more does so in the
// same way: any side effect of spinning applies to both. It is so long that the driver waits for each reply in the
// same way. With 500 ns, some replies came before the driver's thread slept. On one machine the server then spent 1.3
// µs more on waking it, and 5 µs of spinning cost 6.3 µs.
const footing = 20 * time.Microsecond

// doubts is how often an experiment is made whose intervals miss the truth.
const doubts = 3

// equalPlan compares equal servers with each other, and with those that use more CPU time.
func equalPlan(rounds int, more ...time.Duration) plan.Plan {
	p := plan.Plan{
		Rounds: plan.Rounds{Min: rounds, Max: rounds},
		Slice:  plan.Duration(30 * time.Millisecond),
	}
	arm := func(name string, burns time.Duration) {
		p.Arms = append(p.Arms,
			plan.Arm{Name: name, Protocol: equalWire, Inject: fmt.Sprintf("spin %dns", burns.Nanoseconds())})
	}
	arm("a", footing)
	arm("a again", footing)
	for _, spin := range more {
		arm(fmt.Sprintf("%v more", spin), footing+spin)
	}
	return p
}

// rounds reports the progress of an experiment.
func (e Env) rounds(what string) func(experiment.Event) {
	return func(event experiment.Event) {
		if event.Phase == experiment.RoundOver {
			e.Say(fmt.Sprintf("%s: round %d of %d", what, event.Round, event.RoundsMin))
		}
	}
}

// equalArmsTest compares a server with itself, and with one of a known cost. An interval of 95 % misses the truth one
// time in twenty. The comparisons of one experiment share its rounds, so they then miss together. Such an experiment
// is repeated, up to three times in all. Three misses happen by chance one time in 8,000, whereas a wrong analysis,
// or wrong spinning, misses every time.
func equalArmsTest() Test {
	return Test{
		Name: "twins",
		Shows: "two equal servers are seldom called different, and a server that uses some µs more for each " +
			"request is measured to use that",
		Required: fmt.Sprintf("at most %.1f %% of %d comparisons of equals claim a difference, in any metric; "+
			"the interval of the difference in server CPU per request holds the spin in 90 %%, in one of %d "+
			"experiments", 100*falseShare(0.05, ofEquals), ofEquals, doubts),
		Short: 45e9, Long: 300e9,
		run: func(ctx context.Context, e Env) (finding, error) {
			f, missed, err := e.equalArms(ctx)
			for range doubts - 1 {
				if err != nil || !missed {
					break
				}
				var again finding
				again, missed, err = e.equalArms(ctx)
				again.found = "measured again, since the intervals missed (" + f.found + "): " + again.found
				again.kept = append(f.kept, again.kept...)
				f = again
			}
			return f, err
		},
	}
}

// equalArms makes one experiment of the test. missed reports that the only thing wrong is that the intervals miss the
// known cost.
func (e Env) equalArms(ctx context.Context) (f finding, missed bool, err error) {
	spins := choose(e, []time.Duration{5 * time.Microsecond},
		[]time.Duration{time.Microsecond, 2 * time.Microsecond, 5 * time.Microsecond})
	r, err := e.conduct(ctx, equalPlan(choose(e, 12, 60), spins...), nil, e.rounds("twins"))
	if err != nil {
		return finding{}, false, err
	}
	if f, err = e.falsely(r); err != nil {
		return f, false, err
	}
	missed = f.pass
	for i, spin := range spins {
		p, err := e.power(r, 2+i, spin)
		if err != nil {
			return finding{}, false, err
		}
		with := judged(p.String(), p.figures()...)
		f.found += "; " + with.found
		f.figures = append(f.figures, with.figures...)
		if p.made == 0 {
			f.refused = f.pass || f.refused
			f.pass, missed = false, false
			continue
		}
		f.refused = f.refused && with.pass
		f.pass = f.pass && with.pass
	}
	return f, missed && !f.pass, e.keep(ctx, &f, r)
}

// falsely counts the false claims in an A/A experiment.
func (e Env) falsely(r *result.Result) (finding, error) {
	all, err := Relabel(r, 0, 1, ofEquals, roundsOf, rand.New(rand.NewPCG(e.Seed, 1)))
	if err != nil {
		return finding{}, err
	}
	var figures []result.Figure
	made, suspect := 0, 0
	for _, t := range all {
		figures = append(figures, result.Figure{
			Name: t.Metric + ": called different", Unit: "%", Found: 100 * t.False(),
			High: 100 * falseShare(0.05, t.Made),
			Note: fmt.Sprintf("of %d; p < 0.05 in %d before correction", t.Made, t.Suspect),
		})
		made, suspect = made+t.Made, suspect+t.Suspect
	}
	if made == 0 {
		return finding{
			found:   "no comparison of equals could be judged: " + strings.Join(why(analyse.Result(r).Loads[0]), "; "),
			refused: true,
		}, nil
	}
	_, most := extremes(figures)
	return judged(fmt.Sprintf("of %d rounds %d metrics; equals called different in at most %.1f %%, p < 0.05 in %.1f "+
		"%% before correction",
		len(r.Rounds), len(all), most, 100*float64(suspect)/float64(max(made, 1))), figures...), nil
}

// power counts the outcomes of many comparisons with a known difference.
type power struct {
	spin            time.Duration
	made, held, won int
	low, high       float64 // µs: the interval over all rounds
}

// power makes comparisons from some rounds of the first arm and of one that spins.
func (e Env) power(r *result.Result, arm int, spin time.Duration) (power, error) {
	p := power{spin: spin}
	random := rand.New(rand.NewPCG(e.Seed, uint64(arm)))
	everything := chosen(len(r.Rounds), len(r.Rounds), random)
	for i := range ofUnequals + 1 {
		rounds := everything
		if i > 0 {
			rounds = chosen(len(r.Rounds), roundsOf, random)
		}
		c := pick(r, 0, arm, rounds, nil)
		// Both arms are equal except for the spin.
		row := analyse.Result(c).Loads[0].Row(plan.ServerCPU)
		base, d := row.Cells[0].Estimate, row.Cells[1].Difference
		if !base.Known || d == nil || !d.Known {
			continue
		}
		low, high := (d.Low-1)*base.Value, (d.High-1)*base.Value
		if i == 0 {
			p.low, p.high = low/1e3, high/1e3
			continue
		}
		p.made++
		if low <= float64(spin) && float64(spin) <= high {
			p.held++
		}
		if d.Verdict == claim.Worse {
			p.won++
		}
	}
	return p, nil
}

func (p power) String() string {
	if p.made == 0 {
		return fmt.Sprintf("+%v: no comparison could be judged", p.spin)
	}
	return fmt.Sprintf("+%v: %.2f to %.2f µs over all rounds, held in %.0f %%, found in %.0f %% of comparisons of "+
		"%d rounds",
		p.spin, p.low, p.high, p.share(p.held), p.share(p.won), roundsOf)
}

func (p power) share(n int) float64 { return 100 * float64(n) / float64(max(p.made, 1)) }

func (p power) figures() []result.Figure {
	return []result.Figure{
		{
			Name: fmt.Sprintf("+%v: interval holds it", p.spin), Unit: "%", Found: p.share(p.held), Low: 90, High: 100,
			Note: fmt.Sprintf("of %d", p.made),
		},
		// The power curve is shown but not required, since it depends on the machine.
		{
			Name: fmt.Sprintf("+%v: found", p.spin), Unit: "%", Found: p.share(p.won), High: 100,
			Note: "shown, not required",
		},
	}
}

// driftTest compares a server with itself while another program starts and stops.
func driftTest() Test {
	return Test{
		Name:  "drift",
		Shows: "a process that takes the processor for a third of the time makes nothing look different",
		Required: fmt.Sprintf("no more false differences than without it: at most %.1f %% of %d comparisons",
			100*falseShare(0.05, ofEquals), ofEquals),
		Short: 30e9, Long: 90e9,
		run: func(ctx context.Context, e Env) (f finding, err error) {
			p := equalPlan(choose(e, 12, 60))
			var on hogs
			defer func() { err = errors.Join(err, on.stop()) }()
			var failed error
			tell := e.rounds("drift")
			r, err := e.conduct(ctx, p, nil, func(event experiment.Event) {
				tell(event)
				// The other program runs in the middle third of the rounds, from the middle of one round to the
				// middle of another, so that it affects both arms.
				at := float64(event.Round-1) + float64(event.Step)/float64(max(event.Steps, 1))
				third := float64(p.Rounds.Min) / 3
				wanted := event.Phase == experiment.Measuring && at > third && at < 2*third
				switch {
				case failed != nil || event.Phase != experiment.Measuring:
				case wanted && on == nil:
					on, failed = startHogs(ctx, e, 1, nil)
				case !wanted && on != nil:
					failed = on.stop()
					on = nil
				}
			})
			if err = errors.Join(err, failed); err != nil {
				return finding{}, err
			}
			f, err = e.falsely(r)
			if err != nil {
				return f, err
			}
			f.figures = append(f.figures, slowed(r)...)
			return f, e.keep(ctx, &f, r)
		},
	}
}

// slowed shows that the other program had an effect: how much slower the middle third was, and what a comparison of
// the thirds, one after the other, would have claimed.
func slowed(r *result.Result) []result.Figure {
	m, err := kinds.MetricByID(plan.Throughput)
	if err != nil {
		return nil
	}
	var sums [3]float64
	var counts [3]int
	for i, round := range r.Rounds {
		third := min(3*i/len(r.Rounds), 2)
		for t := range round.Trials {
			if v, ok := m.Value(&round.Trials[t]); ok {
				sums[third] += math.Log(v)
				counts[third]++
			}
		}
	}
	for _, n := range counts {
		if n == 0 {
			return nil
		}
	}
	quiet := (sums[0] + sums[2]) / float64(counts[0]+counts[2])
	return []result.Figure{{
		Name: "throughput of the middle third, compared with the others", Unit: "%",
		Found: 100 * math.Exp(sums[1]/float64(counts[1])-quiet), High: 200, Note: "shown, not required",
	}}
}
