package report

import (
	"strconv"

	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/explain"
	"wirelab/lab/result/metric"
	"wirelab/results/report/block"
)

// ShareTable lists the parts of the difference between two arms in a metric, and the whole difference in the last
// row.
func ShareTable(r *result.Result, m metric.Metric, at *explain.Attribution) *block.Table {
	unit := UnitFor(m.Dimension, at.Base.Value)
	t := &block.Table{
		ID: "shares", Title: m.Title + " from " + r.ArmName(at.From) + " to " + r.ArmName(at.To),
		Columns: block.Columns("share", "from → to", ">points", "95 % CI", ">amount", "95 % CI", "verdict"),
	}
	t.Columns[4].Unit, t.Columns[4].Short = unit.Name, unit.Name
	t.Data = [][]string{{"share", "from", "to", "points", "low", "high", "amount", "unit"}}
	add := func(name, step string, s *explain.Share) {
		t.Data = append(t.Data, []string{
			name, s.LevelFrom, s.LevelTo, Exact(s.Points.Value), Exact(s.Points.Low), Exact(s.Points.High),
			Exact(s.Amount.Value), BaseUnit(m.Dimension),
		})
		amount, interval := ShareAmount(s.Amount, at.Base.Value, unit)
		row := block.Texts(name, step, Points(s), Interval(s.Difference), amount, interval, Verdict(m, s.Difference))
		row[6].Tone = ToneOf(s.Difference.Verdict)
		t.Add(row...)
	}
	for i := range at.Shares {
		s := &at.Shares[i]
		add(s.Factor, s.LevelFrom+" → "+s.LevelTo, s)
	}
	add("together", "", at.Total)
	return t
}

// EffectTable lists each factor's effect on a metric; nil if there is none.
func EffectTable(e *explain.Explanation, m metric.Metric, x *explain.MetricExplanation) *block.Table {
	t := block.Table{ID: "effects", Title: m.Title + ": each factor, on average over the others"}
	return effectTable(e, t, "effect", x.Effects, func(d *claim.Difference) block.Cell {
		if d == nil {
			return block.Cell{Text: "cannot be estimated", Tone: block.Quiet}
		}
		return block.Cell{Text: Verdict(m, d), Tone: ToneOf(d.Verdict)}
	})
}

// InteractionTable lists which factors interact in a metric; nil if no interaction can be estimated.
func InteractionTable(e *explain.Explanation, x *explain.MetricExplanation) *block.Table {
	t := block.Table{ID: "interactions", Title: "act together: what both do beyond what each does by itself"}
	return effectTable(e, t, "interaction", x.Interactions, func(d *claim.Difference) block.Cell {
		c := block.Cell{Text: Interacts(d), Tone: block.Quiet}
		if d != nil {
			if c.Tone = ToneOf(d.Verdict); d.Verdict == claim.Better || d.Verdict == claim.Worse {
				c.Tone = block.Claimed
			}
		}
		return c
	})
}

func effectTable(
	e *explain.Explanation, t block.Table, head string, all []explain.FactorEffect,
	verdict func(*claim.Difference) block.Cell,
) *block.Table {
	if len(all) == 0 {
		return nil
	}
	t.Columns = block.Columns(head, ">change", "95 % CI", "verdict")
	t.Data = [][]string{{"factor", "ratio", "low", "high", "verdict", "p_adjusted", "rounds", "why"}}
	for i := range all {
		d := all[i].Difference
		line := make([]string, len(t.Data[0]))
		line[0], line[7] = EffectName(e, &all[i]), all[i].Why
		if d != nil {
			line[4], line[6] = string(d.Verdict), strconv.Itoa(d.Rounds)
		}
		if d != nil && d.Known {
			line[1], line[2], line[3], line[5] = Exact(d.Ratio), Exact(d.Low), Exact(d.High), Exact(d.Adjusted)
		}
		t.Data = append(t.Data, line)
		t.Add(append(block.Texts(EffectName(e, &all[i]), Change(d), Interval(d)), verdict(d))...)
	}
	return &t
}
