package report

import (
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/threshold"
	"wirelab/results/report/block"
)

// Document returns a whole report. Every part is made once, for all formats. A format chooses the order of the parts,
// and leaves out those that it has no space for. r and a must come from [Marked].
func Document(r *result.Result, a *claim.Analysis, outages []Outage) []block.Part {
	if r.SelfTest != nil {
		return []block.Part{{ID: "self-test", Blocks: SelfTestBlocks(r)}}
	}
	all := []block.Part{{ID: "head", Blocks: head(r, a)}, {ID: "absent", Blocks: notesOf(block.Remark, AbsentNotes(r))}}
	add := func(id string, blocks ...block.Block) {
		if len(blocks) > 0 {
			all = append(all, block.Part{ID: id, Blocks: blocks})
		}
	}
	if t := ScenarioTable(r, a); t != nil {
		add("scenarios", append([]block.Block{block.Heading{Text: "All scenarios"}, t},
			notesOf(block.Mark, EarlyLegend(r))...)...)
	}
	add("capacity", CapacityBlocks(r, a)...)
	for i := range a.Curves {
		add("curve", CurveBlocks(r, &a.Curves[i])...)
	}
	for i := range a.Loads {
		if !InCurve(a, a.Loads[i].Load) {
			add("load", LoadBlocks(r, &a.Loads[i])...)
		}
	}
	for _, t := range Decisions(r, a, outages) {
		add("decisions", DecisionBlocks(t)...)
	}
	add("published", PublishedBlocks(r, a)...)
	if len(a.Loads) > 0 {
		add("method", notesOf(block.Method, []string{Method(r)})...)
	}
	return all
}

// notesOf returns notes as blocks; no blocks if there are no notes.
func notesOf(kind block.Kind, lines []string) []block.Block {
	if len(lines) == 0 {
		return nil
	}
	return []block.Block{block.Notes{Kind: kind, Lines: lines}}
}

// head describes the experiment and its arms.
func head(r *result.Result, a *claim.Analysis) []block.Block {
	facts := block.Facts(Facts(r, a))
	for i := range facts {
		if facts[i].Name == "question" {
			facts[i].Tone = block.Claimed
		}
	}
	if r.Label != "" {
		facts = append(block.Facts{{Name: "name", Text: r.Label, Tone: block.Claimed}}, facts...)
	}
	return []block.Block{facts, ArmTable(r)}
}

// ArmTable describes each arm, and gives the reason for each absent one.
func ArmTable(r *result.Result) *block.Table {
	t := &block.Table{ID: "arms", Title: "Arms", Columns: block.Columns("arm", "what it is")}
	for i := range r.Plan.Arms {
		t.Add(block.Texts(r.ArmName(i), Arm(r, i))...)
	}
	for _, absent := range r.Absent {
		t.Add(block.Texts(absent.Name(), AbsentWhy(absent))...)
	}
	return t
}

// ScenarioTable puts what several loads came to into one table, as their kind has it; nil where there is one load, or
// the kind has no such table.
func ScenarioTable(r *result.Result, a *claim.Analysis) *block.Table {
	of := ShapeOf(r.Plan.Kind()).overview
	if len(a.Loads) < 2 || of == nil {
		return nil
	}
	return of(r, a)
}

// LoadBlocks returns the results under one load.
func LoadBlocks(r *result.Result, l *claim.LoadAnalysis) []block.Block {
	all := []block.Block{
		block.Heading{Text: LoadName(r.Plan, l.Load), Name: true},
		block.Notes{Kind: block.Claim, Lines: []string{Sentence(r.Plan, l)}},
	}
	var marks, rest []block.Block
	for _, n := range LoadNotes(r, l) {
		switch {
		case len(n.Lines) == 0:
		case n.Kind == block.Mark || n.Kind == block.RefusedMark:
			marks = append(marks, n)
		default:
			rest = append(rest, n)
		}
	}
	if Empty(l) {
		return append(all, rest...)
	}
	add := func(tables ...*block.Table) {
		for _, t := range tables {
			if t != nil {
				all = append(all, t)
			}
		}
	}
	all = append(all, block.Pause{}, MainMetrics(r, l), block.Pause{})
	add(seenTable(l), RateTable(l))
	all = append(all, OtherMetrics(r, l))
	add(CountTable(l))
	all = append(append(all, marks...), block.Pause{})
	add(Accounts(l)...)
	return append(all, rest...)
}

// DecisionBlocks returns a table of which way to use when.
func DecisionBlocks(t DecisionTable) []block.Block {
	rows := &block.Table{
		ID: "decisions", Columns: block.Columns("goal", "first", "behind", "no figure", "to know",
			"holds for"),
	}
	rows.Columns[5].Short = "for"
	if t.Load < 0 {
		rows.Columns[2].Head = "each run"
	}
	for i, d := range t.Rows {
		others := d.Others
		if t.Load < 0 {
			others = d.First // the table of failures puts no way first
		}
		rows.Add(block.Cell{Text: d.Need}, block.Cell{Text: d.Lead, Strong: t.Load >= 0, Tone: leadersTone(d.State)},
			block.Cell{List: Texts(others)}, block.Cell{List: t.Refusals(i)}, block.Cell{List: d.Notes},
			block.Cell{Text: d.Holds})
	}
	all := []block.Block{block.Heading{Text: "When to use which: " + t.Title}}
	if len(t.Conditions) > 0 {
		all = append(all, block.Facts(t.Conditions), block.Pause{})
	}
	all = append(append(all, rows, block.Pause{}), notesOf(block.Remark, t.Promises)...)
	return append(all, block.Notes{Kind: block.Method, Lines: []string{t.Method}})
}

// leadersTone maps the state of a row to a tone. The words of the row say the same.
func leadersTone(state string) block.Tone {
	switch claim.LeadersState(state) {
	case claim.LeaderClear:
		return block.Good
	case claim.LeadersAlike:
		return block.Same
	case claim.LeadersShared, claim.LeadersFew:
		return block.Open
	case claim.LeadersNone, claim.LeaderAlone:
		return block.Quiet
	}
	return block.Plain
}

// JudgedBlocks compares a result with thresholds: the verdict, each threshold with its findings, and notes.
func JudgedBlocks(r *result.Result, j *threshold.Judgement) []block.Block {
	j = MarkedJudgement(r, j)
	all := []block.Block{block.Notes{
		Kind: block.Claim, Lines: []string{Judged(r.Plan, j)}, Tone: OutcomeTone(j.Outcome),
	}}
	t := &block.Table{
		ID:      "findings",
		Columns: block.Columns("threshold", "arm", "load", ">found", "95 % CI", "outcome"),
	}
	for i := range j.Findings {
		f := &j.Findings[i]
		value, interval := Figure(f)
		row := block.Texts(f.Threshold, f.ArmName, f.LoadName, value, interval, OutcomeWords(f))
		row[5].Strong, row[5].Tone, row[5].Short = f.Outcome != threshold.Passed, OutcomeTone(f.Outcome),
			string(f.Outcome)
		t.Add(row...)
	}
	if len(t.Rows) > 0 {
		all = append(all, t)
	}
	all = append(append(all, block.Pause{}), notesOf(block.Mark, EarlyLegend(r))...)
	return append(all, notesOf(block.Remark, JudgedNotes(j))...)
}

// OutcomeTone maps an outcome to a tone.
func OutcomeTone(o threshold.Outcome) block.Tone {
	switch o {
	case threshold.Passed:
		return block.Good
	case threshold.Crossed, threshold.Spoiled:
		return block.Bad
	}
	return block.Open
}
