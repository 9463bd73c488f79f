// Package loads makes the loads of a plan from command-line input: arrivals, recordings of arrivals, streams and
// messages. It knows plans and files of recordings, and must not know who sends a load.
package loads

import (
	"context"
	"math"
	"slices"
	"strings"

	"wirelab"
	"wirelab/lab/plan"
)

// Arrivals has the flags for the arrivals of an open loop.
type Arrivals struct {
	Law, Replay   string
	Speed, Spread float64
	// Context returns the context of the command, for its files.
	Context func() context.Context
}

// The values of --replay; the names are those of the published benchmark.
const (
	ReplaySequential = "sequential"
	ReplaySampled    = "sampled"
)

// Loads returns the open loads at the rates that were typed, or none for the closed loop.
func (f *Arrivals) Loads(rates string) ([]plan.Load, error) {
	one := plan.Load{Arrivals: f.Law, Spread: f.Spread}
	recorded := f.Law != "" && !slices.Contains([]string{plan.Poisson, plan.Constant, plan.LogNormal}, f.Law)
	switch {
	case !recorded && (f.Replay != "" || f.Speed != 0):
		return nil, wirelab.Errorf(wirelab.InvalidArgument,
			"--replay and --speed-up need a recording: give --arrivals FILE")
	case !recorded && rates == "" && (f.Law != "" || f.Spread != 0):
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "--arrivals needs the open loop: give --rate too")
	case !recorded && rates == "":
		return nil, nil
	case f.Speed != 0 && rates != "":
		return nil, wirelab.Errorf(wirelab.InvalidArgument,
			"--speed-up and --rate both say how fast the recording goes: give one")
	}
	if recorded {
		var err error
		if one, err = f.replayed(one); err != nil {
			return nil, err
		}
		if rates == "" {
			return []plan.Load{one}, nil
		}
	}
	var all []plan.Load
	for text := range strings.SplitSeq(rates, ",") {
		rate, err := plan.ParseRate(text)
		if err != nil {
			return nil, err
		}
		one.Rate = rate
		all = append(all, one)
	}
	return all, nil
}

// replayed returns a load with the recording of the file that was typed.
func (f *Arrivals) replayed(l plan.Load) (plan.Load, error) {
	var err error
	if l.Recording, err = Read(f.Context(), "--arrivals (poisson, constant, log-normal or a file)", f.Law); err != nil {
		return l, err
	}
	switch f.Replay {
	case "", ReplaySequential:
		l.Arrivals = plan.Recorded
	case ReplaySampled:
		l.Arrivals = plan.Sampled
	default:
		return l, wirelab.Errorf(wirelab.InvalidArgument, "--replay %q: want %s or %s", f.Replay, ReplaySequential,
			ReplaySampled)
	}
	if f.Speed < 0 || math.IsNaN(f.Speed) || math.IsInf(f.Speed, 0) {
		return l, wirelab.Errorf(wirelab.InvalidArgument, "--speed-up %v: want a number above 0", f.Speed)
	}
	l.Rate = l.Recording.Rate()
	if f.Speed > 0 {
		l.Rate *= f.Speed
	}
	return l, nil
}
