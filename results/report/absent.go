package report

import (
	"fmt"

	"wirelab/lab/result"
)

// Absences say of arms that they are absent, and why; those with the same reason
// together.
func Absences(arms []result.Absent) []string {
	var all []string
	said := map[string]bool{}
	for _, a := range arms {
		var who []string
		for _, b := range arms {
			if b.Why == a.Why {
				who = append(who, b.Name())
			}
		}
		is := " is "
		if len(who) > 1 {
			is = " are "
		}
		if !said[a.Why] {
			all = append(all, List(who)+is+AbsentWhy(a))
		}
		said[a.Why] = true
	}
	return all
}

// AbsentWhy stands where an arm that is absent would be described: "absent:
// RabbitMQ is not installed; …".
func AbsentWhy(a result.Absent) string { return "absent: " + a.Why }

// absentWays are the ways that could not be had, for rows in which they would be.
func absentWays(r *result.Result) []Way {
	var ways []Way
	for _, a := range r.Absent {
		ways = append(ways, Way{Name: a.Name(), Why: AbsentWhy(a)})
	}
	return ways
}

// standIn says which arm stands in for the first that was asked for; "" where
// that is there.
func standIn(r *result.Result) string {
	first := r.Rebased()
	if first == "" || len(r.Plan.Arms) < 2 {
		return ""
	}
	return fmt.Sprintf("%s, since %s, which was named first, is absent", r.ArmName(0), first)
}

// AbsentNotes are what a report says of arms that were asked for and could not be
// had, before anything else: each, and which arm stands in for the first.
func AbsentNotes(r *result.Result) []string {
	notes := Absences(r.Absent)
	if text := standIn(r); text != "" {
		notes = append(notes, "all are compared with "+text)
	}
	return notes
}
