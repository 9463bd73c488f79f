package wirelab

import (
	"slices"
	"strings"
)

// UnknownName is the error for a name nobody knows, of which it has the first 100
// characters. It lists the known ones, so that the reader need not look them up.
func UnknownName(what, name string, known []string) error {
	sorted := slices.Clone(known)
	slices.Sort(sorted)
	return Errorf(InvalidArgument, "unknown %s %.100q; known: %s", what, name, strings.Join(slices.Compact(sorted), ", "))
}
