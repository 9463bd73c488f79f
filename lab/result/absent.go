package result

import (
	"slices"

	"wirelab/lab/plan"
)

// Absent is an arm that was asked for and could not be had where the experiment
// ran: a broker that it needs is not installed. It is not in Plan nor among
// Arms, so that no figure and no claim can be made of it.
type Absent struct {
	Arm plan.Arm `json:"arm"`
	// Place is its place among the arms that were asked for, from 0.
	Place int `json:"place"`
	// Why says what is not there, and what to do about it.
	Why string `json:"why"`
	// Published are others' figures for it, Contrasts and Advice what else is said of
	// it, all of which the plan would hold.
	Published []plan.Published `json:"published,omitempty"`
	Contrasts []plan.Contrast  `json:"contrasts,omitempty"`
	Advice    []plan.Advice    `json:"advice,omitempty"`
}

// Name is the arm's name, as [Result.ArmName] says those of the others.
func (a Absent) Name() string {
	if a.Arm.Name != "" {
		return a.Arm.Name
	}
	return a.Arm.Protocol
}

// Without takes arms out of a complete plan: those of which why, by their place,
// says that they cannot be had. Without any the plan is as it was.
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
		p.Explain = plan.Corners{} // nothing is explained between an arm and none
	}
	return p, gone
}

// parted are the things that stay in a plan and those that go; list is left alone.
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

// Asked is the plan that was asked for, with the arms that were absent at their places.
func (r *Result) Asked() plan.Plan {
	p := r.Plan
	p.Arms, p.Published = slices.Clone(p.Arms), slices.Clone(p.Published)
	p.Contrasts, p.Advice = slices.Clone(p.Contrasts), slices.Clone(p.Advice)
	for _, a := range r.Absent { // by place, so that each finds those before it
		at := min(max(a.Place, 0), len(p.Arms)) // a file may say anything
		p.Arms = slices.Insert(p.Arms, at, a.Arm)
		p.Published = append(p.Published, a.Published...)
		p.Contrasts = append(p.Contrasts, a.Contrasts...)
		p.Advice = append(p.Advice, a.Advice...)
	}
	return p
}

// Rebased is the name of the arm that the others were to be compared with, where
// it is absent and so the first of those that are there stands in for it; else "".
func (r *Result) Rebased() string {
	for _, a := range r.Absent {
		if a.Place == 0 {
			return a.Name()
		}
	}
	return ""
}
