package report

import (
	"fmt"
	"strings"

	"wirelab/lab/plan"
	"wirelab/lab/result"
)

// Agreed says in sentences how many of an experiment's conclusions hold in
// another: of the primary metrics first, which decide, then of the others.
func Agreed(a *result.Agreement) string {
	if len(a.Conclusions) == 0 {
		return "The original concludes nothing, so there is nothing to hold."
	}
	var said []string
	for _, primary := range []bool{true, false} {
		counts := map[result.Holding]int{}
		n := 0
		for _, h := range []result.Holding{result.Holds, result.Contradicted, result.NotDecided} {
			counts[h] = a.Count(primary, h)
			n += counts[h]
		}
		what := "other"
		if primary {
			what = "primary"
		}
		switch {
		case n == 0 && primary:
			said = append(said, "There is no primary conclusion")
		case n == 0:
		case counts[result.Holds] == n && n == 1:
			said = append(said, "The one "+what+" conclusion holds here")
		case counts[result.Holds] == n:
			said = append(said, fmt.Sprintf("All %d %s conclusions hold here", n, what))
		default:
			said = append(said, fmt.Sprintf("Of %d %s conclusions %d hold here, %d contradicted, %d not decided",
				n, what, counts[result.Holds], counts[result.Contradicted], counts[result.NotDecided]))
		}
	}
	return strings.Join(said, ". ") + "."
}

// Held says a conclusion's holding with what is to be known of it: "holds, but
// of another size".
func Held(c *result.Conclusion) string {
	if c.Holding == result.Holds && c.Apart {
		return "holds, of another size"
	}
	return string(c.Holding)
}

// Found writes a difference with its interval, or why there is none.
func Found(d *result.Difference) string {
	if !d.Known {
		return Absent
	}
	return strings.TrimSpace(Change(d) + " " + Interval(d))
}

// FoundBriefly is [Found] without what the interval tells already.
func FoundBriefly(d *result.Difference) string {
	if d.Known && !d.Exact && Bounded(d) {
		return Interval(d) + " %"
	}
	return Found(d)
}

// AgreedNotes say why conclusions do not hold here.
func AgreedNotes(p plan.Plan, a *result.Agreement, name func(arm int) string) []string {
	type reason struct{ metric, why string }
	who := map[reason][]string{}
	var order []reason
	for i := range a.Conclusions {
		c := &a.Conclusions[i]
		m, err := result.MetricByID(c.Metric)
		if err != nil || c.Holding == result.Holds {
			continue
		}
		key := reason{m.Short, string(c.Holding) + ": " + c.Why}
		if who[key] == nil {
			order = append(order, key)
		}
		who[key] = append(who[key], name(c.Arm)+" ("+p.Loads[c.Load].String()+")")
	}
	notes := make([]string, 0, len(order))
	for _, key := range order {
		notes = append(notes, key.metric+" of "+list(who[key])+": "+key.why)
	}
	return notes
}
