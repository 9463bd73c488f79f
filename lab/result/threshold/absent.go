package threshold

import (
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
)

// absent returns the findings of a threshold on absent arms and, if the first arm is absent, on differences from it.
// In a report another arm may replace the first one, but not in a threshold on which a decision depends.
func absent(r *result.Result, t Threshold, l *claim.LoadAnalysis) []Finding {
	var all []Finding
	add := func(arm int, name, why string) {
		if t.Arm == "" || t.Arm == name {
			all = append(all, Finding{
				Threshold: t.Text, Metric: t.Metric, Arm: arm, ArmName: name, Load: l.Load, LoadName: l.Name,
				Absent:   arm < 0,
				Relative: t.Relative, Below: t.Below, Limit: t.Limit, LimitText: t.LimitText, P: 1, Adjusted: 1,
				Outcome: Spoiled, Why: why,
			})
		}
	}
	first := r.Rebased()
	for arm := range l.Arms {
		if t.Relative && first != "" {
			add(arm, l.Arms[arm].Name, first+", which it is to be compared with, is absent")
		}
	}
	for _, a := range r.Absent {
		if !t.Relative || a.Place > 0 {
			add(-1, a.Name(), "absent: "+a.Why)
		}
	}
	return all
}
