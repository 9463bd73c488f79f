package report

import (
	"fmt"
	"slices"
	"strings"

	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/metric"
)

// refusals collects the reasons why figures are missing, in the order in which they occur.
type refusals struct {
	all   []*refusal
	alone bool // there is only one arm, which need not be named
}

// refusal is one reason.
type refusal struct {
	key     string
	check   *claim.Check // the worst one; nil if the reason is not a check
	why     string       // of the first missing figure
	several bool         // other arms have the same reason with other numbers
	text    string       // replaces the text that is made from the fields above
	cells   []refusedCell
}

// refusedCell identifies a missing figure.
type refusedCell struct{ load, arm, what string }

// numerals are the marks of reasons.
var numerals = []string{"¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"}

// add records that an arm has no figure of a metric, and returns the mark of the reason.
func (all *refusals) add(p plan.Plan, l *claim.LoadAnalysis, m metric.Metric, arm int, what string) string {
	state := &l.Arms[arm]
	why := l.Row(m.ID).Cells[arm].Estimate.Why
	var check *claim.Check
	for _, c := range state.Failed() {
		if gated(state, m) && c.Detail == why {
			check = &c
			break
		}
	}
	key := why
	switch {
	case check != nil:
		key = string(check.Gate)
	case m.Quantile > 0:
		key = "quantile" // these reasons differ only in their numbers
	}
	i := slices.IndexFunc(all.all, func(r *refusal) bool { return r.key == key })
	if i < 0 {
		i = all.put(&refusal{key: key, check: check, why: why})
	}
	found := all.all[i]
	found.several = found.several || found.why != why
	if check != nil && found.check != nil && beyond(check, found.check) {
		found.check = check
	}
	if cell := (refusedCell{LoadName(p, l.Load), state.Name, what}); !slices.Contains(found.cells, cell) {
		found.cells = append(found.cells, cell)
	}
	return numerals[i]
}

// put adds a reason, and returns its index.
func (all *refusals) put(r *refusal) int {
	if last := len(numerals) - 1; len(all.all) > last {
		all.all[last].several = true // the last mark stands for all further reasons
		return last
	}
	all.all = append(all.all, r)
	return len(all.all) - 1
}

// note is [refusals.add] for a figure that belongs to no metric.
func (all *refusals) note(key, why string, cell refusedCell) string {
	i := slices.IndexFunc(all.all, func(r *refusal) bool { return r.key == key })
	if i < 0 {
		i = all.put(&refusal{key: key, why: why})
	}
	found := all.all[i]
	if !slices.Contains(found.cells, cell) {
		found.cells = append(found.cells, cell)
	}
	return numerals[i]
}

// say sets the text of a reason that was noted, and reports whether there was one.
func (all *refusals) say(key, text string) bool {
	i := slices.IndexFunc(all.all, func(r *refusal) bool { return r.key == key })
	if i >= 0 {
		all.all[i].text = text
	}
	return i >= 0
}

// beyond reports whether a check exceeded its limit by more than another check of the same gate.
func beyond(a, b *claim.Check) bool {
	if a.AtLeast {
		return a.Value < b.Value
	}
	return a.Value > b.Value
}

// lines returns the reasons, each with its mark and the figures that it is the reason for.
func (all *refusals) lines(loads int) []string {
	lines := make([]string, len(all.all))
	for i, r := range all.all {
		lines[i] = numerals[i] + " " + r.line(loads, all.alone)
	}
	return lines
}

func (r *refusal) line(of int, alone bool) string {
	if r.text != "" {
		return r.text
	}
	var whats, arms, loads []string
	for _, c := range r.cells {
		for _, one := range []struct {
			text string
			to   *[]string
		}{{c.what, &whats}, {c.arm, &arms}, {c.load, &loads}} {
			if !slices.Contains(*one.to, one.text) {
				*one.to = append(*one.to, one.text)
			}
		}
	}
	what := List(whats)
	if r.check != nil && claim.Whole(r.check.Gate) {
		what = "every figure"
	}
	who := " of " + List(arms)
	switch {
	case alone:
		who = ""
	case len(arms) > 3:
		who = fmt.Sprintf(" of %d arms", len(arms))
	}
	at := ""
	if len(loads) < of {
		at = " (" + List(loads) + ")"
		if len(loads) > 3 {
			at = fmt.Sprintf(" (under %d loads)", len(loads))
		}
	}
	head := "refused: "
	if r.check == nil {
		head = "no figure: "
	}
	return head + what + who + at + ": " + r.reason()
}

// reason gives the reason in one clause, with the worst number and what to change.
func (r *refusal) reason() string {
	if r.check == nil {
		if r.several {
			return "first: " + r.why
		}
		return r.why
	}
	text, fix := refusalWords(r.check), r.check.Fix
	if text == "" {
		if text = r.check.Detail; r.several {
			text = "first: " + text
		}
	}
	if fix == "" {
		return text
	}
	return text + "; try: " + fix
}

// refusalWords describes a failed check in the reader's words, with its number; "" if the check's own words are as
// short.
func refusalWords(c *claim.Check) string {
	words, ok := map[result.Gate]string{
		result.GeneratorCPU:    "the load generator was too busy",
		result.GeneratorWaits:  "the load generator had to wait for a CPU",
		result.GeneratorPauses: "the load generator stopped to collect garbage",
		result.Steal:           "the hypervisor gave the CPU to others",
		result.Neighbours:      "other programs were using the CPU",
		result.Steady:          "no steady state",
		result.Settled:         "server CPU per request was still falling",
		result.OnTime50:        "requests were sent late",
		result.OnTime99:        "requests were sent late",
		result.OnTime999:       "requests were sent late",
	}[c.Gate]
	if !ok {
		return ""
	}
	return words + measured(*c)
}

// someRefused reports whether a check is any of the reasons.
func (all *refusals) someRefused() bool {
	return slices.ContainsFunc(all.all, func(r *refusal) bool { return r.check != nil })
}

// markOf returns the mark of the reason for a missing figure; "" if it has none yet.
func (all *refusals) markOf(p plan.Plan, l *claim.LoadAnalysis, arm int, what string) string {
	cell := refusedCell{LoadName(p, l.Load), l.Arms[arm].Name, what}
	for i, r := range all.all {
		if slices.Contains(r.cells, cell) {
			return numerals[i]
		}
	}
	return ""
}

// trimmedStop removes the full stop at the end of a clause.
func trimmedStop(text string) string { return strings.TrimSuffix(text, ".") }
