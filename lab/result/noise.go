package result

import (
	"fmt"
	"strings"
	"time"
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
	stealShare = 0.05
	// neighbourShare of the CPUs used by others marks times as those of a busy
	// machine; neighbourLimit makes them invalid: others then have as much of
	// the CPUs as server or driver can have at all.
	neighbourShare = 0.1
	neighbourLimit = 0.5
)

// noise applies the gates on the machine, to the rounds that the arm was in.
// Pressure has none: the experiment's own tasks, which wait for each other, are
// in it, and so are preemptions'. Both are stored and shown.
func (s *subject) noise() {
	s.clock()
	throttled, held := s.each(func(n int, _ *Trial) (float64, bool, bool) {
		d := s.result.Rounds[n].Noise.Throttled
		return micros(time.Duration(d)), d <= 0, d >= 0
	})
	if len(throttled) > 0 {
		most := worst(throttled, false)
		s.add(Check{
			Gate: Throttling, OK: held == 0, Value: most, Unit: "µs", Rounds: throttled,
			Detail: choose(held == 0, "the control group was never held back",
				fmt.Sprintf("the control group was held back %s, for up to %v: its quota of CPU was used up",
					inRounds(held, len(throttled)), brief(time.Duration(most*1e3)))),
			Fix: "raise or remove the quota of the control group or container (cpu.max, --cpus)",
		})
	}
	share := func(of func(Noise) float64, limit float64) ([]Reading, int) {
		return s.each(func(n int, _ *Trial) (float64, bool, bool) {
			v := of(s.result.Rounds[n].Noise)
			return v, v <= limit, v >= 0
		})
	}
	readings, failed := share(func(n Noise) float64 { return n.Steal }, stealShare)
	s.shares(Steal, readings, failed, stealShare, "of the CPUs' time",
		"the hypervisor took up to %s of the CPUs", "machine not there: the hypervisor took up to %s of the CPUs",
		"another machine or a dedicated one; at least another hour")
	s.neighbours(share(func(n Noise) float64 { return n.Others }, neighbourShare))
}

func (s *subject) neighbours(readings []Reading, busy int) {
	if len(readings) == 0 {
		return
	}
	full := 0
	for _, r := range readings {
		if r.Value > neighbourLimit {
			full++
		}
	}
	fix := s.result.whoElse("stop what else runs here: wirelab doctor names it")
	_, held := s.each(func(_ int, t *Trial) (float64, bool, bool) {
		seen := s.shifts() && s.serverSeen(t) && used(t) != nil
		return 0, !seen || serverWait(s.result, t, s.cores(s.result.Placement.ServerCPUs)) <= waitShare, true
	})
	limit, over := neighbourShare, busy
	if !enough(full, len(readings)) {
		limit, over = neighbourLimit, full
	}
	most := percent(worst(readings, false))
	c := Check{
		Gate: Neighbours, OK: limit < neighbourLimit, Limited: limit < neighbourLimit, Value: worst(readings, false), Limit: limit,
		Unit: "of the CPUs' time", Rounds: readings, Fix: fix,
		Detail: fmt.Sprintf("other processes used up to %s of the CPUs", most),
	}
	switch {
	case !enough(over, len(readings)):
		c.Detail += fmt.Sprintf(", and more than %s %s", percent(limit), inRounds(over, len(readings)))
	case !enough(held, len(readings)):
		c.Detail += fmt.Sprintf(", and kept the server from its own for more than %s of the time %s", percent(waitShare), inRounds(held, len(readings)))
	default:
		s.shares(Neighbours, readings, busy, neighbourShare, "of the CPUs' time", "other processes used up to %s of the CPUs", "", fix)
		return
	}
	if s.shifts() {
		// What a cache is worth that others fill is not seen: what is kept is marked at least.
		s.judge(&c, c.Detail, func(t *Trial, q float64) (float64, bool) { return s.hindered(t, q, true) })
		c.Limited = true
	}
	c.Detail = choose(c.OK, "busy machine: ", "machine too busy: ") + c.Detail
	s.add(c)
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

func (s *subject) clock() {
	source := s.result.Environment.ClockSource
	if source == "" {
		return
	}
	s.add(Check{
		Gate: Clock, OK: !coarse(source),
		Detail: choose(!coarse(source), "the clock source is "+source, "the clock source is "+source+", which is slow and coarse: its cost is in every time"),
		Fix:    "let the kernel use tsc or kvm-clock (/sys/devices/system/clocksource/clocksource0/current_clocksource)",
	})
}
