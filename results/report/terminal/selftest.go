package terminal

import (
	"fmt"
	"strconv"
	"time"

	"wirelab/lab/result"
	"wirelab/results/report"
)

// selfTest writes what wirelab found about itself: a line for each test, what
// was found beside what is required, and the figures that are not as they must be.
func (p *page) selfTest(r *result.Result) {
	s := r.SelfTest
	form := "short"
	if s.Long {
		form = "long"
	}
	p.wrapped("", "self-test, "+form+" form: "+selfTestSummary(s), bold)
	p.wrapped("machine   ", report.Machine(r.Environment), plain)
	p.wrapped("result    ", r.ID+", "+r.Began.UTC().Format("2 January 2006, 15:04")+" UTC", plain)
	p.blank()
	t := table{head: [][]cell{{{text: "test"}, {text: "verdict"}, {text: "figures", right: true}, {text: "took", right: true}}}}
	for _, test := range s.Tests {
		t.body = append(t.body, []cell{
			{text: test.Name},
			{text: Tested(test), in: testedInk(test)},
			{text: strconv.Itoa(len(test.Figures)), right: true},
			{text: time.Duration(test.Took).Round(100 * time.Millisecond).String(), right: true},
		})
	}
	p.table(t)
	for _, test := range s.Tests {
		p.blank()
		p.title(test.Name)
		p.wrapped("", test.Shows, plain)
		p.wrapped("required  ", test.Required, plain)
		p.wrapped("found     ", test.Found, testedInk(test))
		for _, id := range test.Kept {
			p.wrapped("more in   ", id, plain)
		}
		p.figures(test)
	}
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

// Tested is the verdict on a test in a word: "pass", "FAIL" or "refused".
func Tested(t result.Tested) string {
	switch {
	case t.Pass:
		return "pass"
	case t.Refused:
		return "refused"
	}
	return "FAIL"
}

func testedInk(t result.Tested) ink {
	switch {
	case t.Pass:
		return green
	case t.Refused:
		return yellow
	}
	return red
}

// figuresShown is how many figures a test may have for all to be shown; of
// more, those that are not as they must be.
const figuresShown = 24

func (p *page) figures(test result.Tested) {
	all := len(test.Figures) <= figuresShown
	t := table{head: [][]cell{{{text: "figure"}, {text: "found", right: true}, {text: "required", right: true}, {text: ""}}}}
	for _, f := range test.Figures {
		if !all && f.OK() {
			continue
		}
		in := plain
		if !f.OK() {
			in = red
		}
		t.body = append(t.body, []cell{
			{text: cut(f.Name, p.style.Width/2)},
			{text: number(f.Found), in: in, right: true},
			{text: required(f), right: true},
			{text: f.Unit},
		})
	}
	if len(t.body) > 0 {
		p.blank()
		p.table(t)
	}
	if !all {
		p.wrapped("", fmt.Sprintf("%d figures in all; --json has them", len(test.Figures)), faint)
	}
}

// number writes a figure with four digits.
func number(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }

func required(f result.Figure) string {
	switch f.Low {
	case f.High:
		return number(f.High)
	case 0:
		return "≤ " + number(f.High)
	}
	return number(f.Low) + " to " + number(f.High)
}
