package inject

import (
	"math"
	"time"
)

// Truth is the distribution of the response times of a server, without the
// time that a wire adds, in closed form. It holds in an open loop whose
// arrivals do not look at the server, at a constant rate or Poisson, if the
// server is never short of anything; for a frozen server over whole periods.
type Truth struct{ b Behaviour }

// Truth returns the law of the response times; ok is false where there is none
// to tell, because the behaviour holds no call.
func (b Behaviour) Truth() (t Truth, ok bool) {
	return Truth{b}, b.kind != "" && b.kind != spin
}

// A frozen server's calls are of three kinds. Those that begin while it runs
// and end before it stands still take the service time S. Those that begin
// while it runs and do not, in the S before it stands still, take S and the
// whole standstill F. Those that begin at a time x before its end take x + S.
// Of a period P that is a share of (P−F−S)/P at S, F/P spread evenly over S to
// S+F, and S/P at S+F.

// Quantile is the shortest time that a share q of the calls do not exceed, q
// in 0 to 1; it is endless for the exponential law and 1.
func (t Truth) Quantile(q float64) time.Duration {
	b := t.b
	q = min(max(q, 0), 1)
	switch b.kind {
	case bimodal:
		if q > b.share {
			return b.second
		}
	case exponential:
		if q == 1 {
			return math.MaxInt64
		}
		return time.Duration(-math.Log1p(-q) * float64(b.first))
	case frozen:
		still := q*float64(b.every) - float64(b.every-b.second-b.first)
		return b.first + min(max(time.Duration(still), 0), b.second)
	}
	return b.first
}

// AtMost is the share of the calls that take at most d.
func (t Truth) AtMost(d time.Duration) float64 {
	b := t.b
	switch {
	case b.kind == exponential:
		return -math.Expm1(-float64(max(d, 0)) / float64(b.first))
	case d < b.first:
		return 0
	case b.kind == bimodal && d < b.second:
		return b.share
	case b.kind == frozen && d < b.first+b.second:
		return float64(b.every-b.second-b.first+d-b.first) / float64(b.every)
	}
	return 1
}

// Mean is the mean time.
func (t Truth) Mean() time.Duration {
	b := t.b
	switch b.kind {
	case bimodal:
		return time.Duration(b.share*float64(b.first) + (1-b.share)*float64(b.second))
	case frozen:
		still, every := b.second.Seconds(), b.every.Seconds()
		return b.first + time.Duration((still*still/2+b.first.Seconds()*still)/every*1e9)
	}
	return b.first
}

// Period is how long a window, or a multiple of it, must be for the law to
// hold exactly: a frozen server's EVERY; 0 where any window does.
func (t Truth) Period() time.Duration {
	if t.b.kind != frozen {
		return 0
	}
	return t.b.every
}
