package report

import (
	"wirelab/lab/result/claim"
	"wirelab/lab/result/metric"
)

// stepShare writes the share of one step.
func stepShare(e claim.Estimate) string {
	switch one := e.ShownRefused(); {
	case e.Known:
		return Percent(e.Value)
	case one != nil:
		return Refused(Percent(one.Value))
	}
	return Absent
}

// stepUnit returns one unit for all times; the empty unit if there are no times.
func stepUnit(l *claim.LoadAnalysis) Unit {
	var values []float64
	for a := range l.Arms {
		for _, s := range l.Arms[a].Steps {
			for _, e := range []claim.Estimate{s.P50, s.P90, s.P99} {
				if e.Known {
					values = append(values, e.Value)
				} else if one := e.ShownRefused(); one != nil {
					values = append(values, one.Value)
				}
			}
		}
	}
	if len(values) == 0 {
		return Unit{Size: 1}
	}
	return UnitFor(metric.Time, values...)
}
