package report

import (
	"wirelab/lab/doctor"
	"wirelab/lab/kind/kinds"
	"wirelab/lab/result"
	"wirelab/results/report/block"
)

// ExaminationBlocks reports an examination of the machine: the verdict, the findings by group, the reason and the
// remedy for each that is not fine, and the differences that the machine can tell apart.
func ExaminationBlocks(e doctor.Examination) []block.Block {
	all := []block.Block{
		block.Notes{Kind: block.Prose, Lines: []string{Machine(e.Machine.Environment)}},
		block.Notes{Kind: block.Claim, Lines: []string{e.Summary()}},
	}
	t := &block.Table{ID: "examined", Columns: block.Columns("group", "", "what", "found", "why", "to do", "command")}
	for _, group := range doctor.Groups() {
		for _, f := range e.Findings {
			row := block.Texts(string(group), string(f.Level), f.Name, f.Value, "", "", "")
			row[1].Tone = map[doctor.Level]block.Tone{doctor.Bad: block.Bad, doctor.Warn: block.Open}[f.Level]
			if f.Level == doctor.Fine {
				row[1].Tone = block.Good
			} else {
				row[4].Text, row[5].Text, row[6].Text = f.Why, f.Do, f.Command
			}
			if f.Group == group {
				t.Add(row...)
			}
		}
	}
	all = append(all, t)
	if e.Certificate == nil && e.Uncertified == "" {
		return all
	}
	all = append(all, block.Pause{}, block.Heading{Text: "What it can tell apart"})
	if e.Certificate == nil {
		return append(all, block.Notes{Kind: block.Prose, Lines: []string{e.Uncertified}, Tone: block.Open})
	}
	return append(all, block.Notes{Kind: block.Prose, Lines: []string{Burst(e.Certificate)}}, block.Pause{},
		ResolutionTable(e.Certificate))
}

// ResolutionTable gives for each of [result.Stretches] the half-width of the interval and the smallest difference
// that is found; [Absent] if the stretch is too short. It leaves out metrics that hardly vary.
func ResolutionTable(c *result.Certificate) *block.Table {
	t := &block.Table{
		ID: "resolutions", Columns: block.Columns("metric"),
		Caption: "± is the half-width of a 95 % interval of the difference between two arms.",
		Notes: block.Notes{Kind: block.Method, Lines: []string{
			"Found is the smallest difference that is claimed in 8 of 10 repeats. " + Absent +
				" stands where fewer than ten rounds fit.",
		}},
	}
	for _, stretch := range result.Stretches() {
		in := block.Columns(">in "+seconds(stretch), ">found")
		in[1].Short = "found in " + seconds(stretch)
		t.Columns = append(t.Columns, in...)
	}
	for _, r := range c.Metrics {
		m, err := kinds.MetricByID(r.Metric)
		if err != nil || m.Service || r.Deviation < always {
			continue // in the closed loop service times are the response times
		}
		row := block.Texts(m.Short)
		for _, stretch := range result.Stretches() {
			in := block.Texts(Absent, Absent)
			if w, ok := c.In(r.Metric, stretch); ok {
				in = block.Texts("±"+Percent(w.HalfWidth), Percent(w.Detectable))
			}
			in[1].Tone = block.Claimed
			row = append(row, in...)
		}
		t.Add(row...)
	}
	return t
}

// always is the spread below which a metric counts as constant, such as the bytes of a call: any difference in it is
// found.
const always = 0.001
