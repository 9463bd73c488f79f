package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"wirelab/lab/kind/kinds"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/calibration"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/gate"
	"wirelab/lab/result/metric"
	"wirelab/lab/result/threshold"
	phrases "wirelab/lab/result/words"
	"wirelab/results/report/block"
)

// Summary is the short answer to a result, for one screen: what may be claimed, the figures that most readers look
// for, what was refused and why, how far the result can be trusted, and what to do next. It has no format: package
// terminal writes it. Every sentence is made from figures, and it contains no figure that [analyse.Result] refuses.
type Summary struct {
	// Verdict says how the result compares with thresholds, and Outcome the same as a word; "" if there are none.
	Verdict string
	Outcome threshold.Outcome
	// Findings are the comparisons that Verdict only counts.
	Findings []string
	// Answer has sentences. If nothing can be claimed, the first one says so.
	Answer []string
	// Points are the lines of a list. The first is its heading.
	Points []string
	Tables []SummaryTable
	// Key explains the marks in the tables.
	Key []string
	// Refused says why figures are missing: each reason once, after its mark.
	Refused []string
	Trust   []string
	Next    []Step
}

// Step is a command to run next, and its purpose.
type Step struct{ Command, Why string }

// SummaryTable has a row of figures for each arm or for each load.
type SummaryTable struct {
	Title string
	Names []string // of the rows
	// Columns are in order of importance. Those that do not fit are left out from the end.
	Columns []SummaryColumn
	// Whole tables have columns of one kind, of which none may be left out. They are continued below instead.
	Whole bool
	// More says how many rows are left out; "" if none are.
	More string
}

// SummaryColumn is a metric, or an arm.
type SummaryColumn struct {
	Head, Unit string
	Cells      []SummaryCell // one for each row
}

// SummaryCell is a figure and its difference from the first arm's.
type SummaryCell struct {
	Value string // Absent if it was refused
	Mark  string // after the value: the number of the reason, or what limits the figure
	// Change is the difference in percent, without the percent sign. Sign is the verdict on it. Refusal is the number
	// of the reason why there is no difference.
	Change, Sign string
	Tone         block.Tone
}

// shownRows is how many arms a table of the summary shows.
const shownRows = 14

// detailed is the greatest number of loads that get a table each. More loads share one table.
const detailed = 2

// Summarise makes the short answer to a result. a is its analysis. j compares it with thresholds, or is nil.
func Summarise(r *result.Result, a *claim.Analysis, j *threshold.Judgement) Summary {
	r, a = Marked(r, a)
	s := summary{r: r, a: a, refusals: &refusals{}}
	if j != nil {
		j = MarkedJudgement(r, j)
		s.Verdict, s.Outcome, s.Findings = Judged(r.Plan, j), j.Outcome, findings(r, j)
	}
	s.curves()
	s.capacity()
	loads := s.loads()
	switch {
	case s.alone(loads):
		s.refusals.alone = true
		s.single(loads)
	case len(loads) > detailed:
		s.matrix(loads)
	default:
		for _, l := range loads {
			s.load(l)
		}
	}
	s.answer(loads)
	s.Refused = append(s.Refused, s.refusals.lines(len(loads))...)
	s.Refused = append(s.Refused, AbsentNotes(r)...)
	s.Refused = append(s.Refused, DifferNotes(r)...)
	s.key(loads)
	s.trust(loads)
	s.Next = next(r, loads)
	return s.Summary
}

// shownFindings is how many comparisons with thresholds a summary names.
const shownFindings = 4

// findings returns the comparisons with the same outcome as the whole, except the first, which the verdict names.
func findings(r *result.Result, j *threshold.Judgement) []string {
	if j.Outcome == threshold.Passed || j.Why != "" {
		return nil
	}
	var all []string
	for i := range j.Findings {
		if f := &j.Findings[i]; f.Outcome == j.Outcome {
			all = append(all, Finding(r.Plan, f))
		}
	}
	if len(all) == 0 {
		return nil
	}
	all = all[1:]
	if n := len(all) - shownFindings; n > 0 {
		all = append(all[:shownFindings], fmt.Sprintf("%d more: wirelab results check", n))
	}
	return all
}

// summary is a [Summary] under construction.
type summary struct {
	Summary
	r        *result.Result
	a        *claim.Analysis
	refusals *refusals
	hidden   int // notes that only the full form shows
}

// loads returns the loads that have a table: those of a curve have none.
func (s *summary) loads() []*claim.LoadAnalysis {
	var all []*claim.LoadAnalysis
	for i := range s.a.Loads {
		if !InCurve(s.a, s.a.Loads[i].Load) {
			all = append(all, &s.a.Loads[i])
		}
	}
	return all
}

// key explains the marks that occur in the tables, and no others.
func (s *summary) key(loads []*claim.LoadAnalysis) {
	signs, marks := map[string]bool{}, ""
	compared := false
	for _, t := range s.Tables {
		for _, c := range t.Columns {
			for _, cell := range c.Cells {
				signs[cell.Sign] = true
				marks += cell.Mark
				signs[cell.Mark] = true // has the sign in tables without a column of differences
				compared = compared || cell.Change != "" || cell.Sign != ""
			}
		}
	}
	var parts []string
	if compared && len(s.r.Plan.Arms) > 1 && len(loads) > 0 {
		parts = append(parts, "%: compared with "+s.r.ArmName(0))
	}
	for _, k := range []struct{ sign, means string }{
		{signBetter, "better"},
		{signWorse, "worse"},
		{signSame, "the same within " + Margin(s.r.Plan.Equivalent)},
		{signOpen, "not decided"},
	} {
		if signs[k.sign] {
			parts = append(parts, k.sign+" "+k.means)
		}
	}
	if len(parts) > 0 {
		s.Key = append(s.Key, strings.Join(parts, " · "))
	}
	seen := map[string]bool{}
	for _, l := range loads {
		if len(loads) > detailed {
			continue // the table of many loads has only the marks of promises
		}
		for _, line := range Legend(l) {
			mark, _, _ := strings.Cut(line, " ")
			if !seen[mark] && (strings.Contains(marks, mark) || mark == earlyMark) {
				seen[mark] = true
				line, _, _ = strings.Cut(line, ";")
				s.Key = append(s.Key, line)
			}
		}
	}
	if len(loads) == 0 || len(loads) > detailed {
		for _, line := range EarlyLegend(s.r) {
			line, _, _ = strings.Cut(line, ";")
			s.Key = append(s.Key, line)
		}
	}
}

// The signs of verdicts.
const (
	signBetter = "✓"
	signWorse  = "✗"
	signSame   = "="
	signOpen   = "?"
)

func signOf(v claim.Verdict) string {
	switch v {
	case claim.Better:
		return signBetter
	case claim.Worse:
		return signWorse
	case claim.Equivalent:
		return signSame
	case claim.Inconclusive, claim.TooFew:
		return signOpen
	}
	return ""
}

// trust says how many answers were checked, how long the run took, and which difference it could have detected.
func (s *summary) trust(loads []*claim.LoadAnalysis) {
	text := Capitalised(checkedBriefly(s.a))
	if how := Compared(s.r); how != "" {
		text += ": " + how
	}
	text += ". " + Plural(s.a.Rounds, "round")
	if took := s.r.Ended.Sub(s.r.Began); took > 0 && !s.r.Began.IsZero() {
		text += " in " + roughly(took)
	}
	worst, found := 0.0, ""
	for _, l := range loads {
		m, err := kinds.MetricOf(l, l.Primary)
		if row := l.Row(l.Primary); err == nil && row != nil {
			for _, c := range row.Cells {
				if d := c.Difference; d != nil && d.Rounds >= claim.MinRounds && d.Detectable > worst {
					worst, found = d.Detectable, m.Title
				}
			}
		}
	}
	if found != "" {
		text += fmt.Sprintf(" resolved %s in %s", Percent(worst), found)
	}
	text += "."
	if n := notes(s.r, loads) + s.hidden; n > 0 {
		text += " " + Capitalised(Plural(n, "note")) + ": see --full."
	}
	if s.r.Label != "" {
		text = "“" + s.r.Label + "”: " + text
	}
	s.Trust = append(s.Trust, text)
	if again := gate.RemadeWords(s.r); again != "" {
		s.Trust = append(s.Trust, again+".")
	}
	if brief := PublishedBrief(s.r, s.a); brief != "" {
		s.Trust = append(s.Trust, brief)
	}
	if text := secured(s.r); strings.Contains(text, "difference") {
		s.Trust = append(s.Trust, "TLS "+text+".")
	}
	if text := unchecked(s.r); text != "" {
		s.Trust = append(s.Trust, Capitalised(text)+".")
	}
	if c := s.r.Certificate; c != nil && calibration.Loudness(c.Noise) != "quiet" {
		s.Trust = append(s.Trust,
			fmt.Sprintf("The machine was not quiet: others used %s of the CPUs, the hypervisor took %s.",
				Percent(c.Noise.Others), Percent(c.Noise.Steal)))
	}
}

// checkedBriefly is [checked] in the words of a summary, which has reported wrong answers already.
func checkedBriefly(a *claim.Analysis) string {
	text := strings.Replace(checked(a), ", see below", "", 1)
	if len(a.Loads) > 0 && len(a.Loads[0].Arms) == 1 {
		text = strings.Replace(text, "1 of the arms had wrong or failed ones", "others were wrong or failed", 1)
	}
	for _, what := range []string{"replies", "events"} {
		text = strings.Replace(text, what+" right, none wrong", what+" checked, all correct", 1)
	}
	return text
}

// Plural writes a count of things: "1 round", "1,200 notes".
func Plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return phrases.Thousands(uint64(max(n, 0))) + " " + what + "s"
}

// roughly writes a duration without units that are 0.
func roughly(d time.Duration) string {
	text := d.Round(time.Second).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// Capitalised puts a capital at the beginning of a text.
func Capitalised(text string) string {
	if text == "" {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// notes counts the different notes of the full form. It leaves out those that say why figures are refused, since the
// summary says that itself.
func notes(r *result.Result, loads []*claim.LoadAnalysis) int {
	seen := map[string]bool{}
	for _, l := range loads {
		refused := map[string]bool{}
		for _, text := range grouped(l, spoiled) {
			refused[text] = true
		}
		for _, text := range append(Libraries(r, l), Notes(l)...) {
			if !refused[text] {
				seen[text] = true
			}
		}
	}
	return len(seen)
}

// next returns what to do after reading a result.
func next(r *result.Result, loads []*claim.LoadAnalysis) []Step {
	id := r.ID
	if id == "" {
		return nil
	}
	steps := []Step{
		{"wirelab report " + id + " -o report.html", "every figure as a page"},
		{"wirelab results show " + id + " --full", "every figure here"},
	}
	switch {
	case Factorial(r):
		steps = append(steps, Step{"wirelab explain " + id, "which factor costs what"})
	case slices.ContainsFunc(loads,
		func(l *claim.LoadAnalysis) bool { return claimed(l, l.Primary) }):
		steps = append(steps, Step{"wirelab replay " + id, "does it hold again?"})
	default:
		steps = append(steps, Step{"wirelab doctor", "check this machine"})
	}
	return steps
}

// claimed reports whether any difference of a metric is a claim.
func claimed(l *claim.LoadAnalysis, metric string) bool {
	row := l.Row(metric)
	return row != nil && slices.ContainsFunc(row.Cells, func(c claim.Cell) bool {
		return c.Difference != nil && c.Difference.Verdict.Claim()
	})
}

// heads returns the column heads of metrics whose title is too long for a column.
func heads(l *claim.LoadAnalysis, m metric.Metric) string {
	if head, other := ShapeOf(l.Kind).heads[m.ID]; other {
		return cmp.Or(head, m.Short)
	}
	switch m.ID {
	case plan.ServerCPU:
		return "server CPU"
	case plan.Throughput:
		return "requests/s"
	case plan.ResponseP50, plan.ResponseP90, plan.ResponseP99, plan.ResponseP999:
		return strings.TrimPrefix(m.ID, "response-")
	case plan.MessageRate:
		return "messages/s"
	case plan.DatabaseCPU, plan.EventDatabaseCPU:
		return "db CPU"
	case plan.ClientCPU:
		return "client CPU"
	}
	return m.Short
}
