package report

import (
	"fmt"

	"wirelab/lab/result"
)

// Absences says which arms are absent and why. Arms with the same reason share a sentence.
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

// AbsentWhy replaces the description of an absent arm: "absent: RabbitMQ is not installed; …".
func AbsentWhy(a result.Absent) string { return "absent: " + a.Why }

// absentWays returns the ways that were not available, for the rows in which they would be.
func absentWays(r *result.Result) []Way {
	var ways []Way
	for _, a := range r.Absent {
		ways = append(ways, Way{Name: a.Name(), Why: AbsentWhy(a)})
	}
	return ways
}

// standIn says which arm replaces the first that was asked for; "" if that one is present.
func standIn(r *result.Result) string {
	first := r.Rebased()
	if first == "" || len(r.Plan.Arms) < 2 {
		return ""
	}
	return fmt.Sprintf("%s, since %s, which was named first, is absent", r.ArmName(0), first)
}

// AbsentNotes opens a report: it names each arm that was asked for and not available, and the arm that replaces the
// first.
func AbsentNotes(r *result.Result) []string {
	notes := Absences(r.Absent)
	if text := standIn(r); text != "" {
		notes = append(notes, "all are compared with "+text)
	}
	return notes
}
