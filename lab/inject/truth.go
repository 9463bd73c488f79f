package inject

import (
	"math"
	"time"
)

// Truth is the distribution of a server's response times in closed form, without the time that a wire adds. It holds in
// an open loop whose arrivals are independent of the server, at a constant rate or Poisson, if the server is never
// short of resources; for a frozen server it holds over whole periods.
type Truth struct{ b Behaviour }

// Truth returns the distribution of the response times. ok is false if there is none, because the behaviour makes no
// call wait.
func (b Behaviour) Truth() (t Truth, ok bool) {
	return Truth{b}, b.kind != "" && b.kind != spin
}

// There are three kinds of calls to a frozen server. A call that begins while the server runs and ends before it stops
// takes the service time S. A call that begins in the last S before the stop takes S and the whole stop F. A call that
// begins at a time x before the end of the stop takes x + S. In a period P, the share of calls is (P−F−S)/P at S, F/P
// spread evenly over S to S+F, and S/P at S+F.

// Quantile returns the shortest time that a share q of the calls does not exceed, for q from 0 to 1. It is the longest
// duration for q = 1 of the exponential distribution.
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

// AtMost returns the share of the calls that take at most d.
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

// Mean returns the mean time.
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

// Period returns the length of a window such that the distribution holds exactly over whole multiples of it: the EVERY
// of a frozen server; 0 if any window does.
func (t Truth) Period() time.Duration {
	if t.b.kind != frozen {
		return 0
	}
	return t.b.every
}
