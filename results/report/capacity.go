package report

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"wirelab/lab/kind/capacity"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
)

// Capacities writes all capacities in one line: "grpc 21.4k/s [20.9, 21.8] http1-json 13.0k/s [12.7, 13.2] ratio
// ×1.64 [1.59, 1.70]".
func Capacities(c *claim.CapacityAnalysis) string { return strings.Join(CapacityParts(c), "  ") }

// CapacityParts returns the parts of that line: those of the arms, then the ratios.
func CapacityParts(c *claim.CapacityAnalysis) []string {
	var parts []string
	for i := range c.Arms {
		parts = append(parts, c.Arms[i].Name+" "+CapacityOf(&c.Arms[i]))
	}
	for i := range c.Arms {
		d := c.Arms[i].Difference
		if d == nil || !d.Known {
			continue
		}
		name := "ratio"
		if len(c.Arms) > 2 {
			name = c.Arms[0].Name + " / " + c.Arms[i].Name
		}
		parts = append(parts, fmt.Sprintf("%s %s [%s, %s]", name, times(1/d.Ratio), Significant(1/d.High, 3),
			Significant(1/d.Low, 3)))
	}
	return parts
}

func times(ratio float64) string { return "×" + Significant(ratio, 3) }

// CapacityOf writes one arm's capacity: "21.4k/s [20.9, 21.8]", "≥ 40.1k/s", "< 12/s", or that it is not known.
func CapacityOf(a *claim.ArmCapacity) string {
	switch a.Kind {
	case claim.CapacityFound:
		return strings.TrimSpace(Rate(a.Rate.Value, 3) + " " + RateInterval(a.Rate))
	case claim.CapacityAtLeast:
		if a.Limited {
			return "≥ " + Rate(a.Bound, 3) + " (" + limitedBy(a) + ")"
		}
		return "≥ " + Rate(a.Bound, 3)
	case claim.CapacityBelow:
		return "< " + Rate(a.Bound, 3)
	}
	if a.Limited {
		return limitedBy(a)
	}
	return "not known"
}

// limitedBy names what prevented the search from finding a capacity.
func limitedBy(a *claim.ArmCapacity) string {
	if a.Machine {
		return "machine not fit"
	}
	return "generator-limited"
}

// CapacitySentences gives each arm's capacity, and compares it with the first arm's.
func CapacitySentences(c *claim.CapacityAnalysis) []string {
	all := make([]string, len(c.Arms))
	for i := range c.Arms {
		a := &c.Arms[i]
		var text string
		switch a.Kind {
		case claim.CapacityFound:
			text = fmt.Sprintf("%s keeps %s up to %s", a.Name, c.Objective, rate(whole(a.Rate.Value)))
			if a.Rate.Interval() {
				text += fmt.Sprintf(" (95 %% CI %s to %s)", Significant(a.Rate.Low, 3), Significant(a.Rate.High, 3))
			}
		case claim.CapacityAtLeast:
			text = fmt.Sprintf("%s keeps %s at %s; its capacity is at least that: %s", a.Name, c.Objective,
				rate(whole(a.Bound)), a.Why)
		case claim.CapacityBelow:
			text = fmt.Sprintf("%s does not keep %s even at %s: %s", a.Name, c.Objective, rate(whole(a.Bound)), a.Why)
		default:
			text = fmt.Sprintf("the capacity of %s is not known: %s", a.Name, a.Why)
		}
		all[i] = text + comparison(c, a) + "."
	}
	return all
}

// whole rounds a rate to three digits for use in a sentence.
func whole(perSecond float64) float64 {
	v, err := strconv.ParseFloat(strconv.FormatFloat(perSecond, 'e', 2, 64), 64)
	if err != nil {
		return perSecond // not reached: FormatFloat wrote the text
	}
	return v
}

// comparison compares an arm's capacity with the first arm's.
func comparison(c *claim.CapacityAnalysis, a *claim.ArmCapacity) string {
	d := a.Difference
	if d == nil {
		return ""
	}
	first := c.Arms[0].Name
	ratio := fmt.Sprintf("%s (95 %% CI %s to %s)", times(d.Ratio), Significant(d.Low, 3), Significant(d.High, 3))
	switch d.Verdict {
	case claim.Better:
		return fmt.Sprintf(", %s of %s: higher capacity", ratio, first)
	case claim.Worse:
		return fmt.Sprintf(", %s of %s: lower capacity", ratio, first)
	case claim.Equivalent:
		return fmt.Sprintf(", %s of %s: equivalent within %s", ratio, first, Margin(d.Margin))
	}
	if !d.Known {
		return "; nothing is claimed against " + first + ": " + d.Why
	}
	more := ""
	if d.More > 0 {
		more = ", " + MoreRounds(d.More)
	}
	return fmt.Sprintf(", %s of %s, which is undecided: %s%s", ratio, first, d.Why, more)
}

// CapacityWord writes the verdict on an arm's capacity in a word or two.
func CapacityWord(d *claim.Difference) string {
	switch d.Verdict {
	case claim.Better:
		return "bears more"
	case claim.Worse:
		return "bears less"
	case claim.Equivalent:
		return "equivalent " + Margin(d.Margin)
	case claim.Inconclusive:
		return "undecided, " + MoreRounds(d.More)
	}
	return string(d.Verdict)
}

// CapacityRatio writes the ratio of an arm's capacity to the first arm's, and its interval; both are "" if there is
// none.
func CapacityRatio(d *claim.Difference) (ratio, interval string) {
	if d == nil || !d.Known {
		return "", ""
	}
	return times(d.Ratio), "[" + Significant(d.Low, 3) + ", " + Significant(d.High, 3) + "]"
}

// CapacityRounds lists what each round found for an arm.
func CapacityRounds(a *claim.ArmCapacity) string {
	all := make([]string, len(a.Rounds))
	for i, r := range a.Rounds {
		v, ok := r.Found.Value()
		switch {
		case r.Refused != nil && r.Refused.Found != nil && r.Refused.Found.Shown:
			all[i] = Refused(Rate(r.Refused.Found.Value, 3))
		case ok:
			all[i] = Rate(v, 3)
		case r.Found.Kind == claim.CapacityAtLeast:
			all[i] = "≥ " + Rate(r.Found.Low, 3)
		case r.Found.Kind == claim.CapacityBelow:
			all[i] = "< " + Rate(r.Found.High, 3)
		default:
			all[i] = "?"
		}
	}
	return strings.Join(all, ", ")
}

// CapacityNotes returns the notes on capacities.
func CapacityNotes(r *result.Result, c *claim.CapacityAnalysis) []string {
	var notes []string
	if r.Capacity.Short {
		notes = append(notes, fmt.Sprintf("a trial, and no measurement: probes of %v, where the method asks for %v, "+
			"and for %d calls beyond the greatest quantile",
			time.Duration(r.Capacity.Probe), capacity.ProbeLeast, capacity.ProbeTail))
	}
	for i := range c.Arms {
		a := &c.Arms[i]
		spoiled, probes := 0, 0
		for _, round := range a.Rounds {
			spoiled += round.Spoiled
			probes += round.Probes
		}
		if spoiled > 0 {
			notes = append(notes,
				fmt.Sprintf("%s: %d of %d probes were spoiled by the generator or the machine, and made again", a.Name,
					spoiled, probes))
		}
		for _, note := range a.Notes {
			notes = append(notes, a.Name+": "+note)
		}
		if one := a.Rate.ShownRefused(); one != nil {
			notes = append(notes, fmt.Sprintf("%s: refused by a check: %s: %s", a.Name, RateOf(a.Rate), one.Why))
		}
		if limit := edge(a); limit != "" {
			notes = append(notes, a.Name+": what limits it: "+limit)
		}
	}
	return append(notes, RefusedProbes(c)...)
}

// CapacityCell is [CapacityOf] for a table, with the refused figure if it is to be printed.
func CapacityCell(a *claim.ArmCapacity) string {
	if a.Rate.ShownRefused() != nil {
		return CapacityOf(a) + " " + RateOf(a.Rate)
	}
	return CapacityOf(a)
}

// edge says why the search of the last round stopped where it did.
func edge(a *claim.ArmCapacity) string {
	if len(a.Rounds) == 0 || a.Kind != claim.CapacityFound {
		return ""
	}
	return a.Rounds[len(a.Rounds)-1].Why
}

// CapacityMethod says how to read capacities.
func CapacityMethod(r *result.Result) string {
	return fmt.Sprintf("A capacity is the highest rate of Poisson arrivals at which the upper end of each time's 95 "+
		"%% interval "+
		"(jackknife over %d parts of a probe) is within the objective, times counted from when a call was due, at "+
		"most %d calls in flight. "+
		"Each round searches it anew with fresh processes, by doubling and bisecting to %s, the arms' probes in "+
		"random order. "+
		"Intervals are t intervals over rounds on logarithms, 95 %%, never narrower than the search tells apart. "+
		"A difference is claimed when interval and sign-flip test agree and it is at least %s.",
		r.Capacity.Parts, r.Capacity.InFlight, given(capacity.SearchStep), given(capacity.SearchStep))
}
