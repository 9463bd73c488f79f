package result

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"wirelab/lab/plan"
	"wirelab/lab/stat"
)

// Followed is what became of the entries that calls handed over, where being told
// that all is well is not yet being stored: of a slice, or of several. Each is
// followed by its id; a count of one kind never makes up for another's
// (docs/origins.md R2).
type Followed struct {
	// Sent is every entry whose call was begun in the window. Accepted is those
	// whose caller was told that all is well, Refused the rest.
	Sent     uint64 `json:"sent"`
	Accepted uint64 `json:"accepted"`
	Refused  uint64 `json:"refused"`
	// Confirmed and Stored count accepted entries of which that is known, Missing
	// accepted ones that were not stored when nobody waited any longer.
	Confirmed uint64 `json:"confirmed"`
	Stored    uint64 `json:"stored"`
	Missing   uint64 `json:"missing"`
	// Duplicated is how often an entry came to the store again, and Reordered how
	// many entries were stored before one that the same caller had sent earlier.
	Duplicated uint64 `json:"duplicated"`
	Reordered  uint64 `json:"reordered"`
	// Kept is entries that are stored although their caller was told of an error,
	// Stray those stored that nobody sent.
	Kept  uint64 `json:"kept"`
	Stray uint64 `json:"stray"`
	// Lost is events that journals forgot before they were read: unless it is 0
	// the counts above are too low. Unknown is accepted entries of which no journal
	// tells that they were stored, as far as the lost events may have been theirs:
	// they are not Missing, since nobody can say so.
	Lost    uint64 `json:"lost"`
	Unknown uint64 `json:"unknown,omitempty"`

	// Times from when an entry was due, in ns, of accepted entries.
	ConfirmedAfter *stat.Histogram `json:"confirmed_after"`
	StoredAfter    *stat.Histogram `json:"stored_after"`
	// Backlog is how many entries were accepted and not stored, every
	// BacklogEvery from the slice's first call to the last entry stored.
	Backlog [][]int32 `json:"backlog"` // a list for each slice
	// Drained is how long after the window's end the last entry was stored, the
	// longest of all slices.
	Drained plan.Duration `json:"drained"`
}

// BacklogEvery is the time between two values of a backlog, and BacklogLimit
// the most values: of entries, a backlog that takes longer is shown up to there; of
// messages, neighbours become one.
const (
	BacklogEvery = 100 * time.Millisecond
	BacklogLimit = 6_000 // ten minutes
)

// Add returns what became of both.
func (f *Followed) Add(more Followed) *Followed {
	if f == nil {
		f = &Followed{ConfirmedAfter: stat.NewHistogram(), StoredAfter: stat.NewHistogram()}
	}
	f.Sent += more.Sent
	f.Accepted += more.Accepted
	f.Refused += more.Refused
	f.Confirmed += more.Confirmed
	f.Stored += more.Stored
	f.Missing += more.Missing
	f.Duplicated += more.Duplicated
	f.Reordered += more.Reordered
	f.Kept += more.Kept
	f.Stray += more.Stray
	f.Lost += more.Lost
	f.Unknown += more.Unknown
	f.Drained = max(f.Drained, more.Drained)
	if more.ConfirmedAfter != nil {
		f.ConfirmedAfter.Merge(more.ConfirmedAfter)
	}
	if more.StoredAfter != nil {
		f.StoredAfter.Merge(more.StoredAfter)
	}
	f.Backlog = append(slices.Clip(f.Backlog), more.Backlog...)
	return f
}

// Whole returns an error that says what is wrong with the sums, nil if nothing
// is: a stored result may have been edited.
func (f *Followed) Whole() error {
	switch {
	case f.Accepted+f.Refused != f.Sent:
		return fmt.Errorf("%d accepted and %d refused of %d sent", f.Accepted, f.Refused, f.Sent)
	case f.Stored+f.Missing+f.Unknown != f.Accepted:
		return fmt.Errorf("%d stored, %d missing and %d unknown of %d accepted", f.Stored, f.Missing, f.Unknown,
			f.Accepted)
	case f.Confirmed > f.Accepted || f.Kept > f.Refused || f.Reordered > f.Stored+f.Kept:
		return errors.New("more confirmed, kept or reordered than there are")
	case f.StoredAfter == nil || f.StoredAfter.Count() != f.Stored || f.ConfirmedAfter == nil ||
		f.ConfirmedAfter.Count() != f.Confirmed:
		return errors.New("the times are not of as many entries as are counted")
	}
	return nil
}
