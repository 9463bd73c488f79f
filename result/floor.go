package result

import (
	"fmt"
	"time"

	"wirelab/stat"
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
}

// floorTimes is how many times the floor a median must be to tell more of the
// server than of client and kernel (method.md §3.6, gate 5).
const floorTimes = 2

// floor compares an arm's median with what its driver shows before a server
// that does nothing. What is near the floor is no error: with the client
// driver, client and kernel are part of what is measured, and of two servers
// near it the difference is still theirs. So the numbers stay and carry a
// mark, with the floor beside them (docs/adr/0010).
func (s *subject) floor() {
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
	own, fix := "client and kernel", "--driver raw has a lower floor; a workload that does more work rises above it"
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
