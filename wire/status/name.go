package status

import (
	"fmt"
	"slices"
	"strings"

	"wirelab/internal/nearest"
)

// listed is how many characters the list of known names may take in an error: an error is a line.
const listed = 140

// UnknownName is the error for a name that is not known, of which it has the first 100 characters. It
// says which known names may be meant, and lists the known ones where the list is short, so that the
// reader need not look them up. Of a long list it has a few; whole, where given, is the command that
// prints all of them.
func UnknownName(what, name string, known []string, whole ...string) error {
	return &Error{
		Code: InvalidArgument, Message: fmt.Sprintf("unknown %s %.100q%s", what, name, Known(name, known, whole...)),
		Unknown: name,
	}
}

// Known is what [UnknownName] says behind the name, for errors that begin in another way: "; did you
// mean a? Known: a, b".
func Known(name string, known []string, whole ...string) string {
	sorted := slices.Clone(known)
	slices.Sort(sorted)
	sorted = slices.Compact(sorted)
	meant := ""
	likely := nearest.Names(name, sorted)
	if len(likely) > 0 {
		meant = "; did you mean " + anyOf(likely) + "?"
	}
	between := ", "
	if slices.ContainsFunc(sorted, func(s string) bool { return strings.Contains(s, ",") }) {
		between = "; "
	}
	list := strings.Join(sorted, between)
	switch {
	case len(list) <= listed && meant == "":
		return "; known: " + list
	case len(list) <= listed:
		return meant + " Known: " + list
	}
	where := ""
	if len(whole) > 0 {
		where = fmt.Sprintf("%s lists all %d", whole[0], len(sorted))
	}
	switch {
	case meant != "" && where != "":
		return meant + " " + where
	case meant != "":
		return meant
	case where != "":
		return "; " + where
	}
	few := 0
	for length := 0; length <= listed; few++ {
		length += len(sorted[few]) + len(between)
	}
	few = max(1, few-1)
	return fmt.Sprintf("; known: %s and %d more", strings.Join(sorted[:few], between), len(sorted)-few)
}

// anyOf joins words with commas and "or".
func anyOf(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
