package report

import (
	"fmt"
	"strconv"
	"time"

	"wirelab/lab/result"
	"wirelab/results/report/block"
)

// SelfTestBlocks reports a self-test: a line for each test with the required and the measured values, and the figures
// that are out of range.
func SelfTestBlocks(r *result.Result) []block.Block {
	s := r.SelfTest
	t := &block.Table{ID: "tests", Columns: block.Columns("test", "verdict", ">figures", ">took")}
	all := []block.Block{
		block.Notes{Kind: block.Claim, Lines: []string{
			"self-test, " + choose(s.Long, "long", "short") + " form: " + selfTestSummary(s),
		}},
		block.Facts{
			{Name: "machine", Text: Machine(r.Environment)},
			{Name: "result", Text: r.ID + ", " + r.Began.UTC().Format("2 January 2006, 15:04") + " UTC"},
		},
		block.Pause{},
		t,
	}
	for _, test := range s.Tests {
		row := block.Texts(test.Name, Tested(test), strconv.Itoa(len(test.Figures)),
			time.Duration(test.Took).Round(100*time.Millisecond).String())
		row[1].Tone = testedTone(test)
		t.Add(row...)
		facts := block.Facts{
			{Name: "required", Text: test.Required}, {Name: "found", Text: test.Found, Tone: testedTone(test)},
		}
		for _, id := range test.Kept {
			facts = append(facts, block.Fact{Name: "more in", Text: id})
		}
		all = append(all, block.Pause{}, block.Heading{Text: test.Name, Name: true},
			block.Notes{Kind: block.Prose, Lines: []string{test.Shows}}, facts)
		all = append(all, testFigures(test)...)
	}
	return all
}

// selfTestSummary says how many tests passed.
func selfTestSummary(s *result.SelfTest) string {
	failed, refused := len(s.Failed()), len(s.Refused())
	text := fmt.Sprintf("%d of %d tests pass", len(s.Tests)-failed-refused, len(s.Tests))
	if failed > 0 {
		text += fmt.Sprintf(", %d FAIL", failed)
	}
	if refused > 0 {
		text += fmt.Sprintf(", %d could show nothing", refused)
	}
	return text
}

// Tested writes the verdict on a test in a word: "pass", "FAIL" or "refused".
func Tested(t result.Tested) string {
	switch {
	case t.Pass:
		return "pass"
	case t.Refused:
		return "refused"
	}
	return "FAIL"
}

func testedTone(t result.Tested) block.Tone {
	switch {
	case t.Pass:
		return block.Good
	case t.Refused:
		return block.Open
	}
	return block.Bad
}

// figuresShown is how many figures a test may have for all of them to be shown. If it has more, only those out of
// range are shown.
const figuresShown = 24

func testFigures(test result.Tested) (all []block.Block) {
	whole := len(test.Figures) <= figuresShown
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }
	t := &block.Table{ID: "figures", Columns: block.Columns("figure", ">found", ">required", "")}
	for _, f := range test.Figures {
		if !whole && f.OK() {
			continue
		}
		required := number(f.Low) + " to " + number(f.High)
		switch f.Low {
		case f.High:
			required = number(f.High)
		case 0:
			required = "≤ " + number(f.High)
		}
		row := block.Texts(f.Name, number(f.Found), required, f.Unit)
		if !f.OK() {
			row[1].Tone = block.Bad
		}
		t.Add(row...)
	}
	if len(t.Rows) > 0 {
		all = append(all, block.Pause{}, t)
	}
	if !whole {
		text := fmt.Sprintf("%d figures in all; --json has them", len(test.Figures))
		all = append(all, block.Notes{Kind: block.Method, Lines: []string{text}})
	}
	return all
}
