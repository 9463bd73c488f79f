package gate

import (
	"fmt"
	"strings"
	"time"

	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/words"
)

// Limits on other activity of the machine in a round. Arms alternate within a round and differences are taken within
// it, so temporary disturbances widen intervals but do not shift them (docs/concepts/claims.md: 3 to 6 % false
// differences on a busy machine, where 5 % are intended). The limits concern times, and not CPU, bytes or allocations
// per call.
const (
	// StealShare is the allowed steal time. The hypervisor stops a CPU for milliseconds at a time, invisibly to the
	// process. Above 5 %, every 20th call, and so p90 and beyond, is affected.
	StealShare = 0.05
	// neighbourShare is the share of the CPUs above which use by others marks times as those of a busy machine. Above
	// NeighbourLimit they are invalid: others then use as much of the CPUs as server or driver can at most.
	neighbourShare = 0.1
	NeighbourLimit = 0.5
)

// Noise applies the gates on the machine to the rounds of the arm. Pressure has no gate: it includes the experiment's
// own tasks, which wait for each other. Neither do preemptions. Both are stored and shown.
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
			Detail: words.Choose(held == 0, "the control group was never throttled",
				fmt.Sprintf("the control group was throttled %s, for up to %v: its quota of CPU was used up",
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
		"the hypervisor took up to %s of the CPUs", "machine not available: the hypervisor took up to %s of the CPUs",
		"use another machine or a dedicated one, or at least another time of day")
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
	fix := s.Result.WhoElse("stop other programs: wirelab doctor names them")
	_, held := s.Each(func(_ int, t *result.Trial) (float64, bool, bool) {
		seen := s.shifts() && s.serverSeen(t) && Used(t) != nil
		return 0, !seen || serverWait(s.Result, t, s.serverCores()) <= waitShare, true
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
		// The effect of others on shared caches is not visible, so figures that are kept are at least marked.
		s.judge(&c, c.Detail, func(t *result.Trial, q float64) (float64, bool) { return s.hindered(t, q, true) })
		c.Limited = true
	}
	c.Detail = words.Choose(c.OK, "busy machine: ", "machine too busy: ") + c.Detail
	s.Add(c)
}

// coarse reports whether a clock source takes a microsecond or more to read, or has such a resolution. The engine
// reads the clock twice for each call.
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
			"the clock source is "+source+", which is slow and coarse: every measured time includes its cost"),
		Fix: "let the kernel use tsc or kvm-clock " +
			"(/sys/devices/system/clocksource/clocksource0/current_clocksource)",
	})
}
