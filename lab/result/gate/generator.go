package gate

import (
	"fmt"
	"slices"
	"time"

	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/words"
)

// Limits on the generator itself (docs/concepts/checks.md).
const (
	// generatorShare is the share of its cores' time that the generator may use. A busier generator queues its own
	// calls and measures its own delays. It is no bound if only one call is in flight at a time. Then the client's
	// work is part of that call, as it is for a user, and no other call can be delayed. Reading a list of megabytes
	// uses a whole core.
	generatorShare = 0.7
	// waitShare is the share of wall time in which the generator's threads may wait for other processes to leave
	// their CPU. See foreignWait for why it is not 1 %.
	waitShare = 0.1
	// pauseFloor and pauseShare (of the median) bound the pauses of garbage collection as lateness is bounded,
	// because a pause is lateness.
	pauseFloor = claim.LagFloor
	pauseShare = claim.LagShare
	// hitShare is the share of calls that may meet a pause of any length: it affects no median, and as much is
	// excluded by gate 1.
	hitShare = 0.01
)

// Generator applies the gates on the driver's process, round by round. They cover times and throughput. CPU, bytes
// and allocations per call do not change when the generator is short of CPU time.
func (s *Subject) Generator() {
	cores := s.driverCores()
	if cores > 0 {
		if s.Load.Open() || s.Load.InFlight > 1 {
			s.GeneratorCPU(cores)
		}
		s.GeneratorWaits(cores)
	}
	s.generatorPauses()
}

// Used is what the driver used in a trial; nil if that was not recorded.
func Used(t *result.Trial) *result.Usage {
	if t.Driver == nil || t.Driver.Wall <= 0 {
		return nil
	}
	return t.Driver
}

// GeneratorCPU checks that the driver did not use all of its cores.
func (s *Subject) GeneratorCPU(cores int) {
	at := s.Result.Placement
	beside := len(at.RelayCPUs) > 0 && slices.Equal(at.RelayCPUs, at.DriverCPUs) // calls queue for both together
	readings, failed := s.Each(func(_ int, t *result.Trial) (float64, bool, bool) {
		u := Used(t)
		if u == nil {
			return 0, false, false
		}
		cpu := u.CPU
		if beside && t.Relay != nil {
			cpu += t.Relay.CPU
		}
		share := float64(cpu) / (float64(cores) * float64(u.Wall))
		return share, share <= generatorShare, true
	})
	who, it := "the generator", "it"
	if beside {
		who, it = "the generator, together with the network's relay,", "it, together with the network's relay,"
	}
	s.shares(result.GeneratorCPU, readings, failed, generatorShare, "of its cores' time",
		who+" used up to %s of its cores' time", "generator too busy: "+it+" used up to %s of its cores' time",
		s.lighter("--driver raw, ")+s.Manner.Fewer)
}

// lighter returns the advice to use the lighter driver, or "" if the arm uses it or there is none.
func (s *Subject) lighter(advice string) string {
	arms := s.Result.Plan.Arms
	return words.Choose(!s.Manner.Raw || s.Arm < len(arms) && arms[s.Arm].Raw(), "", advice)
}

// GeneratorWaits checks how long the driver's threads waited for a CPU.
func (s *Subject) GeneratorWaits(cores int) {
	readings, failed := s.Each(func(_ int, t *result.Trial) (float64, bool, bool) {
		u := Used(t)
		if u == nil || u.Waited <= 0 {
			return 0, false, false
		}
		share := foreignWait(s.Result, t, cores)
		return share, share <= waitShare, true
	})
	const held = "generator held up: "
	c, known := sharing(result.GeneratorWaits, readings, failed, waitShare, "of wall time",
		"the generator waited up to %s of the time for others to leave its CPU",
		"up to %s of the time it waited for others to leave its CPU",
		words.Choose(s.Result.Shares(s.Arm),
			"keep the server off the load generator's cores: give its process with pid= next to target= (load: --pid), "+
				"and --pin auto; else ", "")+
			"stop other programs (wirelab doctor names them), or let --pin auto give it a separate core")
	if !known {
		return
	}
	if !c.OK && s.shifts() {
		s.judge(&c, c.Detail, func(t *result.Trial, q float64) (float64, bool) { return s.hindered(t, q, false) })
	}
	if !c.OK {
		c.Detail = held + c.Detail
	}
	s.Add(c)
}

// foreignWait is the share of time in which other processes kept the driver from running, as precisely as the kernel
// reports it. The waiting time of a process's threads also includes waiting for each other, and the time that an idle
// CPU needs to wake up. On a virtual machine that was idle except for the experiment, this was 25 to 55 % of the wall
// time, so a limit of 1 % would refuse everything. The CPU time of other processes on the driver's cores is known
// separately, from ticks of 10 ms. Each of the two values is an upper bound of the waiting in question, so the
// smaller one is used. Ticks make it wrong by 2 to 3 % of a round's half second; hence 10 %.
//
// The server's CPU time does not count as others' if the two were meant to share cores. The database's does not
// either, as far as it may run there.
func foreignWait(r *result.Result, t *result.Trial, cores int) float64 {
	driver, pinned := t.Driver, r.Placement.DriverCPUs
	others := float64(driver.Others)
	if len(pinned) == 0 && t.Server != nil {
		others -= float64(t.Server.CPU)
	}
	if d := t.Database; d != nil && d.Processes != nil {
		others -= float64(d.Processes.CPU) * shareOn(d.Processes.CPUs, pinned)
	}
	return waitedFor(driver, others, cores)
}

// waitedFor is the share of time in which a process waited for others, which used others nanoseconds of its cores.
func waitedFor(u *result.Usage, others float64, cores int) float64 {
	wall := float64(u.Wall)
	return max(0, min(float64(u.Waited)/wall, others/(float64(cores)*wall)))
}

// shareOn is the share of the CPUs in cpus that is also in others; nil means all cores. It assumes equal use of all
// cores.
func shareOn(cpus, others []int) float64 {
	if len(others) == 0 || len(cpus) == 0 {
		return 1
	}
	both := 0
	for _, cpu := range cpus {
		if slices.Contains(others, cpu) {
			both++
		}
	}
	return float64(both) / float64(len(cpus))
}

// generatorPauses compares the pauses of garbage collection with the median, in rounds in which they can have
// affected more than a few calls. If too many rounds exceed that bound, the check is judged by the possible effect of
// the pauses, as for lateness.
func (s *Subject) generatorPauses() {
	median := time.Duration(s.service().Quantile(0.5))
	limit := max(pauseFloor, time.Duration(pauseShare*float64(median)))
	readings, failed := s.Each(func(_ int, t *result.Trial) (float64, bool, bool) {
		u := Used(t)
		if u == nil || t.Calls() == 0 || t.Told != nil {
			return 0, false, false
		}
		pause := time.Duration(u.PauseP99)
		return micros(pause), pause <= limit || Hit(t, u) <= hitShare, true
	})
	if len(readings) == 0 {
		return
	}
	most := worst(readings, false)
	stopped := fmt.Sprintf("garbage collection stopped the generator for up to %v",
		words.Brief(time.Duration(most*1e3)))
	c := claim.Check{
		Gate: result.GeneratorPauses, OK: enough(failed, len(readings)), Value: most, Limit: micros(limit), Unit: "µs",
		Rounds: readings,
		Detail: fmt.Sprintf("%s, the limit is %v where it hits more than 1 %% of %s", stopped, words.Brief(limit),
			s.things()),
		Fix: s.lighter("--driver raw, which makes no garbage, or ") + "a larger GOGC",
	}
	if !c.OK {
		s.judge(&c, fmt.Sprintf("%s, %s", stopped, words.InRounds(failed, len(readings))),
			func(t *result.Trial, q float64) (float64, bool) {
				bound, known := pausedBy(t, q)
				return least(bound, known, t, q)
			})
		c.Detail = words.Choose(c.OK, c.Detail, "generator stopped: "+c.Detail)
	}
	s.Add(c)
}

// pausedBy is the maximum share of its value by which pauses can have raised a quantile of a trial. They made a share
// of the calls longer, each by at most a pause. Without them, the quantile q would have been no lower than the
// present quantile of q minus that share (if the fastest calls were affected), and no lower than a pause below its
// value.
func pausedBy(t *result.Trial, q float64) (share float64, known bool) {
	u := Used(t)
	if u == nil || t.Calls() == 0 || t.Service == nil || t.Service.Count() == 0 {
		return 0, false
	}
	if q == 0 {
		return min(1, Hit(t, u)*float64(u.PauseP99)/max(1, t.Service.Mean())), true
	}
	is := t.Service.Quantile(q)
	if is <= 0 {
		return 0, true
	}
	least := t.Service.Quantile(max(0, q-Hit(t, u)))
	return float64(min(int64(u.PauseP99), is-least)) / float64(is), true
}

// Hit is the share of a trial's calls that can have met a pause. Each collection pauses twice, and delays the calls
// in flight at that time.
func Hit(t *result.Trial, u *result.Usage) float64 {
	return 2 * float64(result.Count(u.GarbageCycles)) * flight(t) / float64(t.Calls())
}

// shares adds a check of a share that is judged round by round.
func (s *Subject) shares(gate result.Gate, readings []claim.Reading, failed int, limit float64,
	unit, passed, spoiled, fix string,
) {
	if c, known := sharing(gate, readings, failed, limit, unit, passed, spoiled, fix); known {
		s.Add(c)
	}
}

// sharing returns a check of a share that is judged round by round. known is false without readings.
func sharing(gate result.Gate, readings []claim.Reading, failed int, limit float64,
	unit, passed, spoiled, fix string,
) (_ claim.Check, known bool) {
	if len(readings) == 0 {
		return claim.Check{}, false
	}
	ok, most := enough(failed, len(readings)), worst(readings, false)
	detail := fmt.Sprintf(passed, words.Percent(most)) + ", the limit is " + words.Percent(limit)
	if !ok {
		detail = fmt.Sprintf(spoiled, words.Percent(most)) + ", and more than " + words.Percent(limit) + " " +
			words.InRounds(failed, len(readings))
	} else if failed > 0 {
		detail += fmt.Sprintf(" (crossed in %d of %d rounds)", failed, len(readings))
	}
	return claim.Check{
		Gate: gate, OK: ok, Value: most, Limit: limit, Unit: unit, Rounds: readings, Detail: detail,
		Fix: fix,
	}, true
}
