package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"wirelab/lab/kind/kinds"
	"wirelab/lab/plan"
	"wirelab/lab/result/threshold"
)

// OutcomeWords writes an outcome and what would decide it: "pass", "fail", "inconclusive, +22 rounds".
func OutcomeWords(f *threshold.Finding) string {
	if f.Outcome == threshold.Undecided && f.More > 0 {
		return string(f.Outcome) + ", " + MoreRounds(f.More)
	}
	return string(f.Outcome)
}

// Figure writes the figure of a finding and its interval: "+32.4 %" and "[+31.6, +33.2]", "24.1 ms" and "[23.8,
// 24.4]". It returns [Absent] and "" if there is no figure. It writes enough digits to tell the bounds from the
// limit.
func Figure(f *threshold.Finding) (value, interval string) {
	if !f.Known {
		return Absent, ""
	}
	form, unit := figureForm(f)
	value = strings.TrimRight(form(f.Value)+" "+unit, " ")
	if unit != "" && unit[0] == '/' {
		value = form(f.Value) + unit
	}
	switch {
	case !f.Bounded:
	case f.Low == f.High:
		interval = "exact"
	default:
		interval = "[" + form(f.Low) + ", " + form(f.High) + "]"
	}
	return value, interval
}

// mostDigits is the greatest number of significant digits of a value, or of decimals of a percentage, used to tell a
// bound from a limit that is close to it.
const mostDigits = 6

// figureForm returns the format of a finding's numbers, and their unit.
func figureForm(f *threshold.Finding) (form func(float64) string, unit string) {
	width, least := 0.0, 3
	if f.Bounded {
		width = f.High - f.Low
	}
	var with func(v float64, digits int) string
	switch {
	case f.Relative:
		with, unit = change, "%"
		if least = 1; 100*width/2 >= 5 {
			least = 0
		}
	case f.Metric == threshold.ErrorShare:
		with, unit, least = func(v float64, digits int) string { return Significant(100*v, digits) }, "%", 2
	default:
		m, err := kinds.MetricByID(f.Metric)
		u := UnitFor(m.Dimension, f.Value)
		if err != nil || m.Counted {
			u = Unit{Size: 1}
		}
		unit = u.Name
		with = func(v float64, digits int) string {
			if v /= u.Size; v == math.Trunc(v) && v < 1000 {
				return strconv.FormatFloat(v, 'f', -1, 64)
			}
			return Significant(v, digits)
		}
	}
	for digits := least; ; digits++ {
		limit := with(f.Limit, digits)
		same := f.Low != f.Limit && with(f.Low, digits) == limit || f.High != f.Limit && with(f.High, digits) == limit
		if !f.Bounded || !same || digits == mostDigits {
			return func(v float64) string { return with(v, digits) }, unit
		}
	}
}

// Finding writes a finding as a phrase: "server CPU per request of grpc, with 1 call in flight: +32.4 % (95 % CI
// +31.6 to +33.2), over the limit of +3%".
func Finding(p plan.Plan, f *threshold.Finding) string {
	title := "share of failed calls"
	if m, err := kinds.MetricByID(f.Metric); err == nil {
		title = m.Title
	}
	load := Load(p, f.Load)
	text := title + " of " + f.ArmName + ", " + strings.ToLower(load[:1]) + load[1:] + ": "
	value, interval := Figure(f)
	if f.Known {
		text += value
		switch {
		case interval == "exact":
			text += " (exact)"
		case interval != "":
			low, high, _ := strings.Cut(strings.Trim(interval, "[]"), ", ")
			text += " (95 % CI " + low + " to " + high + ")"
		}
		text += ", "
	}
	limit := "limit of " + f.LimitText
	if !f.Known {
		limit = "nothing to compare with the " + limit
	}
	switch f.Outcome {
	case threshold.Crossed:
		if f.Below {
			return text + "under the " + limit
		}
		return text + "over the " + limit
	case threshold.Passed:
		return text + "within the " + limit
	case threshold.Undecided:
		if f.More > 0 {
			return text + limit + ": " + f.Why + "; " + MoreRounds(f.More) + " would probably decide"
		}
	}
	return text + limit + ": " + f.Why
}

// Judged says in a sentence how a result compares with its thresholds.
func Judged(p plan.Plan, j *threshold.Judgement) string {
	if j.Why != "" {
		return "Invalid: " + j.Why + "."
	}
	var found []string
	first, more := 0, 0 // rounds
	for i := range j.Findings {
		if f := &j.Findings[i]; f.Outcome == j.Outcome {
			if found = append(found, Finding(p, f)); len(found) == 1 {
				first = f.More
			}
			more = max(more, f.More)
		}
	}
	n := len(j.Findings)
	if j.Outcome == threshold.Passed {
		if n == 1 {
			return "Pass: " + found[0] + "."
		}
		return fmt.Sprintf("Pass: all %d comparisons are proved to be within their limits.", n)
	}
	start := map[threshold.Outcome]string{
		threshold.Crossed: "Fail", threshold.Undecided: "Inconclusive",
		threshold.Spoiled: "Invalid",
	}[j.Outcome]
	if n > 1 {
		start += fmt.Sprintf(" (%d of %d)", len(found), n)
	}
	text := start + ": " + found[0]
	if len(found) > 1 {
		text += fmt.Sprintf("; and %d more", len(found)-1)
	}
	if j.Outcome == threshold.Undecided && more > first {
		text += "; " + MoreRounds(more) + " would probably decide all that rounds can decide"
	}
	return text + "."
}

// JudgedNotes says why findings are neither pass nor fail, and how many were adjusted for multiple comparisons.
func JudgedNotes(j *threshold.Judgement) []string {
	type reason struct{ threshold, why string }
	var who Groups[reason, string]
	for i := range j.Findings {
		if f := &j.Findings[i]; f.Why != "" {
			who.Add(reason{f.Threshold, f.Why}, f.ArmName+" ("+f.LoadName+")")
		}
	}
	notes := who.Each(func(of reason, names []string) string {
		return of.threshold + ", " + List(names) + ": " +
			of.why
	})
	if j.Compared > 1 {
		notes = append(notes, fmt.Sprintf("failures are adjusted for %d comparisons (Holm); to pass, each interval "+
			"alone must keep its limit", j.Compared))
	}
	return notes
}
