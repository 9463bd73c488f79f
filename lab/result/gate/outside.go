package gate

import (
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/grid"
	"wirelab/lab/stat"
)

// pools reports whether quantiles are judged by the calls of all rounds together, of which they are made. In results of
// an earlier wirelab they were judged by what the rounds' own were moved by, on average.
func (s *Subject) pools() bool { return s.Result.Minor >= 3 }

// pool is the trials as one, as far as disturbances are judged by it.
func (s *Subject) pool() *result.Trial {
	all := &result.Trial{
		Response: s.response(), Service: s.service(),
		Outside: grid.Merge(s.Trials, func(t *result.Trial) *stat.Histogram { return t.Outside }),
	}
	for _, t := range s.Trials {
		all.OK += t.OK
		all.Watched += t.Calls()
		all.Window += t.Window
		all.Driver = all.Driver.With(t.Driver)
		all.Server = all.Server.With(t.Server)
		if d := t.Database; d != nil && d.Processes != nil {
			if all.Database == nil {
				all.Database = &result.DatabaseUse{Processes: &result.DatabaseProcesses{CPUs: d.Processes.CPUs}}
			}
			all.Database.Processes.CPU += d.Processes.CPU
		}
	}
	return all
}

// floorMost is the share of a figure that the floor of its limit is at most: what may be a third too high says little.
const floorMost = 1.0 / 3

// limit is the share of a figure that a disturbance may have moved it by: 5 %. Where it was measured what was lost in
// the driver it is lagFloor at least, as for lateness and pauses: that is what a machine takes now more and now less to
// wake.
func (s *Subject) limit(q float64) float64 {
	if !s.floors() {
		return claim.MovedShare
	}
	is := s.response().Mean()
	if q > 0 {
		is = float64(s.response().Quantile(q))
	}
	return max(claim.MovedShare, min(floorMost, float64(claim.LagFloor)/max(1, is)))
}

// floors reports whether a trial's driver told what was lost in it, each time.
func (s *Subject) floors() bool {
	for _, t := range s.Trials {
		if _, known := lostInDriver(t, 0); !known {
			return false
		}
	}
	return s.Result.Minor >= 3 && len(s.Trials) > 0
}

// lostInDriver is by which share of itself a trial's figure is too high, at most, by all that its driver did:
// no call would have taken less than its Outside if the driver had never waited, so that no quantile would have
// been lower. known is false where nobody measured it.
func lostInDriver(t *result.Trial, q float64) (share float64, known bool) {
	h := t.Outside
	if h.Count() == 0 || t.Response.Count() != h.Count() {
		return 0, false
	}
	is, was := t.Response.Mean(), h.Mean()
	if q > 0 {
		is, was = float64(t.Response.Quantile(q)), float64(h.Quantile(q))
	}
	return min(1, max(0, (is-was)/max(1, is))), true
}

// least is the lower one of a bound and what was measured of the driver: each is at least what was moved.
func least(bound float64, known bool, t *result.Trial, q float64) (share float64, isKnown bool) {
	if lost, measured := lostInDriver(t, q); measured {
		if !known || lost < bound {
			return lost, true
		}
	}
	return bound, known
}

// shifted are the figures that a disturbance is judged by, in this order. A p90 is within what is said of them.
func shifted() []float64 { return []float64{0, 0.5, 0.9, 0.99, 0.999} }

// movedByBoth is by which share of itself a trial's figure can be too high, if calls were longer by so many nanoseconds
// on average for what the driver waited, and for what the server did. Where it was measured what was lost in the
// driver, calls took as long as they were outside without it, and what the server waited is in that.
func movedByBoth(t *result.Trial, q, driver, server float64) float64 {
	bound := movedAtMost(t.Response, q, driver+server)
	if lost, measured := lostInDriver(t, q); measured {
		bound = min(bound, lost+(1-lost)*movedAtMost(t.Outside, q, server))
	}
	return bound
}
