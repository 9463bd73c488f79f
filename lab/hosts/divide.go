package hosts

import (
	"math/rand/v2"

	"wirelab"
	"wirelab/lab/control"
	"wirelab/lab/load"
)

// part is the i-th of n parts of a number: the quotient, and one more of the first parts while there is a remainder.
func part(whole, i, n int) int {
	p := whole / n
	if i < whole%n {
		p++
	}
	return p
}

// divide returns the i-th of n parts of a dial order. The parts together are the whole: the same calls in flight,
// connections and arrivals. Only requests differ, since each driver draws its own. Plans over hosts have calls only.
func divide(whole control.Dial, i, n int) (control.Dial, error) {
	d := whole
	if n == 1 {
		return d, nil
	}
	if i > 0 { // the first draws what a driver alone would
		d.Seed = rand.New(rand.NewPCG(whole.Seed, uint64(i))).Uint64()
		if whole.Once != 0 {
			d.Once = rand.New(rand.NewPCG(whole.Once, uint64(i))).Uint64()
		}
	}
	d.Loads = make([]control.Load, len(whole.Loads))
	for k, l := range whole.Loads {
		if l.InFlight < n {
			return d, wirelab.Errorf(wirelab.InvalidArgument,
				"%d calls in flight cannot be divided among %d drivers: give --in-flight %d or more", l.InFlight, n, n)
		}
		l.InFlight = part(l.InFlight, i, n)
		l.Connections = max(1, part(l.Connections, i, n))
		l.Schedule = share(l.Schedule, i, n)
		d.Loads[k] = l
	}
	return d, nil
}

// share is the i-th of n shares of a schedule: every n-th of its arrivals, so that all drivers together send exactly
// what one would, whatever the law.
func share(s *load.Schedule, i, n int) *load.Schedule {
	if s == nil || n == 1 {
		return s
	}
	own := *s
	own.Share = load.Share{Index: i, Of: n}
	return &own
}
