package report

import (
	"fmt"
	"slices"
	"strings"

	"wirelab/lab/kind/capacity"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
)

// curves adds the results of response time over offered rate. For each arm these are the rates between which it stops
// keeping up, its times at the lowest rate, and its times at the knee.
func (s *summary) curves() {
	for i := range s.a.Curves {
		s.curve(&s.a.Curves[i])
	}
}

// curveHeads explains the short column heads: with longer heads the last column does not fit into 80 columns.
const curveHeads = "keeps up: still at this rate · not at: no longer from this rate on · answers: at most, in " +
	"overload too"

func (s *summary) curve(c *claim.Curve) {
	t := SummaryTable{Title: "Rates, " + c.Operation}
	columns := []SummaryColumn{
		{Head: "knee"},
		{Head: "p50 there"},
		{Head: "p99 there"},
		{Head: "keeps up"},
		{Head: "not at"},
		{Head: "answers"},
	}
	var bears, silent, collapses []string
	for arm := range c.Arms {
		a := &c.Arms[arm]
		t.Names = append(t.Names, a.Name)
		texts := []string{Absent, Absent, Absent, Absent, Absent, Absent}
		if a.Knee.Known && a.Knee.Level < len(a.Points) {
			at := a.Points[a.Knee.Level]
			texts[0], texts[1], texts[2] = rate(a.Knee.Rate), timed(at.P50, ""), timed(at.P99, "")
		}
		if a.Saturation.Known {
			texts[4] = rate(a.Saturation.Rate)
			if a.Saturation.Low > 0 {
				texts[3] = rate(a.Saturation.Low)
				bears = append(bears, a.Name+" up to "+texts[3])
			}
		}
		if a.Most.Known {
			texts[5] = Rate(a.Most.Value, 3)
		}
		if !slices.ContainsFunc(a.Points, func(p claim.Point) bool { return p.Achieved.Known }) {
			silent = append(silent, a.Name)
		}
		for i := range columns {
			cell := SummaryCell{Value: texts[i]}
			if texts[i] == Absent {
				cell.Mark = s.curveDash(c, a, i, columns[i].Head)
			}
			columns[i].Cells = append(columns[i].Cells, cell)
		}
		if a.Collapse.Known {
			collapses = append(collapses,
				fmt.Sprintf("%s collapses at %s: it answers %s %% fewer requests than at %s.", a.Name,
					rate(a.Collapse.Rate), unsigned(a.Collapse.By.Value, 0), rate(a.Collapse.Low)))
		}
	}
	t.Columns = columns
	switch {
	case len(silent) == len(c.Arms):
		s.Answer = append(s.Answer, "Nothing can be claimed about "+c.Operation+": no rate has valid figures.")
	case len(bears) > 0:
		s.Answer = append(s.Answer, "Highest rates of "+c.Operation+" kept up with: "+List(bears)+".")
	default:
		s.Answer = append(s.Answer, "Every arm kept up with every rate of "+c.Operation+" that has valid figures.")
	}
	s.Answer = append(s.Answer, collapses...)
	if len(silent) < len(c.Arms) {
		s.Tables = append(s.Tables, t)
		if !slices.Contains(s.Key, curveHeads) {
			s.Key = append(s.Key, curveHeads)
		}
	}
	s.curveRefused(c)
}

// curveKey identifies the reason why a check refuses points of a curve.
func curveKey(c *claim.Curve, gate result.Gate) string { return c.Operation + " " + string(gate) }

// The columns of a curve's table, in the order of [summary.curve].
const (
	curveKnee = iota
	curveP50
	curveP99
	curveKept
	curveLost
	curveMost
)

// curveDash returns the mark of the reason why an arm has no figure in a column.
func (s *summary) curveDash(c *claim.Curve, a *claim.ArmCurve, column int, head string) string {
	why := ""
	switch column {
	case curveKnee, curveP50, curveP99:
		why = a.Knee.Why
		if a.Knee.Known && a.Knee.Level < len(a.Points) {
			p := &a.Points[a.Knee.Level]
			why = map[int]string{curveP50: p.P50.Why, curveP99: p.P99.Why}[column]
		}
	case curveKept, curveLost:
		if why = a.Saturation.Why; a.Saturation.Known {
			why = "it keeps up with no rate that was tried"
		}
	case curveMost:
		why = a.Most.Why
	}
	if why == "" {
		return ""
	}
	cell := refusedCell{c.Operation, a.Name, head}
	for _, p := range a.Points {
		if p.Why != "" && strings.Contains(why, p.Why) {
			return s.refusals.note(curveKey(c, p.Gate), why, cell)
		}
	}
	return s.refusals.note(c.Operation+" "+why, trimmedStop(why), cell)
}

// curveRefused adds one line for each check that refuses figures of a curve.
func (s *summary) curveRefused(c *claim.Curve) {
	var why Groups[result.Gate, string]
	who := map[result.Gate][]string{}
	for i := range c.Arms {
		for _, p := range c.Arms[i].Points {
			if p.Why == "" {
				continue
			}
			why.Add(p.Gate, p.Why)
			if !slices.Contains(who[p.Gate], c.Arms[i].Name) {
				who[p.Gate] = append(who[p.Gate], c.Arms[i].Name)
			}
		}
	}
	for _, gate := range why.Keys {
		text := fmt.Sprintf("refused: %d of %d points of %s, first: %s",
			len(why.Of[gate]), len(c.Levels)*len(c.Arms), fewNames(who[gate]), trimmedStop(why.Of[gate][0]))
		if !s.refusals.say(curveKey(c, gate), text) {
			s.Refused = append(s.Refused, text)
		}
	}
	if few := fewCalls(c); few != "" {
		s.hidden++
	}
	if len(s.r.Calibration) > 0 {
		s.hidden++
	}
}

// capacity adds the capacities that were found.
func (s *summary) capacity() {
	c := capacity.Of(s.a)
	if len(c.Arms) == 0 {
		return
	}
	t := SummaryTable{Title: "Capacity, " + strings.ReplaceAll(c.Objective, ",", ", ")}
	columns := []SummaryColumn{
		{Head: "capacity"},
		{Head: "95 % CI"},
		{Head: "against first"},
		{Head: "95 % CI"},
		{Head: "verdict"},
	}
	found, claims := 0, 0
	var first []string
	for i := range c.Arms {
		a := &c.Arms[i]
		t.Names = append(t.Names, a.Name)
		capacity, interval := CapacityOf(a), ""
		if a.Kind == claim.CapacityFound {
			found++
			capacity, interval = Rate(a.Rate.Value, 3), RateInterval(a.Rate)
			first = append(first, a.Name+" bears "+rate(whole(a.Rate.Value)))
		}
		ratio, bounds := CapacityRatio(a.Difference)
		verdict := ""
		if a.Difference != nil {
			verdict = CapacityWord(a.Difference)
			if a.Difference.Verdict.Claim() {
				claims++
			}
		}
		for k, text := range []string{capacity, interval, ratio, bounds, verdict} {
			columns[k].Cells = append(columns[k].Cells, SummaryCell{Value: text})
		}
		if a.Kind != claim.CapacityFound {
			s.Refused = append(s.Refused, a.Name+": "+trimmedStop(a.Why))
		}
	}
	t.Columns = columns
	switch {
	case found == 0:
		s.Answer = append(s.Answer, "Nothing can be claimed: no capacity was found.")
	case claims == 0 && len(c.Arms) > 1:
		s.Answer = append(s.Answer, "Nothing can be claimed yet about which arm has the higher capacity.")
	}
	if found > 0 {
		s.Answer = append(s.Answer,
			fmt.Sprintf("With %s kept, %s.", strings.ReplaceAll(c.Objective, ",", " and "), List(first)))
	}
	for i := range c.Arms {
		if d := c.Arms[i].Difference; d != nil && d.Verdict.Claim() {
			s.Answer = append(s.Answer, c.Arms[i].Name+strings.TrimPrefix(comparison(&c, &c.Arms[i]), ",")+".")
		}
	}
	s.Tables = append(s.Tables, t)
	s.hidden += len(CapacityNotes(s.r, &c))
}
