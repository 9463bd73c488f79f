package gate

import (
	"fmt"
	"strings"
	"time"

	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/words"
)

// Limits on what else the machine did in a round. Arms take turns within a
// round and differences are taken within it, so what comes and goes widens
// intervals and shifts none (docs/concepts/claims.md: 3 to 6 % false differences on a
// busy machine, where 5 % are meant). The limits are about times as such, and
// spare what a call costs in CPU, bytes or allocations.
const (
	// stealShare: the hypervisor stops a CPU for milliseconds at a time, with
	// no trace in the process; above 5 % every 20th call, and so p90 and
	// beyond, is one that it made.
	StealShare = 0.05
	// neighbourShare of the CPUs used by others marks times as those of a busy
	// machine; neighbourLimit makes them invalid: others then have as much of
	// the CPUs as server or driver can have at all.
	neighbourShare = 0.1
	NeighbourLimit = 0.5
)

// Noise applies the gates on the machine, to the rounds that the arm was in.
// Pressure has none: the experiment's own tasks, which wait for each other, are
// in it, and so are preemptions'. Both are stored and shown.
func (s *Subject) Noise() {
	s.clock()
	throttled, held := s.Each(func(n int, _ *result.Trial) (float64, bool, bool) {
		d := s.Result.Rounds[n].Noise.Throttled
		return micros(time.Duration(d)), d <= 0, d >= 0
	})
	if len(throttled) > 0 {
		most := worst(throttled, false)
		s.Add(claim.Check{
			Gate: result.Throttling, OK: held == 0, Value: most, Unit: "µs", Rounds: throttled,
			Detail: words.Choose(held == 0, "the control group was never held back",
				fmt.Sprintf("the control group was held back %s, for up to %v: its quota of CPU was used up",
					words.InRounds(held, len(throttled)), words.Brief(time.Duration(most*1e3)))),
			Fix: "raise or remove the quota of the control group or container (cpu.max, --cpus)",
		})
	}
	share := func(of func(result.Noise) float64, limit float64) ([]claim.Reading, int) {
		return s.Each(func(n int, _ *result.Trial) (float64, bool, bool) {
			v := of(s.Result.Rounds[n].Noise)
			return v, v <= limit, v >= 0
		})
	}
	readings, failed := share(func(n result.Noise) float64 { return n.Steal }, StealShare)
	s.shares(result.Steal, readings, failed, StealShare, "of the CPUs' time",
		"the hypervisor took up to %s of the CPUs", "machine not there: the hypervisor took up to %s of the CPUs",
		"another machine or a dedicated one; at least another hour")
	s.neighbours(share(func(n result.Noise) float64 { return n.Others }, neighbourShare))
}

func (s *Subject) neighbours(readings []claim.Reading, busy int) {
	if len(readings) == 0 {
		return
	}
	full := 0
	for _, r := range readings {
		if r.Value > NeighbourLimit {
			full++
		}
	}
	fix := s.Result.WhoElse("stop what else runs here: wirelab doctor names it")
	_, held := s.Each(func(_ int, t *result.Trial) (float64, bool, bool) {
		seen := s.shifts() && s.serverSeen(t) && Used(t) != nil
		return 0, !seen || serverWait(s.Result, t, s.Cores(s.Result.Placement.ServerCPUs)) <= waitShare, true
	})
	limit, over := neighbourShare, busy
	if !enough(full, len(readings)) {
		limit, over = NeighbourLimit, full
	}
	most := words.Percent(worst(readings, false))
	c := claim.Check{
		Gate: result.Neighbours, OK: limit < NeighbourLimit, Limited: limit < NeighbourLimit,
		Value: worst(readings, false), Limit: limit,
		Unit: "of the CPUs' time", Rounds: readings, Fix: fix,
		Detail: fmt.Sprintf("other processes used up to %s of the CPUs", most),
	}
	switch {
	case !enough(over, len(readings)):
		c.Detail += fmt.Sprintf(", and more than %s %s", words.Percent(limit), words.InRounds(over, len(readings)))
	case !enough(held, len(readings)):
		c.Detail += fmt.Sprintf(", and kept the server from its own for more than %s of the time %s",
			words.Percent(waitShare), words.InRounds(held, len(readings)))
	default:
		s.shares(result.Neighbours, readings, busy, neighbourShare, "of the CPUs' time",
			"other processes used up to %s of the CPUs", "", fix)
		return
	}
	if s.shifts() {
		// What a cache is worth that others fill is not seen: what is kept is marked at least.
		s.judge(&c, c.Detail, func(t *result.Trial, q float64) (float64, bool) { return s.hindered(t, q, true) })
		c.Limited = true
	}
	c.Detail = words.Choose(c.OK, "busy machine: ", "machine too busy: ") + c.Detail
	s.Add(c)
}

// coarse are the clock sources that take a microsecond or more to read, or
// tick that coarsely: the engine reads the clock twice for each call.
func coarse(source string) bool {
	for _, slow := range []string{"hpet", "acpi_pm", "jiffies", "pit", "refined-jiffies"} {
		if strings.EqualFold(source, slow) {
			return true
		}
	}
	return false
}

func (s *Subject) clock() {
	source := s.Result.Environment.ClockSource
	if source == "" {
		return
	}
	s.Add(claim.Check{
		Gate: result.Clock, OK: !coarse(source),
		Detail: words.Choose(!coarse(source), "the clock source is "+source,
			"the clock source is "+source+", which is slow and coarse: its cost is in every time"),
		Fix: "let the kernel use tsc or kvm-clock " +
			"(/sys/devices/system/clocksource/clocksource0/current_clocksource)",
	})
}
