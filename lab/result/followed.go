package result

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"wirelab/lab/plan"
	"wirelab/lab/stat"
)

// Followed is what happened to the entries that calls handed over, in a slice or in several. It is for operations
// whose reply does not yet mean that the entry is stored. Each entry is tracked by its id, and counters of different
// faults are never netted (docs/origins.md R2).
type Followed struct {
	// Sent counts the entries whose call began in the window. Accepted are those whose caller got a success, Refused
	// the others.
	Sent     uint64 `json:"sent"`
	Accepted uint64 `json:"accepted"`
	Refused  uint64 `json:"refused"`
	// Confirmed and Stored count the accepted entries for which that is known. Missing counts accepted entries that
	// were not stored when waiting ended.
	Confirmed uint64 `json:"confirmed"`
	Stored    uint64 `json:"stored"`
	Missing   uint64 `json:"missing"`
	// Duplicated counts how often an entry reached the store again. Reordered counts entries that were stored before
	// an earlier one of the same caller.
	Duplicated uint64 `json:"duplicated"`
	Reordered  uint64 `json:"reordered"`
	// Kept counts entries that were stored although their caller got an error. Stray counts stored entries that were
	// never sent.
	Kept  uint64 `json:"kept"`
	Stray uint64 `json:"stray"`
	// Lost counts events that journals dropped before they were read. If it is not 0, the counts above are too low.
	// Unknown counts accepted entries that no journal reports as stored, but whose report may be among the lost
	// events. They are not counted as Missing, because that is not certain.
	Lost    uint64 `json:"lost"`
	Unknown uint64 `json:"unknown,omitempty"`

	// Times of accepted entries, from when an entry was due, in ns.
	ConfirmedAfter *stat.Histogram `json:"confirmed_after"`
	StoredAfter    *stat.Histogram `json:"stored_after"`
	// Backlog is the number of entries that were accepted but not stored, every BacklogEvery, from the slice's first
	// call to the last stored entry.
	Backlog [][]int32 `json:"backlog"` // a list for each slice
	// Drained is how long after the end of the window the last entry was stored; the maximum over slices.
	Drained plan.Duration `json:"drained"`
}

// BacklogEvery is the time between two values of a backlog, and BacklogLimit is the maximum number of values. A
// longer backlog of entries is cut off there. In a longer backlog of messages, neighbouring values are merged.
const (
	BacklogEvery = 100 * time.Millisecond
	BacklogLimit = 6_000 // ten minutes
)

// Add returns the sum of both.
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

// Whole returns an error that says which sums are inconsistent, or nil. A stored result may have been edited.
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
