package prepare

import (
	"context"
	"errors"
	"strings"
	"time"

	"wirelab"
	"wirelab/lab/kind/capacity"
	"wirelab/lab/kind/curve"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/stat"
)

// CapacitySearch returns the plan of a capacity search, and its settings.
func CapacitySearch(p plan.Plan, objective capacity.Objective, inFlight, rounds int,
	probe time.Duration,
) (plan.Plan, result.Capacity) {
	p.Loads = []plan.Load{{InFlight: inFlight}}
	p.Floor = plan.FloorNone
	p.Slices, p.Slice = 5, plan.Duration(100*time.Millisecond)
	p.Rounds.Min = rounds
	if p.Rounds.Min == 0 {
		p.Rounds.Min = max(capacity.CapacityRounds, stat.RoundsForFamily(len(p.Arms)-1, stat.DefaultAlpha))
	}
	p.Rounds.Max = p.Rounds.Min
	if p.Deadline == 0 {
		// The deadline is far above the objective, but short: an overloaded probe may continue for two deadlines to
		// answer the calls that were due.
		p.Deadline = plan.Duration(max(time.Second, 10*objective.Loosest()))
	}
	short := probe != 0
	if probe == 0 {
		probe = capacity.ProbeLeast
	}
	return p, result.Capacity{
		Objective: objective.String(), InFlight: inFlight,
		Probe: plan.Duration(probe), Parts: capacity.ProbeParts, Short: short,
	}
}

// Levels returns the rates that flags give, or nil if they must be found by calibration.
func Levels(to, rates string, steps int) ([]float64, error) {
	if to != "" {
		most, err := plan.ParseRate(to)
		if err != nil {
			return nil, err
		}
		return plan.EvenLevels(most, steps), nil
	}
	if rates == "" {
		return nil, nil
	}
	var all []float64
	for text := range strings.SplitSeq(rates, ",") {
		rate, err := plan.ParseRate(text)
		if err != nil {
			return nil, err
		}
		all = append(all, rate)
	}
	if len(all) < curve.LeastLevels {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "--rates has %d; a curve needs %d", len(all),
			curve.LeastLevels)
	}
	return all, nil
}

// AtRates returns the plan with one load for each rate.
func AtRates(p plan.Plan, arrivals string, inFlight int, rates []float64) plan.Plan {
	p.Loads = nil
	for _, rate := range rates {
		p.Loads = append(p.Loads, plan.Load{Rate: rate, Arrivals: arrivals, InFlight: inFlight})
	}
	return p
}

// Calibrate briefly measures the closed-loop rate of each arm, with few and with many calls in flight.
func Calibrate(ctx context.Context, l *Lab, p plan.Plan, inFlight int) ([]result.Calibrated, error) {
	const few = 32
	p.Loads = []plan.Load{{InFlight: inFlight}}
	if inFlight > few {
		p.Loads = append(p.Loads, plan.Load{InFlight: few})
	}
	p.Slices, p.Slice, p.Primary = 5, plan.Duration(100*time.Millisecond), ""
	r, err := l.Look(ctx, p, "looking for the rates")
	if err != nil {
		return nil, err
	}
	found := Calibrations(r)
	if len(found) == 0 {
		return nil, errors.New("no arm answered a call in the closed loop, so there are no rates to choose")
	}
	return found, nil
}

// MostOf returns the highest rate of each arm in a calibration.
func MostOf(p plan.Plan, calibrated []result.Calibrated) []float64 {
	most := make([]float64, 0, len(p.Arms))
	for arm := range p.Arms {
		best := 0.0
		for _, c := range calibrated {
			if c.Arm == arm {
				best = max(best, c.Rate)
			}
		}
		if best > 0 {
			most = append(most, best)
		}
	}
	return most
}
