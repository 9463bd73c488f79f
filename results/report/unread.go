package report

import (
	"fmt"
	"strings"

	"wirelab/lab/result"
)

// unreadShown is how many unknown fields are named.
const unreadShown = 5

// Unread says which parts of a result are not shown, since a later wirelab wrote them and this one does not know them;
// "" if all of it is understood.
func Unread(r *result.Result) string {
	if len(r.Unread) == 0 {
		return ""
	}
	named := strings.Join(r.Unread[:min(unreadShown, len(r.Unread))], ", ")
	if more := len(r.Unread) - unreadShown; more > 0 {
		named += fmt.Sprintf(" and %d more", more)
	}
	by := "by a later wirelab, or somebody added to it"
	if r.Minor > result.Minor {
		by = fmt.Sprintf("by a later wirelab (form %d.%d, this one knows %d.%d)", r.Schema, r.Minor, result.Schema,
			result.Minor)
	}
	return fmt.Sprintf("%s was written %s: it is shown as far as it is understood, without %s", r.ID, by, named)
}
