package gate

import (
	"fmt"
	"strings"
	"time"

	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	phrases "wirelab/lab/result/words"
	"wirelab/lab/stat"
)

// shifts reports whether figures are judged one by one, with intervals widened for disturbances. Older results are
// judged as before, so that an old report can be reproduced.
func (s *Subject) shifts() bool { return s.Result.Minor >= 2 }

// flight is the average number of calls of a trial in flight, by Little's law; at least one.
func flight(t *result.Trial) float64 {
	if h := t.Service; h != nil && h.Count() > 0 && t.Window > 0 {
		return max(1, h.Mean()*float64(t.OK)/float64(t.Window))
	}
	return 1
}

// delayed is the average number of nanoseconds by which a trial's calls can have been longer, because a process
// waited for a CPU. waited is the total waiting time, and stretch the average duration of one wait. A wait delays the
// call that it is for and the calls that become due during it: as many as arrive in a stretch, but at most those in
// flight. If stretch is unknown, the number in flight is used.
func delayed(t *result.Trial, waited, stretch time.Duration) float64 {
	calls, held := float64(t.Calls()), flight(t)
	if calls == 0 {
		return 0
	}
	if stretch > 0 && t.Window > 0 {
		held = min(held, 1+calls/float64(t.Window)*float64(stretch))
	}
	return float64(waited) * held / calls
}

// movedAtMost is the maximum share of itself by which a quantile can be too high, if calls were longer by mean
// nanoseconds on average. By Markov's inequality, at most a share mean/x of the calls was longer by more than x. So
// without the delay, the quantile q was no lower than the present quantile of q − mean/x, minus x. This holds for
// each x, and the best bound is used. For q = 0, which stands for the mean, it is mean divided by the mean. 0 ≤ q <
// 1.
func movedAtMost(h *stat.Histogram, q, mean float64) float64 {
	if q == 0 {
		return min(1, mean/max(1, h.Mean()))
	}
	is := float64(h.Quantile(q))
	if is <= 0 || mean <= 0 {
		return 0
	}
	least := is
	for x := claim.MovedShare / 50 * is; x < is; x *= 1.2 {
		if lost := mean / x; lost < q {
			least = min(least, is-float64(h.Quantile(q-lost))+x)
		}
	}
	return least / is
}

// judge judges a check that exceeded its bound in too many rounds by the effect. The bound is about what a
// disturbance might do; by returns how much it can have changed a figure of a trial. Figures that changed little are
// kept. If by is unknown for every trial, the check fails for all figures.
func (s *Subject) judge(c *claim.Check, did string, by func(t *result.Trial, q float64) (share float64, known bool)) {
	at, most := -1.0, 0.0 // the figure that changed most, relative to its limit
	limit, ok := claim.MovedShare, true
	var pool *result.Trial // nil until it is needed
	for _, q := range shifted() {
		if q > 0 && !stat.Tail(q, s.rounded()).OK() {
			continue // it is not published anyway
		}
		sum, n := 0.0, 0
		for _, t := range s.Trials {
			if share, known := by(t, q); known {
				sum += share
				n++
			}
		}
		if n == 0 {
			continue
		}
		share := sum / float64(n)
		if pool == nil && s.pools() && n == len(s.Trials) {
			pool = s.pool()
		}
		// A mean is that of the rounds. A quantile is that of all their calls together, so it is judged by those.
		if q > 0 && pool != nil {
			if together, known := by(pool, q); known {
				share = together
			}
		}
		shift := claim.Shift{Quantile: q, Share: share}
		if may := s.limit(q); may > claim.MovedShare {
			shift.Limit = may
		}
		c.Moved = append(c.Moved, shift)
		ok = ok && share <= shift.Bound()
		if at < 0 || share/shift.Bound() > most/limit {
			at, most, limit = q, share, shift.Bound()
		}
	}
	if len(c.Moved) == 0 {
		return
	}
	c.OK, c.Value, c.Limit, c.Unit = ok, most, limit, "of the figure"
	c.Rounds, _ = s.Each(func(_ int, t *result.Trial) (float64, bool, bool) {
		share, known := by(t, at)
		return share, share <= limit, known
	})
	var words []string
	for _, m := range c.Moved {
		words = append(words, quantileName(m.Quantile)+" by "+phrases.Percent(m.Share))
	}
	c.Detail = fmt.Sprintf("%s, which moved %s at most; the limit is %s", did, strings.Join(words, ", "),
		s.limitWords())
}

// rounded returns the trials' response times, of which quantiles are published.
func (s *Subject) rounded() []*stat.Histogram {
	all := make([]*stat.Histogram, len(s.Trials))
	for i, t := range s.Trials {
		all[i] = t.Response
		if all[i] == nil {
			all[i] = &stat.Histogram{}
		}
	}
	return all
}

// limitWords describes the limit on the change of a figure.
func (s *Subject) limitWords() string {
	if s.floors() {
		return fmt.Sprintf("%s, or %v", phrases.Percent(claim.MovedShare), phrases.Brief(claim.LagFloor))
	}
	return phrases.Percent(claim.MovedShare)
}

func quantileName(q float64) string {
	if q == 0 {
		return "the mean"
	}
	return fmt.Sprintf("p%.4g", 100*q)
}

// hindered is the share of itself by which a trial's figure can be too high, because the driver and, with server,
// also the server waited for a CPU that other processes used. It is not known for a server whose process is not
// observed, or if a database's processes may have waited too.
func (s *Subject) hindered(t *result.Trial, q float64, server bool) (share float64, known bool) {
	u := Used(t)
	if u == nil || t.Calls() == 0 || t.Response.Count() == 0 {
		return 0, false
	}
	driver := foreignDelay(t, u, foreignWait(s.Result, t, s.driverCores()))
	if !server {
		return least(movedAtMost(t.Response, q, driver), true, t, q)
	}
	if !s.serverSeen(t) {
		return 0, false
	}
	its := foreignDelay(t, t.Server, serverWait(s.Result, t, s.serverCores()))
	return movedByBoth(t, q, driver, its), true
}

// serverSeen reports whether a trial records how long the server waited for a CPU that others used.
func (s *Subject) serverSeen(t *result.Trial) bool {
	return t.Server != nil && t.Server.Wall > 0 && t.Server.Runs > 0 &&
		(t.Database == nil || t.Database.Processes == nil)
}

// foreignDelay is how much longer the calls of a trial can have been, because a process waited for a share of the
// time.
func foreignDelay(t *result.Trial, u *result.Usage, share float64) float64 {
	stretch := time.Duration(0)
	if u.Runs > 0 {
		stretch = time.Duration(u.Waited) / time.Duration(u.Runs)
	}
	return delayed(t, time.Duration(share*float64(u.Wall)), stretch)
}

// serverWait is foreignWait for the server. The driver does not count as another process if the two were meant to
// share cores.
func serverWait(r *result.Result, t *result.Trial, cores int) float64 {
	others := float64(t.Server.Others)
	if len(r.Placement.ServerCPUs) == 0 {
		others -= float64(t.Driver.CPU)
	}
	return waitedFor(t.Server, others, cores)
}
