package report

import (
	"fmt"
	"strings"

	"wirelab/lab/result"
)

// unreadShown is how many unknown fields the sentence names.
const unreadShown = 5

// Unread names the parts of a result that are not shown because a later version of wirelab wrote them and this
// version does not know them. It returns "" if every part is known.
func Unread(r *result.Result) string {
	if len(r.Unread) == 0 {
		return ""
	}
	named := strings.Join(r.Unread[:min(unreadShown, len(r.Unread))], ", ")
	if more := len(r.Unread) - unreadShown; more > 0 {
		named += fmt.Sprintf(" and %d more", more)
	}
	by := "by a later wirelab, or edited since"
	if r.Minor > result.Minor {
		by = fmt.Sprintf("by a later wirelab (form %d.%d, this one knows %d.%d)", r.Schema, r.Minor, result.Schema,
			result.Minor)
	}
	return fmt.Sprintf("%s was written %s: what this wirelab knows is shown, without %s", r.ID, by, named)
}
