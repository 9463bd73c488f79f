package html

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"wirelab/lab/kind/capacity"
	"wirelab/lab/kind/kinds"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/results/report"
)

// validity says whether the numbers can be trusted, and why.
type validity struct {
	Headline string
	Tone     string
	Gates    []gate
	Doubts   []gate        // the gates that failed or limit something
	Facts    []report.Fact // calibration, resolution, noise, number of checked replies
	Figures  []*figure
	Floors   *figure
	Checks   *figure // every check of every arm
}

// gate is one check over all arms and loads, shown as a tick with words.
type gate struct {
	Name, Words, Tip string
	State            string // "ok", "limited", "failed"
	Icon             string
}

func (s *sheet) validity() validity {
	v := validity{Tone: "claim"}
	pairs, bad, limited := 0, 0, 0
	for i := range s.a.Loads {
		for a := range s.a.Loads[i].Arms {
			arm := &s.a.Loads[i].Arms[a]
			if len(arm.Checks) == 0 {
				continue
			}
			pairs++
			switch {
			case len(arm.Failed()) > 0:
				bad++
			case slices.ContainsFunc(arm.Checks, func(c claim.Check) bool { return c.Limited }):
				limited++
			}
		}
	}
	what := "arms"
	if len(s.a.Loads) > 1 {
		what = "pairs of arm and load"
	}
	switch {
	case pairs == 0 && len(capacity.SearchOf(s.r).Rounds) > 0:
		v.Headline = "Each probe was checked when it was made. One that failed a check decided nothing."
	case pairs == 0:
		v.Headline, v.Tone = "Nothing was measured, so there was nothing to check.", "bad"
	case bad > 0:
		v.Headline, v.Tone = fmt.Sprintf("Checks failed for %d of %d %s: what they cover is refused, and shown so.",
			bad, pairs, what), "bad"
	case limited > 0:
		v.Headline, v.Tone = fmt.Sprintf("Every check passed. Figures of %d of %d %s are marked as limited.", limited,
			pairs, what), "open"
	default:
		v.Headline = fmt.Sprintf("Every check passed, for all %d %s.", pairs, what)
	}
	for _, g := range result.Gates() {
		if one, ok := s.gate(g); ok {
			v.Gates = append(v.Gates, one)
			if one.State != "ok" {
				v.Doubts = append(v.Doubts, one)
			}
		}
	}
	for _, f := range report.Facts(s.r, s.a) {
		switch name := validityFacts[f.Name]; {
		case f.Name == "checked":
			checked := report.ShapeOf(kinds.OfPlan(s.r.Plan).Name).Checked
			v.Facts = append(v.Facts, report.Fact{Name: checked, Text: f.Text})
		case name != "":
			v.Facts = append(v.Facts, report.Fact{Name: name, Text: f.Text})
		}
	}
	if s.r.Certificate == nil {
		v.Facts = append(v.Facts,
			report.Fact{Name: "Machine certificate", Text: "none was made; wirelab doctor makes one"})
	}
	for _, f := range []*figure{s.noise(), s.lag()} {
		if f != nil {
			v.Figures = append(v.Figures, f)
		}
	}
	v.Floors, v.Checks = s.floors(), s.checks()
	return v
}

// validityFacts are the facts about whether figures can be trusted, with their names in this part.
var validityFacts = map[string]string{
	"here": "This machine can tell", "resolves": "This run could see", "checked": "Replies", "noise": "Noise",
	"database": "Database", "brokers": "Brokers",
}

// gate says how a gate went, over all arms and loads to which it was applied.
func (s *sheet) gate(g result.Gate) (one gate, applied bool) {
	one = gate{Name: string(g), State: "ok", Icon: "✓"}
	passed, total := 0, 0
	var failed, limited, tips []string
	for i := range s.a.Loads {
		for a := range s.a.Loads[i].Arms {
			arm := &s.a.Loads[i].Arms[a]
			for _, c := range arm.Checks {
				if c.Gate != g {
					continue
				}
				total++
				switch {
				case !c.OK:
					failed = append(failed, arm.Name)
				case c.Limited:
					limited = append(limited, arm.Name)
					passed++
				default:
					passed++
					continue
				}
				tips = append(tips, arm.Name+", "+report.LoadName(s.r.Plan, i)+": "+c.Detail)
			}
		}
	}
	if total == 0 {
		return one, false
	}
	one.Words = fmt.Sprintf("passed, %d of %d", passed, total)
	if len(limited) > 0 {
		one.State, one.Icon, one.Words = "limited", "†", fmt.Sprintf("limited, %d of %d", len(limited), total)
		switch g {
		case result.AboveFloor:
		case result.DatabaseSeen:
			one.Icon = "◊"
		default:
			one.Icon = "‡"
		}
	}
	if len(failed) > 0 {
		one.State, one.Icon, one.Words = "failed", "✗", fmt.Sprintf("failed, %d of %d", len(failed), total)
	}
	const most = 6
	if len(tips) > most {
		tips = append(tips[:most], fmt.Sprintf("and %d more, in the table below", len(tips)-most))
	}
	if len(tips) > 0 {
		one.Tip = s.tip(strings.Join(tips, "\n")).Value
	}
	return one, true
}

// checks is the table of every check of every arm, failed ones first.
func (s *sheet) checks() *figure {
	f := &figure{ID: "checks", Title: "Every check"}
	f.Head = []string{"outcome", "check", "arm", "load", "found", "limit", "in words"}
	raw := [][]string{{"outcome", "check", "arm", "load", "value", "limit", "unit", "detail", "fix"}}
	outcomes := []string{"failed", "limited", "passed"}
	if s.large() {
		f.Title = "Every check that failed or limits a figure; those that passed are too many for a page, and in " +
			"wirelab results export"
		outcomes = outcomes[:2]
	}
	for _, want := range outcomes {
		for i := range s.a.Loads {
			for a := range s.a.Loads[i].Arms {
				arm := &s.a.Loads[i].Arms[a]
				for _, c := range arm.Checks {
					outcome := "passed"
					switch {
					case !c.OK:
						outcome = "failed"
					case c.Limited:
						outcome = "limited"
					}
					if outcome != want {
						continue
					}
					found, limit := "", ""
					if c.Unit != "" {
						found, limit = report.Significant(c.Value, 3), report.Significant(c.Limit, 3)
					}
					detail := c.Detail
					if c.Fix != "" {
						detail += "; to change: " + c.Fix
					}
					f.Rows = append(f.Rows,
						[]cell{
							{Text: outcome, Class: outcome},
							words(string(c.Gate)), words(arm.Name),
							words(report.LoadName(s.r.Plan, i)), figures(found), figures(limit), words(detail),
						})
					raw = append(raw,
						[]string{
							outcome, string(c.Gate), arm.Name, report.LoadName(s.r.Plan, i), exact(c.Value),
							exact(c.Limit), c.Unit, c.Detail, c.Fix,
						})
				}
			}
		}
	}
	if len(f.Rows) == 0 {
		return nil
	}
	f.data(s.file("checks", nil), raw)
	return f
}

// floors is the table of drivers measured against a server that does nothing.
func (s *sheet) floors() *figure {
	f := &figure{ID: "floors", Title: "Floors: the same driver before a server that does nothing"}
	f.Head = []string{
		"load", "arm", "floor, median", "arm, times the floor", "floor, client CPU",
		"floor, rate of the fastest arm's", "",
	}
	raw := [][]string{{"load", "arm", "floor_p50_ns", "times", "floor_client_cpu_ns", "headroom", "limited"}}
	for i := range s.shown.Loads {
		name := report.LoadName(s.r.Plan, i)
		for a := range s.shown.Loads[i].Arms {
			arm := &s.shown.Loads[i].Arms[a]
			floor := arm.Floor
			absent := figures(report.Absent)
			switch {
			case floor.Known:
				row := []cell{
					words(name), words(arm.Name), figures(report.Duration(time.Duration(floor.P50))),
					figures(report.FloorTimes(arm)),
					figures(report.Duration(time.Duration(floor.ClientCPU))), absent, words(""),
				}
				if floor.Headroom > 0 || floor.Refused["headroom"] != nil {
					row[5] = figures(report.FloorHeadroom(arm))
				}
				if floor.Limited {
					row[6] = words("floor-limited")
				}
				f.Rows = append(f.Rows, row)
				raw = append(raw, []string{
					name, arm.Name, exact(floor.P50), report.ExactUnless(floor.Refused, "times", floor.Times),
					exact(floor.ClientCPU), report.ExactUnless(floor.Refused, "headroom", floor.Headroom),
					fmt.Sprint(floor.Limited),
				})
			case floor.Why != "":
				f.Rows = append(f.Rows,
					[]cell{words(name), words(arm.Name), absent, absent, absent, absent, words("none: " + floor.Why)})
				raw = append(raw, []string{name, arm.Name, "", "", "", "", floor.Why})
			}
		}
	}
	if !slices.ContainsFunc(s.shown.Loads, headroom) { // only loads of messages
		f.Head = slices.Delete(f.Head, 5, 6)
		for i := range f.Rows {
			f.Rows[i] = slices.Delete(f.Rows[i], 5, 6)
		}
	}
	if len(f.Rows) == 0 {
		return nil
	}
	f.data(s.file("floors", nil), raw)
	return f
}

// headroom reports whether a load's drivers were judged by how many messages they send by themselves.
func headroom(l claim.LoadAnalysis) bool {
	return slices.ContainsFunc(l.Arms,
		func(arm claim.ArmState) bool { return arm.Floor.Headroom > 0 || arm.Floor.Refused["headroom"] != nil })
}
