package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/metric"
)

// The marks that follow a figure that says less than it seems to.
const (
	floorMark  = "†"
	busyMark   = "‡"
	unseenMark = "◊"
)

// Marks returns the marks of an arm's figure of a metric; "" for most figures.
func Marks(arm *claim.ArmState, m metric.Metric) string {
	text := ""
	for _, c := range arm.Marks(m) {
		switch c.Gate {
		case result.AboveFloor:
			text += floorMark
		case result.DatabaseSeen:
			text += unseenMark
		default:
			text += busyMark
		}
	}
	return text
}

// MarkWords writes the marks of an arm's metric in words, for formats that have the space: "floor-limited".
func MarkWords(arm *claim.ArmState, m metric.Metric) []string {
	var all []string
	for _, c := range arm.Marks(m) {
		word, _, _ := strings.Cut(c.Detail, ":")
		all = append(all, word)
	}
	return all
}

// Legend explains the marks under a load, and says what to change.
func Legend(l *claim.LoadAnalysis) []string {
	lines := earlyOf(l)
	for _, gate := range []result.Gate{result.AboveFloor, result.Neighbours, result.DatabaseSeen} {
		fix := ""
		for a := range l.Arms {
			for _, c := range l.Arms[a].Checks {
				if c.Gate == gate && c.OK && c.Limited {
					fix = c.Fix
				}
			}
		}
		switch {
		case fix == "":
		case gate == result.AboveFloor:
			lines = append(lines, floorMark+" floor-limited: "+ShapeOf(l.Kind).limited(l)+"; "+fix)
		case gate == result.DatabaseSeen:
			lines = append(lines, unseenMark+" the database was not seen, and may have been the limit; "+fix)
		default:
			lines = append(lines, busyMark+" of a busy machine: compare these figures, and quote none; "+fix)
		}
	}
	return lines
}

// Floor returns an arm's metric measured against a server that does nothing, in the metric's unit; false if there is
// none.
func Floor(arm *claim.ArmState, m metric.Metric) (float64, bool) {
	v := 0.0
	switch m.ID {
	case plan.ResponseP50, plan.ServiceP50:
		v = arm.Floor.P50
	case plan.Throughput, plan.MessageRate:
		v = arm.Floor.Throughput
	case plan.ClientCPU:
		v = arm.Floor.ClientCPU
	}
	return v, v > 0
}

// Validity gives the result of each arm's checks. Arms with the same result share a line: "grpc and connect: all 17
// checks passed".
func Validity(l *claim.LoadAnalysis) []string {
	return grouped(l, func(arm *claim.ArmState) []string {
		if arm.Rounds == 0 {
			return nil
		}
		failed, text := arm.Failed(), fmt.Sprintf(": all %d checks passed", len(arm.Checks))
		if len(failed) > 0 {
			names := make([]string, len(failed))
			for i, c := range failed {
				names[i] = string(c.Gate) + measured(c)
			}
			text = fmt.Sprintf(": %d of %d checks passed; failed: %s", len(arm.Checks)-len(failed), len(arm.Checks),
				strings.Join(names, ", "))
		}
		for _, c := range arm.Checks {
			if c.OK && c.Limited {
				text += "; " + limited(c)
			}
		}
		return []string{text}
	})
}

// limited explains a mark, with its number.
func limited(c claim.Check) string {
	switch c.Gate {
	case result.AboveFloor:
		return fmt.Sprintf("floor-limited (%s %s)", Significant(c.Value, 2), c.Unit)
	case result.DatabaseSeen:
		return "database not seen"
	}
	return "busy machine" + measured(c)
}

// measured writes a check's value next to its limit: " (45 %, limit 10 %)".
func measured(c claim.Check) string {
	if c.Unit == "" || c.Limit == 0 {
		return ""
	}
	show := Significant
	switch {
	case strings.HasPrefix(c.Unit, "of "):
		show = func(v float64, digits int) string { return Significant(100*v, digits) + " %" }
	case c.Unit == "µs":
		show = func(v float64, digits int) string {
			if digits == 2 {
				return Duration(time.Duration(math.Round(v * 1e3)))
			}
			return Significant(v, digits) + " µs"
		}
	}
	is, limit := apart(c.Value, c.Limit, show)
	return fmt.Sprintf(" (%s, limit %s)", is, limit)
}

// apart writes two values with as many digits as are needed to tell them apart: "70 %, limit 70 %" would read as
// within the limit.
func apart(a, b float64, show func(v float64, digits int) string) (string, string) {
	for digits := 2; ; digits++ {
		x, y := show(a, digits), show(b, digits)
		if x != y || a == b || digits == 9 {
			return x, y
		}
	}
}

// grouped collects the lines of arms. Arms that share a line are named together.
func grouped(l *claim.LoadAnalysis, of func(*claim.ArmState) []string) []string {
	var who Groups[string, string]
	for a := range l.Arms {
		for _, text := range of(&l.Arms[a]) {
			who.Add(text, l.Arms[a].Name)
		}
	}
	return who.Each(func(text string, arms []string) string {
		return choose(len(l.Arms) > listed && len(arms) == len(l.Arms), "all arms", List(arms)) + text
	})
}

// spoiled says which figures are invalid, why, and what to change. It gives all checks that fail whole arms;
// otherwise the first reason for each kind of figure.
func spoiled(arm *claim.ArmState) []string {
	var lines []string
	add := func(what string, c claim.Check) {
		text := what + c.Detail
		if c.Fix != "" {
			text += "; to change: " + c.Fix
		}
		lines = append(lines, text)
	}
	whole := slices.DeleteFunc(arm.Failed(), func(c claim.Check) bool { return !claim.Whole(c.Gate) })
	if len(whole) > 0 {
		for _, c := range whole {
			switch c.Gate {
			case result.Steady, result.Settled:
				add(": ", c) // a finding, whose text is complete by itself
			default:
				add(": invalid: ", c)
			}
		}
		return lines
	}
	late := false
	for _, c := range arm.Failed() {
		switch c.Gate {
		case result.OnTime50, result.OnTime99, result.OnTime999:
			if !late { // the first of the three covers what the others do
				add(map[result.Gate]string{
					result.OnTime50:  ": times are invalid: ",
					result.OnTime99:  ": p99 and beyond are invalid: ",
					result.OnTime999: ": p99.9 is invalid: ",
				}[c.Gate], c)
			}
			late = true
		case result.Recovery:
			add(": outages are not known: ", c)
		default:
			add(": times and throughput are invalid: ", c)
		}
	}
	return lines
}
