package result

import (
	"fmt"
	"time"

	"wirelab/lab/stat"
)

// Floors are what an arm's driver does before a server that does nothing.
type Floors struct {
	// Known tells whether the figures are set; if not, Why says why not.
	Known bool   `json:"known"`
	Why   string `json:"why,omitempty"`
	// P50 is the median service time in ns, Throughput calls per second
	// (closed loop; else 0), ClientCPU what the driver used for a call, in ns.
	P50        float64 `json:"p50,omitempty"`
	Throughput float64 `json:"throughput,omitempty"`
	ClientCPU  float64 `json:"client_cpu,omitempty"`
	// Times is the arm's own median service time by the floor's, and Limited
	// whether that is too little to speak of the server.
	Times   float64 `json:"times,omitempty"`
	Limited bool    `json:"limited,omitempty"`
	// Headroom is, of messages in the closed loop, how many times as many as the load's
	// fastest arm the driver sends before a broker that does nothing; Throughput is
	// messages then, and Limited is judged by this and not by Times.
	Headroom float64 `json:"headroom,omitempty"`
	// Refused holds Times and Headroom where the arm's own figure in them is refused.
	Refused Refusals `json:"refused,omitempty"`
}

// floorTimes is how many times the floor a median must be to tell more of the
// server than of client and kernel (docs/concepts/checks.md).
const floorTimes = 2

// headroom is how many times as many messages as the fastest broker takes a driver must
// send by itself, for a rate to tell more of the broker than of the driver.
const headroom = 3

// floor compares an arm's median with what its driver shows before a server
// that does nothing. What is near the floor is no error: with the client
// driver, client and kernel are part of what is measured, and of two servers
// near it the difference is still theirs. So the numbers stay and carry a
// mark, with the floor beside them (docs/adr/0010). fastest is the most messages per
// second that an arm of a closed load takes; of others 0.
func (s *subject) floor(fastest float64) {
	ground := &s.state.Floor
	floor, arm := &stat.Histogram{}, &stat.Histogram{} // take memory when something is merged
	var window, cpu time.Duration
	var completed, calls uint64
	readings, _ := s.each(func(_ int, t *Trial) (float64, bool, bool) {
		if t.Floor == nil || t.Floor.Service == nil || t.Floor.Service.Count() == 0 || t.Service == nil || t.Service.Count() == 0 {
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
		ground.Why = s.floorless
		return
	}
	ground.Known = true
	ground.P50 = max(1, float64(floor.Quantile(0.5)))
	ground.Times = float64(arm.Quantile(0.5)) / ground.P50
	ground.Limited = ground.Times < floorTimes
	if !s.load.Open() && window > 0 {
		ground.Throughput = finite(float64(completed) / window.Seconds())
	}
	if calls > 0 {
		ground.ClientCPU = float64(cpu) / float64(calls)
	}
	if fastest > 0 {
		s.headroom(fastest)
		return
	}
	own, fix := "client and kernel", s.lighter("--driver raw has a lower floor; ")+"a workload that does more work rises above it"
	if s.result.Network != nil {
		own, fix = "client, kernel and network", "a network with a shorter round trip has a lower floor; a workload that does more work rises above it"
	}
	text := fmt.Sprintf("the median is %.3g times that of a server that does nothing (%v)", ground.Times, brief(time.Duration(ground.P50)))
	s.add(Check{
		Gate: AboveFloor, OK: true, Limited: ground.Limited, Value: ground.Times, Limit: floorTimes, AtLeast: true,
		Unit: "× the floor", Rounds: readings,
		Detail: choose(!ground.Limited, text, "floor-limited: "+text+", so "+own+" are most of it"),
		Fix:    fix,
	})
}

// headroom judges a driver of messages: what it sends before a broker that does nothing
// is to be far above what any broker takes.
func (s *subject) headroom(fastest float64) {
	ground, batch := &s.state.Floor, float64(max(s.load.Batch, 1))
	ground.Throughput *= batch
	ground.Headroom = ground.Throughput / fastest
	ground.Limited = ground.Headroom < headroom
	readings, _ := s.each(func(_ int, t *Trial) (float64, bool, bool) {
		if t.Floor == nil || t.Floor.Window <= 0 {
			return 0, false, false
		}
		times := float64(t.Floor.Completed) * batch / time.Duration(t.Floor.Window).Seconds() / fastest
		return times, times >= headroom, true
	})
	text := fmt.Sprintf("before a broker that does nothing the driver sends %s messages a second, %.3g times what the fastest arm takes and %.3g times this one",
		Thousands(uint64(ground.Throughput)), ground.Headroom, ground.Times)
	s.add(Check{
		Gate: AboveFloor, OK: true, Limited: ground.Limited, Value: ground.Headroom, Limit: headroom, AtLeast: true,
		Unit: "× the fastest arm's rate", Rounds: readings,
		Detail: choose(!ground.Limited, text, "floor-limited: "+text+", so that the driver may be part of what is measured"),
		Fix:    "larger messages or batches cost the driver less for each byte; --rate asks how long messages take below the most",
	})
}

// fastest is the most messages per second that an arm takes under a closed load of
// messages; 0 of others.
func fastest(g grid, load int) (most float64) {
	l := g.result.Plan.Loads[load]
	if l.Open() {
		return 0
	}
	for a := range g.arms() {
		var count uint64
		var window time.Duration
		for _, t := range g.of(load, a) {
			if t.Messages != nil && t.Window > 0 {
				count += t.Messages.AcknowledgedInWindow
				window += time.Duration(t.Window)
			}
		}
		if window > 0 {
			most = max(most, float64(count)/window.Seconds())
		}
	}
	return most
}
