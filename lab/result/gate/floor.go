package gate

import (
	"fmt"
	"time"

	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/words"
	"wirelab/lab/stat"
)

// floorTimes is the minimum ratio of a median to the floor for the median to say more about the server than about
// client and kernel (docs/concepts/checks.md).
const floorTimes = 2

// headroom is the minimum ratio of the rate at which the driver alone can send to the rate of the fastest broker, for
// a rate to say more about the broker than about the driver.
const headroom = 3

// Floor compares an arm's median with that of its driver against a server that does nothing. A median near the floor
// is no error. With the client driver, client and kernel are part of the measurement, and the difference between two
// servers near the floor is still theirs. So the figures are kept and marked, and the floor is shown next to them
// (docs/adr/0010). fastest is the highest rate, in messages per second, of an arm under a closed load of messages; 0
// for other loads.
func (s *Subject) Floor(fastest float64) {
	ground := &s.State.Floor
	floor, arm := &stat.Histogram{}, &stat.Histogram{} // they allocate memory only when something is merged
	var window, cpu time.Duration
	var completed, calls uint64
	readings, _ := s.Each(func(_ int, t *result.Trial) (float64, bool, bool) {
		if t.Floor == nil || t.Floor.Service == nil || t.Floor.Service.Count() == 0 || t.Service == nil ||
			t.Service.Count() == 0 {
			return 0, false, false
		}
		floor.Merge(t.Floor.Service)
		arm.Merge(t.Service)
		window += time.Duration(max(t.Floor.Window, 0))
		cpu += time.Duration(max(t.Floor.DriverCPU, 0))
		completed += t.Floor.Completed
		calls += t.Floor.Calls
		times := float64(t.Service.Quantile(0.5)) / max(1, float64(t.Floor.Service.Quantile(0.5)))
		return times, times >= floorTimes, true
	})
	if len(readings) == 0 {
		ground.Why = s.Floorless
		return
	}
	ground.Known = true
	ground.P50 = max(1, float64(floor.Quantile(0.5)))
	ground.Times = float64(arm.Quantile(0.5)) / ground.P50
	ground.Limited = ground.Times < floorTimes
	if !s.Load.Open() && window > 0 {
		ground.Throughput = claim.Finite(float64(completed) / window.Seconds())
	}
	if calls > 0 {
		ground.ClientCPU = float64(cpu) / float64(calls)
	}
	if fastest > 0 {
		s.headroom(fastest)
		return
	}
	own, fix := "client and kernel",
		s.lighter("--driver raw has a lower floor; ")+"a workload that does more work rises above it"
	if s.Result.Network != nil {
		own, fix = "client, kernel and network",
			"a network with a shorter round trip has a lower floor; a workload that does more work rises above it"
	}
	text := fmt.Sprintf("the median is %.3g times that of a server that does nothing (%v)", ground.Times,
		words.Brief(time.Duration(ground.P50)))
	s.Add(claim.Check{
		Gate: result.AboveFloor, OK: true, Limited: ground.Limited, Value: ground.Times, Limit: floorTimes,
		AtLeast: true,
		Unit:    "× the floor", Rounds: readings,
		Detail: words.Choose(!ground.Limited, text, "floor-limited: "+text+", so "+own+" are most of it"),
		Fix:    fix,
	})
}

// headroom judges a driver of messages: against a broker that does nothing it must send far more than any broker
// accepts.
func (s *Subject) headroom(fastest float64) {
	ground, batch := &s.State.Floor, float64(max(s.Load.Batch, 1))
	ground.Throughput *= batch
	ground.Headroom = ground.Throughput / fastest
	ground.Limited = ground.Headroom < headroom
	readings, _ := s.Each(func(_ int, t *result.Trial) (float64, bool, bool) {
		if t.Floor == nil || t.Floor.Window <= 0 {
			return 0, false, false
		}
		times := float64(t.Floor.Completed) * batch / time.Duration(t.Floor.Window).Seconds() / fastest
		return times, times >= headroom, true
	})
	text := fmt.Sprintf("against a broker that does nothing, the driver sends %s messages a second, %.3g times the "+
		"rate of the fastest arm and %.3g times that of this one",
		words.Thousands(uint64(ground.Throughput)), ground.Headroom, ground.Times)
	s.Add(claim.Check{
		Gate: result.AboveFloor, OK: true, Limited: ground.Limited, Value: ground.Headroom, Limit: headroom,
		AtLeast: true,
		Unit:    "× the fastest arm's rate", Rounds: readings,
		Detail: words.Choose(!ground.Limited, text,
			"floor-limited: "+text+", so the driver may be part of the measurement"),
		Fix: "larger messages or batches cost the driver less for each byte; --rate measures how long messages take " +
			"below the maximum rate",
	})
}
