package gate

import (
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/grid"
	"wirelab/lab/stat"
)

// pools reports whether quantiles are judged by the calls of all rounds together, from which they are computed. In
// results of an earlier wirelab they were judged by the average effect on the rounds' own quantiles.
func (s *Subject) pools() bool { return s.Result.Minor >= 3 }

// pool is all trials as one, for the fields by which disturbances are judged.
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

// floorMost is the maximum share of a figure that a limit in microseconds may allow: a figure that may be a third too
// high says little.
const floorMost = 1.0 / 3

// limit is the share of a figure by which a disturbance may have changed it: 5 %. If the time lost in the driver was
// measured, it is at least lagFloor, as for lateness and pauses, because a machine's wake-up time varies by that
// much.
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

// floors reports whether the time lost in the driver was measured for every trial.
func (s *Subject) floors() bool {
	for _, t := range s.Trials {
		if _, known := lostInDriver(t, 0); !known {
			return false
		}
	}
	return s.Result.Minor >= 3 && len(s.Trials) > 0
}

// lostInDriver is the maximum share of itself by which a trial's figure is too high because of its driver. No call
// would have taken less than its Outside if the driver had never waited, so no quantile would have been lower. known
// is false if it was not measured.
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

// least is the smaller of a bound and the measured loss in the driver: each is an upper bound of the effect.
func least(bound float64, known bool, t *result.Trial, q float64) (share float64, isKnown bool) {
	if lost, measured := lostInDriver(t, q); measured {
		if !known || lost < bound {
			return lost, true
		}
	}
	return bound, known
}

// shifted are the figures by which a disturbance is judged, in this order. A p90 is covered by them.
func shifted() []float64 { return []float64{0, 0.5, 0.9, 0.99, 0.999} }

// movedByBoth is the share of itself by which a trial's figure can be too high, if the driver's waiting and the
// server's waiting made calls longer by these average numbers of nanoseconds. If the loss in the driver was measured,
// calls without it took as long as outside of the driver, and that includes the server's waiting.
func movedByBoth(t *result.Trial, q, driver, server float64) float64 {
	bound := movedAtMost(t.Response, q, driver+server)
	if lost, measured := lostInDriver(t, q); measured {
		bound = min(bound, lost+(1-lost)*movedAtMost(t.Outside, q, server))
	}
	return bound
}
