package report

import (
	"slices"
	"strings"

	"wirelab/lab/result"
)

// Compared is what is compared of the replies of services that are not ours, and what is not; "" where all are ours.
func Compared(r *result.Result) string {
	var all []string
	for i := range r.Arms {
		if text := r.Arms[i].Compared; text != "" && !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return strings.Join(all, "; ")
}

// DifferNotes says which versions of a service do not answer as the first one does.
func DifferNotes(r *result.Result) (notes []string) {
	for i := range r.Arms {
		if why := r.Arms[i].Differs; why != "" {
			notes = append(notes, r.ArmName(i)+" does other work than "+r.ArmName(0)+": "+why)
		}
	}
	return notes
}
