package report

import (
	"slices"
	"strings"

	"wirelab/lab/result"
)

// Compared says which parts of the replies of external services are compared and which are not; "" if no service is
// external.
func Compared(r *result.Result) string {
	var all []string
	for i := range r.Arms {
		if text := r.Arms[i].Compared; text != "" && !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return strings.Join(all, "; ")
}

// DifferNotes says which versions of a service give other answers than the first.
func DifferNotes(r *result.Result) (notes []string) {
	for i := range r.Arms {
		if why := r.Arms[i].Differs; why != "" {
			notes = append(notes, r.ArmName(i)+" does other work than "+r.ArmName(0)+": "+why)
		}
	}
	return notes
}
