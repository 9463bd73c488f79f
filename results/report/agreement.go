package report

import (
	"fmt"
	"strings"

	"wirelab/lab/kind/kinds"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/history"
	"wirelab/results/report/block"
)

// AgreementBlocks says which conclusions of an experiment hold in another one, measured here: the differences between
// machines and builds, the verdict, and a line for each conclusion.
func AgreementBlocks(was, here *result.Result, a *history.Agreement) []block.Block {
	was, _ = Marked(was, nil)
	facts := block.Facts{}
	for _, one := range []struct {
		name string
		r    *result.Result
	}{{"original", was}, {"here", here}} {
		text := fmt.Sprintf("%s, %s, seed %d", one.r.ID, Rounds(len(one.r.Rounds)), one.r.Plan.Seed)
		facts = append(facts, block.Fact{Name: one.name, Text: text})
	}
	machine := block.Fact{Name: "machine", Text: "the same machine and build, as far as is recorded"}
	if len(a.Environment) > 0 {
		machine.Text = "it is not the same machine or build, so conclusions may rightly differ:"
		machine.Tone = block.Open
	}
	facts = append(facts, machine)
	for _, c := range a.Environment {
		facts = append(facts, block.Fact{Text: c.What + ": " + c.Was + ", here " + c.Here})
	}
	all := []block.Block{
		block.Heading{Text: "Replay"}, facts, block.Pause{}, block.Notes{Kind: block.Claim, Lines: []string{Agreed(a)}},
	}
	hidden := 0
	var t *block.Table
	var last *history.Conclusion
	for i := range a.Conclusions {
		c := &a.Conclusions[i]
		m, err := kinds.MetricByID(c.Metric)
		if err != nil {
			continue // not reached: conclusions are made from known metrics
		}
		if !c.Primary && c.Holding == history.Holds && !c.Apart {
			hidden++ // conclusions of other metrics that simply hold are not listed
			continue
		}
		if last == nil || last.Metric != c.Metric || last.Load != c.Load {
			t = &block.Table{
				ID:      "conclusions",
				Title:   m.Title + ", " + LoadName(was.Plan, c.Load) + choose(c.Primary, " (primary)", ""),
				Columns: block.Columns("arm", "original", "", "here", "conclusion"),
			}
			all = append(all, block.Pause{}, t)
		}
		last = c
		row := block.Texts(was.ArmName(c.Arm), Word(m, c.Was.Verdict), Found(&c.Was), Found(&c.Here), Held(c))
		row[2].Short, row[3].Short = FoundBriefly(&c.Was), FoundBriefly(&c.Here)
		row[4].Tone = holdingTone(c.Holding)
		t.Add(row...)
	}
	if hidden > 0 {
		text := fmt.Sprintf("Conclusions of other metrics that hold are not shown (%d); --json lists them.", hidden)
		all = append(all, block.Pause{}, block.Notes{Kind: block.Method, Lines: []string{text}})
	}
	all = append(all, notesOf(block.Mark, EarlyLegend(was))...)
	if notes := AgreedNotes(was.Plan, a, was.ArmName); len(notes) > 0 {
		all = append(all, block.Pause{}, block.Notes{Lines: notes})
	}
	return all
}

// holdingTone maps the fate of a conclusion to a tone.
func holdingTone(h history.Holding) block.Tone {
	switch h {
	case history.Holds:
		return block.Good
	case history.Contradicted:
		return block.Bad
	}
	return block.Open
}

// Agreed says in sentences how many conclusions of an experiment hold in another: first for the primary metrics,
// which decide, then for the others.
func Agreed(a *history.Agreement) string {
	if len(a.Conclusions) == 0 {
		return "The original concludes nothing, so there is nothing to hold."
	}
	var said []string
	for _, primary := range []bool{true, false} {
		counts := map[history.Holding]int{}
		n := 0
		for _, h := range []history.Holding{history.Holds, history.Contradicted, history.NotDecided} {
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
		case counts[history.Holds] == n && n == 1:
			said = append(said, "The one "+what+" conclusion holds here")
		case counts[history.Holds] == n:
			said = append(said, fmt.Sprintf("All %d %s conclusions hold here", n, what))
		default:
			said = append(said, fmt.Sprintf("Of %d %s conclusions %d hold here, %d contradicted, %d not decided",
				n, what, counts[history.Holds], counts[history.Contradicted], counts[history.NotDecided]))
		}
	}
	return strings.Join(said, ". ") + "."
}

// Held writes the outcome of a conclusion with its qualification: "holds, but of another size".
func Held(c *history.Conclusion) string {
	if c.Holding == history.Holds && c.Apart {
		return "holds, of another size"
	}
	return string(c.Holding)
}

// Found writes a difference with its interval, or why there is none.
func Found(d *claim.Difference) string {
	if !d.Known {
		return Absent
	}
	return strings.TrimSpace(Change(d) + " " + Interval(d))
}

// FoundBriefly is [Found] without the words that the interval makes redundant.
func FoundBriefly(d *claim.Difference) string {
	if d.Known && !d.Exact && Bounded(d) {
		return Interval(d) + " %"
	}
	return Found(d)
}

// AgreedNotes says why conclusions do not hold here.
func AgreedNotes(p plan.Plan, a *history.Agreement, name func(arm int) string) []string {
	type reason struct{ metric, why string }
	var who Groups[reason, string]
	for i := range a.Conclusions {
		c := &a.Conclusions[i]
		m, err := kinds.MetricByID(c.Metric)
		if err != nil || c.Holding == history.Holds {
			continue
		}
		who.Add(reason{m.Short, string(c.Holding) + ": " + c.Why}, name(c.Arm)+" ("+p.Loads[c.Load].String()+")")
	}
	return who.Each(func(of reason, names []string) string { return of.metric + " of " + List(names) + ": " + of.why })
}
