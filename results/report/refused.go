package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/metric"
	"wirelab/results/report/block"
)

// Refused writes a value that a check refused, in the place of its figure: "(24.1)".
func Refused(text string) string { return "(" + text + ")" }

// IsRefused reports whether [Refused] wrote a text, and returns the value without the mark.
func IsRefused(text string) (value string, refused bool) {
	if strings.HasPrefix(text, "(") && strings.HasSuffix(text, ")") {
		return text[1 : len(text)-1], true
	}
	return text, false
}

// RefusedLegend explains the mark of refused values.
const RefusedLegend = "(…) measured, and refused by a check: not to be compared or quoted; the reasons are below"

// ShowsRefused reports whether a load has a refused value that is to be printed.
func ShowsRefused(l *claim.LoadAnalysis) bool {
	for _, row := range l.Rows {
		if slices.ContainsFunc(row.Cells, func(c claim.Cell) bool { return c.Estimate.ShownRefused() != nil }) {
			return true
		}
	}
	return false
}

// plainOr writes a plain field. A refused field is marked if it is to be printed, and [Absent] if not.
func plainOr(refused claim.Refusals, field string, plain float64, write func(float64) string) string {
	if refused[field] == nil {
		return write(plain)
	}
	if one := refused.Shown(field); one != nil {
		return Refused(write(one.Value))
	}
	return Absent
}

// refusedDigits writes a refused value as [Value] would with its interval: with three digits, or all digits of a
// whole number.
func refusedDigits(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return group(fmt.Sprintf("%.0f", v))
	}
	return Significant(v, 3)
}

// Answered writes how many calls per second an arm answered in an open loop.
func Answered(arm *claim.ArmState) string {
	return plainOr(arm.Refused, "achieved", arm.Achieved, func(v float64) string { return Significant(v, 3) })
}

// FloorText writes a metric measured against a server that does nothing, in a unit and without its name. It returns
// "" if there is none, or if the figure next to it is refused and refused figures are not printed.
func FloorText(arm *claim.ArmState, m metric.Metric, unit Unit) string {
	v, ok := Floor(arm, m)
	switch {
	case !ok:
	case arm.Spoiled(m) == "":
		return Significant(v/unit.Size, 3)
	case arm.Floor.Refused.Shown("times") != nil:
		return Refused(Significant(v/unit.Size, 3))
	}
	return ""
}

// FloorTimes writes the ratio of an arm's median to its floor.
func FloorTimes(arm *claim.ArmState) string {
	return plainOr(arm.Floor.Refused, "times", arm.Floor.Times, times3)
}

// FloorHeadroom writes the ratio of the messages that the driver sends by itself to those of the fastest arm.
func FloorHeadroom(arm *claim.ArmState) string {
	return plainOr(arm.Floor.Refused, "headroom", arm.Floor.Headroom, times3)
}

func times3(v float64) string { return Significant(v, 3) + " ×" }

// RateOf writes an estimate of calls per second: "21.4k/s".
func RateOf(e claim.Estimate) string {
	switch one := e.ShownRefused(); {
	case e.Known:
		return Rate(e.Value, 3)
	case one != nil:
		return Refused(Rate(one.Value, 3))
	}
	return Absent
}

// streamsSpread writes the range of one quantity over an arm's streams.
func streamsSpread(s *claim.StreamState, field string, of func(claim.ClientState) float64,
	write func(float64) string,
) string {
	low, high, ok := s.Spread(of)
	if ok || !slices.ContainsFunc(s.Clients, func(c claim.ClientState) bool { return c.Refused[field] != nil }) {
		if !ok && field != "achieved" {
			return Absent
		}
		return fromTo(write(low), write(high))
	}
	low, high, ok = s.Spread(func(c claim.ClientState) float64 {
		if one := c.Refused.Shown(field); one != nil {
			return one.Value
		}
		return 0
	})
	if !ok {
		return Absent
	}
	return Refused(fromTo(write(low), write(high)))
}

// nanos writes a time in ns, as a duration.
func nanos(ns float64) string { return Duration(time.Duration(ns)) }

// RefusedProbes lists each probe of a search that cannot be trusted, with its figure and the reason. The list is
// empty if refused figures are not printed.
func RefusedProbes(c *claim.CapacityAnalysis) []string {
	var lines []string
	for i := range c.Arms {
		for _, round := range c.Arms[i].Rounds {
			if round.Refused == nil {
				continue
			}
			for _, p := range round.Refused.Probes {
				if p.Shown {
					lines = append(lines, fmt.Sprintf("%s, round %d, a probe at %s: %s refused: %s",
						c.Arms[i].Name, round.Round, Rate(p.Rate, 3), Refused(p.Says), p.Why))
				}
			}
		}
	}
	return lines
}

// RefusedBlocks lists the refused values of the main metrics that are to be printed, each with its reason, for
// formats that have no table of them. It returns none if there are none.
func RefusedBlocks(r *result.Result, a *claim.Analysis) []block.Block {
	var lines []string
	for i := range a.Loads {
		l := &a.Loads[i]
		for _, m := range Main(l) {
			row := l.Row(m.ID)
			for arm, c := range row.Cells {
				if c.Estimate.ShownRefused() != nil {
					lines = append(lines, fmt.Sprintf("%s of %s, %s: %s refused: %s", m.Title, l.Arms[arm].Name,
						LoadName(r.Plan, l.Load), With(c.Estimate, RowUnit(m, row)), c.Estimate.Why))
				}
			}
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return []block.Block{
		block.Heading{Text: "Measured, and refused by a check"},
		block.Notes{Lines: lines},
		block.Notes{Kind: block.Method, Lines: []string{
			"No statement above uses these values: they are not to be compared or quoted.",
		}},
	}
}
