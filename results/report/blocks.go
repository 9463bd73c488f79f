package report

import (
	"strings"

	"wirelab/lab/kind/capacity"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	phrases "wirelab/lab/result/words"
	"wirelab/results/report/block"
)

// LoadNotes returns the notes below the tables of a load, by kind.
func LoadNotes(r *result.Result, l *claim.LoadAnalysis) []block.Notes {
	all := []block.Notes{
		{Kind: block.Check, Lines: Validity(l)},
		{Kind: block.Limit, Lines: Saturation(l)},
		{Kind: block.Mark, Lines: Legend(l)},
	}
	if ShowsRefused(l) {
		all = append(all, block.Notes{Kind: block.RefusedMark, Lines: []string{RefusedLegend}})
	}
	return append(all, block.Notes{Kind: block.Remark, Lines: append(Libraries(r, l), Notes(l)...)})
}

// CurveBlocks reports response time over offered rate: as sentences, as a drawing, and as a table for each arm.
func CurveBlocks(r *result.Result, c *claim.Curve) []block.Block {
	all := []block.Block{
		block.Heading{Text: CurveTitle(c)},
		block.Notes{Kind: block.Setting, Lines: []string{CurveSetting(c)}},
		block.Notes{Kind: block.Point, Lines: CurveSentences(c)},
		block.Pause{},
		block.Figure{Of: c},
	}
	refused := false
	for arm := range c.Arms {
		for _, p := range c.Arms[arm].Points {
			refused = refused || p.P50.ShownRefused() != nil || p.Achieved.ShownRefused() != nil
		}
		all = append(all, block.Pause{}, CurveTable(c, arm))
	}
	all = append(all, block.Notes{Kind: block.Method, Lines: []string{CurveLegend}})
	if refused {
		all = append(all, block.Notes{Kind: block.RefusedMark, Lines: []string{RefusedLegend}})
	}
	return append(all, block.Notes{Kind: block.Remark, Lines: CurveNotes(r, c)})
}

// CurveTable lists an arm's figures at each rate. [CurveLegend] explains its marks.
func CurveTable(c *claim.Curve, arm int) *block.Table {
	t := &block.Table{
		ID: "curve", Title: c.Arms[arm].Name, Rows: curveRows(c, arm),
		Columns: block.Columns(">offered", ">answered /s", ">p50", ">p99", "95 % CI", "", ">server CPU/req", ">cores"),
	}
	t.Columns[6].Short = "CPU/req"
	return t
}

// CapacityBlocks reports the capacities that were found; none where there was no search.
func CapacityBlocks(r *result.Result, a *claim.Analysis) []block.Block {
	found := capacity.Of(a)
	if len(found.Arms) == 0 {
		return nil
	}
	c := &found
	return []block.Block{
		block.Heading{Text: "Capacity"},
		block.Facts{{Name: "under", Text: strings.ReplaceAll(c.Objective, ",", ", ")}},
		block.Notes{Kind: block.Answer, Lines: CapacityParts(c)},
		block.Pause{},
		block.Notes{Kind: block.Remark, Lines: CapacitySentences(c)},
		block.Pause{},
		CapacityTable(c),
		block.Notes{Kind: block.Remark, Lines: CapacityNotes(r, c)},
		block.Pause{},
		block.Notes{Kind: block.Method, Lines: []string{CapacityMethod(r)}},
	}
}

// CapacityTable compares the capacity of each arm with the first arm's. Its last column lists what each round found.
func CapacityTable(c *claim.CapacityAnalysis) *block.Table {
	t := &block.Table{ID: "capacity", Columns: block.Columns("arm", ">capacity", ">ratio to the first", "95 % CI",
		"verdict", ">closed loop", ">probes", "by round")}
	t.Columns[2].Short = "vs first"
	for i := range c.Arms {
		a := &c.Arms[i]
		row := block.Texts(a.Name, CapacityCell(a), "", "", "", RateOf(a.Closed), "", CapacityRounds(a))
		row[2].Text, row[3].Text = CapacityRatio(a.Difference)
		if a.Difference != nil {
			row[4] = block.Cell{Text: CapacityWord(a.Difference), Tone: ToneOf(a.Difference.Verdict)}
		}
		probes := 0
		for _, round := range a.Rounds {
			probes += round.Probes
		}
		row[5].Why, row[6].Text = a.Closed.Why, phrases.Thousands(uint64(probes))
		t.Add(row...)
	}
	return t
}

// ToneOf says whether a verdict is good or bad for the arm.
func ToneOf(v claim.Verdict) block.Tone {
	switch v {
	case claim.Better:
		return block.Good
	case claim.Worse, claim.Invalid, claim.Unsteady:
		return block.Bad
	case claim.Equivalent:
		return block.Same
	case claim.Inconclusive, claim.TooFew:
		return block.Open
	}
	return block.Quiet
}
