package hosts

import (
	"fmt"
	"math"
	"time"

	"wirelab"
)

// Clock is how the clock of a host stands to the runner's, from the fastest of several round trips: the host read its
// clock somewhere between request and reply, so that half the round trip bounds the error (Cristian, 1989).
type Clock struct {
	Offset      time.Duration // host minus runner
	Uncertainty time.Duration // half of the fastest round trip
	RoundTrip   time.Duration // the fastest
	At          time.Time     // by the runner's clock
}

// ping is one reading of a host's clock.
type ping struct {
	sent time.Time // by the runner's clock
	took time.Duration
	read int64 // by the host's clock, ns since 1970
}

// clockOf estimates a clock; there is at least one ping.
func clockOf(pings []ping) Clock {
	best := pings[0]
	for _, p := range pings[1:] {
		if p.took < best.took {
			best = p
		}
	}
	half := best.took / 2
	return Clock{
		Offset:      time.Duration(best.read - best.sent.UnixNano() - int64(half)),
		Uncertainty: best.took - half, RoundTrip: best.took, At: best.sent.Add(half),
	}
}

// driftMost is how fast two clocks that are both disciplined may run apart: 500 ppm is what NTP lets a kernel correct.
const driftMost = 500e-6

// moved tells why the readings before and after a round cannot both be true: the clock was set in between. A clock that
// only runs faster or slower is no error, since it is read again before each slice.
func moved(name string, before, after Clock) error {
	off := (after.Offset - before.Offset).Abs()
	elapsed := after.At.Sub(before.At).Abs()
	slack := before.Uncertainty + after.Uncertainty + time.Duration(driftMost*float64(elapsed))
	if off <= slack {
		return nil
	}
	return wirelab.Errorf(wirelab.Unavailable,
		"the clock of %s was set during the round: it moved by %v in %v; two clocks alone move by at most %v. "+
			"Let ntpd or chronyd slew it, and start again", name, off, elapsed.Round(time.Millisecond), slack)
}

// Spans tells why a time that began by one clock and ended by the other must not be shown; nil: it may. The uncertainty
// must be within 5 % of the time.
func (c Clock) Spans(name string, took time.Duration) error {
	if took > 0 && float64(c.Uncertainty) <= spanShare*float64(took) {
		return nil
	}
	return wirelab.Errorf(wirelab.Unavailable,
		"%v between this clock and that of %s is not known well enough: its uncertainty is %v, and may be %s of it",
		took, name, c.Uncertainty, percent(spanShare))
}

const spanShare = 0.05

func percent(share float64) string { return fmt.Sprintf("%d %%", int(math.Round(share*100))) }
