package result

import (
	"slices"

	"wirelab/lab/plan"
)

// Absent is an arm that was requested but not available where the experiment ran, because a broker or tool that it
// needs was not installed. It is in neither Plan nor Arms, so there are no figures and no claims for it.
type Absent struct {
	Arm plan.Arm `json:"arm"`
	// Place is its index among the requested arms, from 0.
	Place int `json:"place"`
	// Why says what is missing, and what to do about it.
	Why string `json:"why"`
	// Published, Contrasts and Advice are the plan's published figures, contrasts and recommendations that concern
	// the arm.
	Published []plan.Published `json:"published,omitempty"`
	Contrasts []plan.Contrast  `json:"contrasts,omitempty"`
	Advice    []plan.Advice    `json:"advice,omitempty"`
}

// Name is the arm's name, as [Result.ArmName] gives it for other arms.
func (a Absent) Name() string {
	if a.Arm.Name != "" {
		return a.Arm.Name
	}
	return a.Arm.Protocol
}

// Without removes arms from a complete plan. why has, by the arm's index, the reason why it is not available. If it
// is empty, the plan is not changed.
func Without(p plan.Plan, why map[int]string) (plan.Plan, []Absent) {
	if len(why) == 0 {
		return p, nil
	}
	var gone []Absent
	var arms []plan.Arm
	for i, arm := range p.Arms {
		reason, absent := why[i]
		if !absent {
			arms = append(arms, arm)
			continue
		}
		a := Absent{Arm: arm, Place: i, Why: reason}
		p.Published, a.Published = parted(p.Published, func(f plan.Published) bool { return f.Arm == a.Name() })
		p.Contrasts, a.Contrasts = parted(p.Contrasts,
			func(c plan.Contrast) bool { return c.With == a.Name() || c.Without == a.Name() })
		p.Advice, a.Advice = parted(p.Advice,
			func(d plan.Advice) bool { return d.Arm == a.Name() || d.Over == a.Name() })
		gone = append(gone, a)
	}
	p.Arms = arms
	has := func(corner string) bool {
		return slices.ContainsFunc(arms, func(a plan.Arm) bool { return a.Name == corner || a.Protocol == corner })
	}
	if !has(p.Explain.From) || !has(p.Explain.To) {
		p.Explain = plan.Corners{} // nothing can be explained between an arm and a missing one
	}
	return p, gone
}

// parted splits a list into what stays and what goes. It does not change list.
func parted[T any](list []T, goes func(T) bool) (stay, gone []T) {
	for _, one := range list {
		if goes(one) {
			gone = append(gone, one)
		} else {
			stay = append(stay, one)
		}
	}
	return stay, gone
}

// Asked is the plan as it was requested, with the absent arms at their places.
func (r *Result) Asked() plan.Plan {
	p := r.Plan
	p.Arms, p.Published = slices.Clone(p.Arms), slices.Clone(p.Published)
	p.Contrasts, p.Advice = slices.Clone(p.Contrasts), slices.Clone(p.Advice)
	for _, a := range r.Absent { // in ascending order, so that each insertion finds the earlier ones in place
		at := min(max(a.Place, 0), len(p.Arms)) // a file may contain any number
		p.Arms = slices.Insert(p.Arms, at, a.Arm)
		p.Published = append(p.Published, a.Published...)
		p.Contrasts = append(p.Contrasts, a.Contrasts...)
		p.Advice = append(p.Advice, a.Advice...)
	}
	return p
}

// Rebased is the name of the requested baseline, if that arm is absent and the first available one is the baseline
// instead; otherwise "".
func (r *Result) Rebased() string {
	for _, a := range r.Absent {
		if a.Place == 0 {
			return a.Name()
		}
	}
	return ""
}
