package gate

import (
	"fmt"
	"math"
	"time"

	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/metric"
	"wirelab/lab/result/words"
	"wirelab/lab/stat"
)

// Limits on what no measurement may contradict.
const (
	littleShare = 0.02 // Little's law
	// cpuShare is how far CPU time may exceed cores times wall time: the two are read one after the other,
	// microseconds apart within tens of milliseconds.
	cpuShare = 0.01
	// endedTicks is by how much a slice's reading of a database's processes may be too high because some of them
	// ended: their times are counted in ticks, two of which may appear late.
	endedTicks = plan.Duration(20 * time.Millisecond)
	// A throughput above the null responder's is an error only if it is statistically certain: the floor is one short
	// slice in each round.
	ceilingAlpha = 0.01
	ceilingShare = 0.02
)

// Physics applies the gates on physically impossible values.
func (s *Subject) Physics() {
	if !s.Load.Open() && s.All.Window > 0 {
		s.little()
	}
	s.WireBytes()
	s.CPUTime()
	if !s.Load.Open() {
		s.ceiling()
	}
}

// inFlight is the number of calls in flight by Little's law: calls times response time is calls in flight times time.
// The edges of a slice make it a range: the last calls end after it, and callers start one after another, the last up
// to about a call's time after the first. So low is over the slices and the time until these calls had ended. high is
// over the slices alone, with one more call for each caller and slice. Failed calls were in flight until they failed.
type inFlight struct {
	low, high float64
	waited    float64 // what high lacks because the generator waited for a CPU and could not call
}

func (s *Subject) inFlight(mean float64, calls uint64, slices int, window, drained, waited time.Duration) inFlight {
	flight := float64(max(s.Load.InFlight, 1))
	edges := mean * flight * float64(slices)
	return inFlight{
		low: mean * float64(calls) / float64(window+drained), high: (mean*float64(calls) + edges) / float64(window),
		waited: flight * float64(min(waited, window)) / float64(window),
	}
}

// may reports whether kept calls can have been in flight.
func (f inFlight) may(kept float64) bool {
	return f.low <= kept*(1+littleShare) && f.high+f.waited >= kept*(1-littleShare)
}

// lasted is the mean time that a trial's calls were in flight, and their number. known is false if calls failed and
// the trial does not record how long they took.
func lasted(t *result.Trial) (mean float64, calls uint64, known bool) {
	wrong := t.Wrong()
	switch {
	case t.Told != nil || t.Response == nil || t.Window <= 0 || t.Failed.Count() < wrong:
		return 0, 0, false
	case wrong == 0:
		return t.Response.Mean(), t.OK, true
	}
	calls = t.OK + wrong
	return (t.Response.Mean()*float64(t.OK) + t.Failed.Mean()*float64(wrong)) / float64(calls), calls, true
}

// little compares the calls in flight with the planned number. Trials without the necessary data are ignored.
func (s *Subject) little() {
	kept := float64(max(s.Load.InFlight, 1))
	var (
		calls, failed           uint64
		slices                  int
		sum                     float64
		window, drained, waited time.Duration
	)
	readings, _ := s.Each(func(_ int, t *result.Trial) (float64, bool, bool) {
		mean, n, known := lasted(t)
		if !known {
			return 0, false, false
		}
		stopped := time.Duration(0)
		if u := Used(t); u != nil {
			stopped = time.Duration(u.Waited)
		}
		sum, calls, failed, slices = sum+mean*float64(n), calls+n, failed+t.Wrong(), slices+len(t.Order)
		window, drained, waited = window+time.Duration(t.Window), drained+time.Duration(max(t.Drained, 0)),
			waited+stopped
		f := s.inFlight(mean, n, len(t.Order), time.Duration(t.Window), time.Duration(max(t.Drained, 0)), stopped)
		return (f.low + f.high) / 2, f.may(kept), true
	})
	if calls == 0 {
		return
	}
	mean := sum / float64(calls)
	if failed == 0 {
		mean = s.response().Mean()
	}
	f := s.inFlight(mean, calls, slices, window, drained, waited)
	ok := f.may(kept)
	s.Add(claim.Check{
		Gate: result.Physics, OK: ok, Value: (f.low + f.high) / 2, Limit: kept, Unit: "calls in flight",
		Rounds: readings,
		Detail: words.Choose(ok,
			fmt.Sprintf("throughput × response time is %s calls in flight, as kept", words.Span(f.low, f.high)),
			fmt.Sprintf("throughput × response time is %s calls in flight, but %.0f were kept",
				words.Span(f.low, f.high), kept)),
		Fix: "this is a fault of the generator: report it; until then use the other driver (--driver)",
	})
}

// WireBytes checks that no call is made or answered without a byte. If the driver reports the bytes of the requests
// themselves, they do not count.
func (s *Subject) WireBytes() {
	least := func(t *result.Trial) (float64, bool) {
		calls := t.Calls()
		if t.Wrong() > 0 {
			calls = t.OK // a failed call need not have been answered, or even sent
		}
		if calls == 0 || t.Told != nil {
			return 0, false
		}
		if s.Manner.Streamed { // one request asks for all events
			return float64(t.WireReceived) / float64(calls), true
		}
		return min(float64(t.WireSent)-float64(t.Payload), float64(t.WireReceived)) / float64(calls), true
	}
	readings, failed := s.Each(func(_ int, t *result.Trial) (float64, bool, bool) {
		v, known := least(t)
		return v, v >= 1, known
	})
	if len(readings) == 0 {
		return
	}
	few := worst(readings, true)
	s.Add(claim.Check{
		Gate: result.WireBytes, OK: failed == 0, Value: few, Limit: 1, AtLeast: true,
		Unit: "bytes " + words.Choose(s.Manner.Streamed, "an event", "a call"), Rounds: readings,
		Detail: words.Choose(failed == 0,
			fmt.Sprintf(words.Choose(s.Manner.Streamed, "at least %s bytes came for every event",
				"at least %s bytes moved each way for every call"), words.Thousands(uint64(few))),
			fmt.Sprintf("%.2g bytes moved one way for each of the %s, without the request's own, %s: that is "+
				"impossible",
				few, s.things(), words.InRounds(failed, len(readings)))),
		Fix: "the client does not use the connections that are counted: report it",
	})
}

// CPUTime checks that no process uses more than all of its cores.
func (s *Subject) CPUTime() {
	share := func(u *result.Usage, cores int) float64 {
		if u == nil || u.Wall <= 0 || cores == 0 {
			return 0
		}
		return float64(u.CPU+u.Spun) / (float64(cores) * float64(u.Wall))
	}
	behind := func(t *result.Trial) float64 {
		if t.Database == nil || t.Database.Processes == nil {
			return 0
		}
		d := t.Database.Processes
		return share(&result.Usage{CPU: d.CPU - plan.Duration(len(t.Order))*endedTicks, Wall: d.Wall}, s.Cores(d.CPUs))
	}
	server, driver := s.serverCores(), s.driverCores()
	readings, failed := s.Each(func(_ int, t *result.Trial) (float64, bool, bool) {
		most := max(share(t.Server, server), share(t.Driver, driver), behind(t))
		return most, most <= 1+cpuShare, most > 0
	})
	if len(readings) == 0 {
		return
	}
	most := worst(readings, false)
	s.Add(claim.Check{
		Gate: result.CPUTime, OK: failed == 0, Value: most, Limit: 1 + cpuShare, Unit: "of the cores' time",
		Rounds: readings,
		Detail: words.Choose(failed == 0,
			"at most "+words.Percent(most)+" of the cores' time was used by the process on them",
			"a process used "+words.Percent(most)+" of all the time its cores have, "+words.InRounds(failed,
				len(readings))),
		Fix: "the clocks of this machine contradict each other: run wirelab doctor",
	})
}

// Cores is the number of cores that a process may run on: those it is pinned to, or else all.
func (s *Subject) Cores(pinned []int) int {
	if len(pinned) > 0 {
		return len(pinned)
	}
	return s.Result.Environment.CPUs
}

// ceiling checks that no server answers more calls than one that does nothing.
func (s *Subject) ceiling() {
	var floor, arm []float64
	readings, _ := s.Each(func(_ int, t *result.Trial) (float64, bool, bool) {
		x, ok := metric.Throughput(t)
		if !ok || t.Floor == nil || t.Floor.Window <= 0 || t.Floor.Completed == 0 {
			return 0, false, false
		}
		null := float64(t.Floor.Completed) / time.Duration(t.Floor.Window).Seconds()
		floor, arm = append(floor, null), append(arm, x)
		return x / null, x <= null*(1+ceilingShare), true
	})
	e, err := stat.PairedRatio(floor, arm, ceilingAlpha)
	if err != nil {
		return // fewer than two rounds with a floor
	}
	ok := math.IsNaN(e.Low) || e.Low <= 1+ceilingShare
	s.Add(claim.Check{
		Gate: result.Ceiling, OK: ok, Value: e.Ratio, Limit: 1 + ceilingShare,
		Unit: "× the null responder's throughput", Rounds: readings,
		Detail: words.Choose(ok, fmt.Sprintf("%.2g times the throughput of a server that does nothing", e.Ratio),
			fmt.Sprintf("%.3g times (at least %.3g) the throughput of a server that does nothing, which is impossible",
				e.Ratio, e.Low)),
		Fix: "something else answers instead of the server, perhaps a cache; or the null responder is slow: report it",
	})
}
