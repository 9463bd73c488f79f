package stat

import (
	"cmp"
	"slices"
	"strings"
)

// Cause counts the calls of a kind of failure that failed for one cause, with what the
// first of them said.
type Cause struct {
	Kind  string `json:"kind"`
	Cause string `json:"cause"`
	Count uint64 `json:"count"`
	First string `json:"first,omitempty"` // at most [TextLimit] bytes
}

const (
	// CauseLimit is how many causes are told apart. What is beyond is counted as
	// [OtherCause] of its kind.
	CauseLimit = 32
	// OtherCause takes what failed for causes beyond the limit.
	OtherCause = "other"
	// TextLimit is the most bytes that are kept of a message.
	TextLimit = 300
)

// Causes are a bounded tally of failures.
type Causes []Cause

// Find is the place of a cause of a kind; -1 where it is not there.
func (all Causes) Find(kind, cause string) int {
	return slices.IndexFunc(all, func(c Cause) bool { return c.Kind == kind && c.Cause == cause })
}

// Add counts failures, and keeps the first message of each cause.
func (all Causes) Add(more ...Cause) Causes {
	for _, c := range more {
		at := all.Find(c.Kind, c.Cause)
		if at < 0 && len(all) >= CauseLimit {
			c.Cause = OtherCause
			at = all.Find(c.Kind, c.Cause)
		}
		if at < 0 {
			c.First = cut(c.First)
			all = append(all, c)
			continue
		}
		all[at].Count += c.Count
	}
	return all
}

// Sorted returns them with the most frequent first.
func (all Causes) Sorted() Causes {
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b Cause) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Kind, b.Kind), strings.Compare(a.Cause, b.Cause))
	})
	return sorted
}

// cut is a text of at most TextLimit bytes.
func cut(text string) string {
	const more = "…"
	if len(text) <= TextLimit {
		return strings.ToValidUTF8(text, " ")
	}
	return strings.ToValidUTF8(text[:TextLimit-len(more)], "") + more
}
