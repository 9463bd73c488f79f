package stat

import (
	"cmp"
	"slices"
	"strings"
)

// Cause counts the calls that failed in one way for one cause, with the first message.
type Cause struct {
	Kind  string `json:"kind"`
	Cause string `json:"cause"`
	Count uint64 `json:"count"`
	First string `json:"first,omitempty"` // at most [TextLimit] bytes
}

const (
	// CauseLimit is the maximum number of causes in a tally. Causes beyond it are counted as [OtherCause] of their
	// kind.
	CauseLimit = 32
	// OtherCause collects the causes beyond the limit.
	OtherCause = "other"
	// TextLimit is the maximum length of a message that is kept, in bytes.
	TextLimit = 300
)

// Causes is a bounded tally of failures.
type Causes []Cause

// Find returns the index of a cause of a kind, or -1.
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

// Sorted returns the causes by descending count.
func (all Causes) Sorted() Causes {
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b Cause) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Kind, b.Kind), strings.Compare(a.Cause, b.Cause))
	})
	return sorted
}

// cut shortens a text to at most TextLimit bytes.
func cut(text string) string {
	const more = "…"
	if len(text) <= TextLimit {
		return strings.ToValidUTF8(text, " ")
	}
	return strings.ToValidUTF8(text[:TextLimit-len(more)], "") + more
}
