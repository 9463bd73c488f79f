package report

import (
	"slices"
	"strings"

	"wirelab/lab/kind/kinds"
	"wirelab/lab/kind/messages"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/threshold"
)

// Marked returns a result and its analysis (nil stays nil) in which the name of each arm that acknowledges before a
// message is on disk carries a mark. Every row, sentence and label made from them carries it too, because an arm that
// promises less must not look as if it promised the same as the others. Without such an arm it returns its arguments
// unchanged. Marking twice has no further effect.
func Marked(r *result.Result, a *claim.Analysis) (*result.Result, *claim.Analysis) {
	renamed := map[string]string{}
	for i := range r.Plan.Arms {
		if name := r.ArmName(i); kinds.Early(r, i) != "" && !strings.HasSuffix(name, earlyMark) {
			renamed[name] = name + earlyMark
		}
	}
	if len(renamed) == 0 {
		return r, a
	}
	rename := func(name *string) {
		if marked, ok := renamed[*name]; ok {
			*name = marked
		}
	}
	marked := *r
	marked.Arms, marked.Plan.Arms, marked.Plan.Published = slices.Clone(r.Arms), slices.Clone(r.Plan.Arms),
		slices.Clone(r.Plan.Published)
	for i := range marked.Plan.Arms {
		marked.Plan.Arms[i].Name = r.ArmName(i)
		rename(&marked.Plan.Arms[i].Name)
	}
	for i := range marked.Arms {
		marked.Arms[i].Name = r.ArmName(i)
		rename(&marked.Arms[i].Name)
	}
	for i := range marked.Plan.Published {
		rename(&marked.Plan.Published[i].Arm)
	}
	marked.Plan.Contrasts, marked.Plan.Advice = slices.Clone(r.Plan.Contrasts), slices.Clone(r.Plan.Advice)
	for i := range marked.Plan.Contrasts {
		rename(&marked.Plan.Contrasts[i].With)
		rename(&marked.Plan.Contrasts[i].Without)
	}
	for i := range marked.Plan.Advice {
		rename(&marked.Plan.Advice[i].Arm)
		rename(&marked.Plan.Advice[i].Over)
	}
	if a == nil {
		return &marked, nil
	}
	said := *a
	said.Loads = slices.Clone(a.Loads)
	for i := range said.Loads {
		said.Loads[i].Arms = slices.Clone(a.Loads[i].Arms)
		for n := range said.Loads[i].Arms {
			rename(&said.Loads[i].Arms[n].Name)
		}
	}
	said.Curves = slices.Clone(a.Curves)
	for i := range said.Curves {
		said.Curves[i].Arms = slices.Clone(a.Curves[i].Arms)
		for n := range said.Curves[i].Arms {
			rename(&said.Curves[i].Arms[n].Name)
		}
	}
	return &marked, &said
}

// MarkedJudgement is [Marked] for the findings on thresholds; nil stays nil.
func MarkedJudgement(r *result.Result, j *threshold.Judgement) *threshold.Judgement {
	if j == nil {
		return nil
	}
	marked := *j
	marked.Findings = slices.Clone(j.Findings)
	for i := range marked.Findings {
		f := &marked.Findings[i]
		if kinds.Early(r, f.Arm) != "" && !strings.HasSuffix(f.ArmName, earlyMark) {
			f.ArmName += earlyMark
		}
	}
	return &marked
}

// marked is [Marked] for a single load.
func marked(l *claim.LoadAnalysis) *claim.LoadAnalysis {
	arms := slices.Clone(l.Arms)
	for i := range arms {
		if messages.StateOf(&arms[i]).Early != "" && !strings.HasSuffix(arms[i].Name, earlyMark) {
			arms[i].Name += earlyMark
		}
	}
	same := *l
	same.Arms = arms
	return &same
}

// EarlyLegend explains the mark behind arms' names; none if no arm has it.
func EarlyLegend(r *result.Result) []string {
	return earlyLegend(len(r.Plan.Arms), r.ArmName, func(arm int) string { return kinds.Early(r, arm) })
}

// earlyOf is [EarlyLegend] for one load.
func earlyOf(l *claim.LoadAnalysis) []string {
	return earlyLegend(len(l.Arms), func(arm int) string { return l.Arms[arm].Name }, func(arm int) string {
		return messages.StateOf(&l.Arms[arm]).Early
	})
}

func earlyLegend(arms int, name, early func(arm int) string) []string {
	var who Groups[string, string]
	marked := 0
	for a := range arms {
		if why := early(a); why != "" {
			who.Add(why, strings.TrimSuffix(name(a), earlyMark))
			marked++
		}
	}
	lines := who.Each(func(why string, names []string) string { return earlyMark + " " + List(names) + ": " + why })
	if len(lines) > 0 && marked < arms {
		lines[len(lines)-1] += "; arms without the mark acknowledge when a quorum has it there, so that a " +
			"place among " +
			"both compares different promises"
	}
	return lines
}

// promises ends a sentence in which arms carry the mark: " (°: acknowledges before a message is on disk)". It returns
// "" if no arm carries it.
func promises(l *claim.LoadAnalysis) string {
	var why []string
	for a := range l.Arms {
		if early := messages.StateOf(&l.Arms[a]).Early; early != "" && !slices.Contains(why, early) {
			why = append(why, early)
		}
	}
	if len(why) == 0 {
		return ""
	}
	return " (" + earlyMark + ": " + List(why) + ")"
}
