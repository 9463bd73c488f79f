package result

import (
	"fmt"
	"math"
	"time"

	"wirelab/plan"
	"wirelab/stat"
)

// What no measurement may contradict.
const (
	littleShare = 0.02 // Little's law
	// cpuShare is how far CPU time may be beyond cores times wall time: the two
	// are read one after the other, microseconds apart in tens of milliseconds.
	cpuShare = 0.01
	// endedTicks is by how much a slice's reading of a database's processes may
	// be too high since some of them ended: their times are counted in ticks,
	// two of which may show late.
	endedTicks = plan.Duration(20 * time.Millisecond)
	// A throughput above the null responder's is an error only if it is so for
	// sure: the floor is one short slice in each round.
	ceilingAlpha = 0.01
	ceilingShare = 0.02
)

// physics applies the gates on what cannot be.
func (s *subject) physics() {
	if !s.load.Open() && s.all.window > 0 && s.all.ok > 0 {
		s.little(s.response().Mean())
	}
	s.wireBytes()
	s.cpuTime()
	if !s.load.Open() {
		s.ceiling()
	}
}

// little compares the calls in flight with Little's law: calls times response
// time is calls in flight times time. A slice's edges make it a range: the
// last calls end after it, and callers begin one after another, the last up to
// about a call's time after the first. So it is taken over the slices and the
// time until those calls had ended; and over the slices alone, with a call
// more for each caller and slice.
func (s *subject) little(mean float64) {
	flight := float64(max(s.load.InFlight, 1))
	bounds := func(calls, mean float64, slices int, window, drained time.Duration) (low, high float64, ok bool) {
		edges := mean * flight * float64(slices)
		low, high = mean*calls/float64(window+drained), (mean*calls+edges)/float64(window)
		return low, high, low <= flight*(1+littleShare) && high >= flight*(1-littleShare)
	}
	low, high, ok := bounds(float64(s.all.ok), mean, s.all.slices, s.all.window, s.all.drained)
	readings, _ := s.each(func(_ int, t *Trial) (float64, bool, bool) {
		if t.Response == nil || t.Window <= 0 {
			return 0, false, false
		}
		low, high, ok := bounds(float64(t.OK), t.Response.Mean(), len(t.Order), time.Duration(t.Window), time.Duration(max(t.Drained, 0)))
		return (low + high) / 2, ok, true
	})
	s.add(Check{
		Gate: Physics, OK: ok, Value: (low + high) / 2, Limit: flight, Unit: "calls in flight", Rounds: readings,
		Detail: choose(ok, fmt.Sprintf("throughput × response time is %s calls in flight, as kept", span(low, high)),
			fmt.Sprintf("throughput × response time is %s calls in flight, where %.0f were kept", span(low, high), flight)),
		Fix: "this is a fault of the generator: report it; until then --driver with the other driver",
	})
}

// wireBytes: no call is made or answered without a byte, beside those of the
// request itself where the driver tells them.
func (s *subject) wireBytes() {
	least := func(t *Trial) (float64, bool) {
		if t.Calls() == 0 {
			return 0, false
		}
		if s.load.Streaming() { // one request asks for all
			return float64(t.WireReceived) / float64(t.Calls()), true
		}
		return min(float64(t.WireSent)-float64(t.Payload), float64(t.WireReceived)) / float64(t.Calls()), true
	}
	readings, failed := s.each(func(_ int, t *Trial) (float64, bool, bool) {
		v, known := least(t)
		return v, v >= 1, known
	})
	if len(readings) == 0 {
		return
	}
	few := worst(readings, true)
	s.add(Check{
		Gate: WireBytes, OK: failed == 0, Value: few, Limit: 1, AtLeast: true, Unit: choose(s.load.Streaming(), "bytes an event", "bytes a call"), Rounds: readings,
		Detail: choose(failed == 0, fmt.Sprintf(choose(s.load.Streaming(), "at least %s bytes came for every event", "at least %s bytes moved each way for every call"), Thousands(uint64(few))),
			fmt.Sprintf("%.2g bytes moved one way for each of the %s, without the request's own, %s: that cannot be", few, s.things(), inRounds(failed, len(readings)))),
		Fix: "the client does not use the connections that are counted: report it",
	})
}

// cpuTime: no process uses more than all of its cores.
func (s *subject) cpuTime() {
	share := func(u *Usage, cores int) float64 {
		if u == nil || u.Wall <= 0 || cores == 0 {
			return 0
		}
		return float64(u.CPU+u.Spun) / (float64(cores) * float64(u.Wall))
	}
	behind := func(t *Trial) float64 {
		if t.Database == nil || t.Database.Processes == nil {
			return 0
		}
		d := t.Database.Processes
		return share(&Usage{CPU: d.CPU - plan.Duration(len(t.Order))*endedTicks, Wall: d.Wall}, s.cores(d.CPUs))
	}
	server, driver := s.cores(s.result.Placement.ServerCPUs), s.cores(s.result.Placement.DriverCPUs)
	readings, failed := s.each(func(_ int, t *Trial) (float64, bool, bool) {
		most := max(share(t.Server, server), share(t.Driver, driver), behind(t))
		return most, most <= 1+cpuShare, most > 0
	})
	if len(readings) == 0 {
		return
	}
	most := worst(readings, false)
	s.add(Check{
		Gate: CPUTime, OK: failed == 0, Value: most, Limit: 1 + cpuShare, Unit: "of the cores' time", Rounds: readings,
		Detail: choose(failed == 0, "at most "+percent(most)+" of the cores' time was used by the process on them",
			"a process used "+percent(most)+" of all the time its cores have, "+inRounds(failed, len(readings))),
		Fix: "the clocks of this machine contradict each other: run wirelab doctor",
	})
}

// cores is how many cores a process may run on: those it is pinned to, else all.
func (s *subject) cores(pinned []int) int {
	if len(pinned) > 0 {
		return len(pinned)
	}
	return s.result.Environment.CPUs
}

// ceiling: no server answers more calls than one that does nothing.
func (s *subject) ceiling() {
	var floor, arm []float64
	readings, _ := s.each(func(_ int, t *Trial) (float64, bool, bool) {
		x, ok := throughput(t)
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
	s.add(Check{
		Gate: Ceiling, OK: ok, Value: e.Ratio, Limit: 1 + ceilingShare, Unit: "× the null responder's throughput", Rounds: readings,
		Detail: choose(ok, fmt.Sprintf("%.2g times the throughput of a server that does nothing", e.Ratio),
			fmt.Sprintf("%.3g times (at least %.3g) the throughput of a server that does nothing, which cannot be", e.Ratio, e.Low)),
		Fix: "something answers in the server's place, a cache perhaps; or the null responder is slow: report it",
	})
}
