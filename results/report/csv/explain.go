package csv

import (
	"io"
	"strconv"

	"wirelab/lab/kind/kinds"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/explain"
	"wirelab/lab/result/metric"
	"wirelab/results/report"
)

// ExplainColumns returns the heads of the columns of [WriteExplanation].
//
//   - result, load, metric: as in [Columns].
//   - kind: "effect" of one factor, "interaction" of two, "share" of a
//     difference between two arms, "whole" of that difference.
//   - of: what it is the effect of ("gRPC vs HTTP/1.1"), or the share's factor;
//     from, to: the levels, and of a whole difference the arms.
//   - where: of which difference a share is, by its two arms.
//   - ratio, low, high: as a factor, 1 for nothing; of shares 1 plus the part of
//     the first arm's figure, so that ratio − 1 add up. verdict: as the report
//     says it; p, p_adjusted: of no effect, alone and among all.
//   - times, times_low, times_high: shares as factors, which multiply to the
//     whole; amount, amount_low, amount_high: in unit, for each request, which add up.
//   - rounds: how many have all the arms. why: why there is no number.
func ExplainColumns() []string {
	return []string{
		"result", "load", "metric", "kind", "of", "from", "to", "where", "ratio", "low", "high", "verdict", "p",
		"p_adjusted",
		"times", "times_low", "times_high", "amount", "amount_low", "amount_high", "unit", "rounds", "why",
	}
}

// WriteExplanation writes every effect, interaction and share, heads first. The error is w's.
func WriteExplanation(w io.Writer, r *result.Result, e *explain.Explanation) error {
	out := NewSheet(w)
	if err := out.Write(ExplainColumns()); err != nil {
		return err
	}
	for i := range e.Loads {
		l := &e.Loads[i]
		for k := range l.Metrics {
			x := &l.Metrics[k]
			m, err := kinds.MetricByID(x.Metric)
			if err != nil {
				continue
			}
			first := []string{r.ID, l.Name, m.ID}
			if err := out.WriteAll(explainRows(r, e, m, x, first)); err != nil {
				return err
			}
		}
	}
	out.Flush()
	return out.Error()
}

func explainRows(r *result.Result, e *explain.Explanation, m metric.Metric, x *explain.MetricExplanation,
	first []string,
) [][]string {
	var rows [][]string
	add := func(kind, of, from, to, where string, d *claim.Difference, times, amount explain.Amount, why string) {
		row := append(append([]string{}, first...), kind, of, from, to, where)
		row = append(row, ratio(d)...)
		row = append(row, figures(times)...)
		row = append(row, figures(amount)...)
		rows = append(rows, append(row, report.BaseUnit(m.Dimension), strconv.Itoa(x.Rounds), why))
	}
	if x.Why != "" {
		add("effect", "", "", "", "", nil, explain.Amount{}, explain.Amount{}, x.Why)
	}
	for i := range x.Effects {
		f := &x.Effects[i]
		add("effect", report.EffectName(e, f), report.Against(e, f, 0), report.Level(e, f, 0), "", f.Difference,
			explain.Amount{}, explain.Amount{}, f.Why)
	}
	for i := range x.Interactions {
		f := &x.Interactions[i]
		add("interaction", report.EffectName(e, f), report.Against(e, f, 0)+" × "+report.Against(e, f, 1),
			report.EffectName(e, f), "",
			f.Difference, explain.Amount{}, explain.Amount{}, f.Why)
	}
	for i := range x.Attributions {
		at := &x.Attributions[i]
		where := r.ArmName(at.From) + " to " + r.ArmName(at.To)
		for k := range at.Shares {
			s := &at.Shares[k]
			add("share", s.Factor, s.LevelFrom, s.LevelTo, where, s.Difference, s.Times, s.Amount, "")
		}
		if s := at.Total; s != nil {
			add("whole", "", r.ArmName(at.From), r.ArmName(at.To), where, s.Difference, s.Times, s.Amount, "")
		} else {
			add("whole", "", r.ArmName(at.From), r.ArmName(at.To), where, nil, explain.Amount{}, explain.Amount{},
				at.Why)
		}
	}
	return rows
}

// ratio returns a difference as columns.
func ratio(d *claim.Difference) []string {
	if d == nil {
		return make([]string, 6)
	}
	row := []string{"", "", "", string(d.Verdict), "", ""}
	if d.Known {
		row[0], row[1], row[2] = report.Exact(d.Ratio), report.Exact(d.Low), report.Exact(d.High)
		row[4], row[5] = report.Exact(d.P), report.Exact(d.Adjusted)
	}
	return row
}

func figures(a explain.Amount) []string {
	if !a.Known {
		return make([]string, 3)
	}
	return []string{report.Exact(a.Value), report.Exact(a.Low), report.Exact(a.High)}
}
