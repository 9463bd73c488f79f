package result

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"wirelab/lab/plan"
	"wirelab/lab/stat"
)

// Missing and other entries, counted. They should be 0; with a missing one no
// figure of the arm is valid, while one that came again or in another order is
// what a queue may do, and is told.
const (
	MissingEntries    = "missing-entries"
	DuplicatedEntries = "duplicated-entries"
	ReorderedEntries  = "reordered-entries"
)

// followedMetrics are those of calls whose effect comes later. They are the
// accepted entries' alone: one whose caller was told of an error has no time.
func followedMetrics() []Metric {
	times := func(id, title string, q float64, of func(*Followed) *stat.Histogram) Metric {
		return Metric{
			ID: id, Title: title, Short: title, Dimension: Time, Gain: "faster", Loss: "slower",
			Closed: true, Open: true, Optional: true, Quantile: q, of: func(t *Trial) *stat.Histogram {
				if t.Followed == nil {
					return nil
				}
				return of(t.Followed)
			},
		}
	}
	confirmed := func(f *Followed) *stat.Histogram { return f.ConfirmedAfter }
	stored := func(f *Followed) *stat.Histogram { return f.StoredAfter }
	counted := func(id, title string, of func(*Followed) uint64) Metric {
		return Metric{
			ID: id, Title: title, Short: title, Dimension: Number, Gain: "fewer", Loss: "more",
			Closed: true, Open: true, Optional: true, Counted: true, take: func(t *Trial) (float64, bool) {
				if t.Followed == nil {
					return 0, false
				}
				return float64(of(t.Followed)), true
			},
		}
	}
	return []Metric{
		times(plan.ConfirmedP50, "confirmed p50", 0.5, confirmed),
		times(plan.ConfirmedP99, "confirmed p99", 0.99, confirmed),
		times(plan.StoredP50, "stored p50", 0.5, stored),
		times(plan.StoredP90, "stored p90", 0.9, stored),
		times(plan.StoredP99, "stored p99", 0.99, stored),
		times(plan.StoredP999, "stored p99.9", 0.999, stored),
		counted(MissingEntries, "missing entries", func(f *Followed) uint64 { return f.Missing }),
		counted(DuplicatedEntries, "duplicated entries", func(f *Followed) uint64 { return f.Duplicated }),
		counted(ReorderedEntries, "reordered entries", func(f *Followed) uint64 { return f.Reordered }),
	}
}

// journalKeeps is the capacity of a process's journal, as package journal has it.
const journalKeeps = 1 << 18

// unaccounted is how many entries nobody can say the right thing of.
func (f *Followed) unaccounted() uint64 { return f.Missing + f.Stray + f.Lost }

// entries: what was accepted was stored, and what was stored had been sent.
func (s *subject) entries() {
	var all *Followed
	readings, failed := s.each(func(_ int, t *Trial) (float64, bool, bool) {
		if t.Followed == nil {
			return 0, false, false
		}
		all = all.Add(*t.Followed)
		n := t.Followed.unaccounted()
		return float64(n), n == 0, true
	})
	if all == nil {
		return
	}
	var faults []string
	for _, f := range []struct {
		n    uint64
		what string
	}{
		{all.Missing, "accepted and never stored"},
		{all.Stray, "stored and never sent"},
		{all.Unknown, "of which nobody can tell whether they were stored"},
		{all.Lost, "events that a journal forgot before they were read"},
	} {
		if f.n > 0 {
			faults = append(faults, Thousands(f.n)+" "+f.what)
		}
	}
	s.add(Check{
		Gate: Entries, OK: failed == 0, Value: float64(all.unaccounted()), Unit: "entries", Rounds: readings,
		Detail: choose(failed == 0, Thousands(all.Accepted)+" entries were accepted, and each was stored", "of "+Thousands(all.Accepted)+" entries accepted: "+strings.Join(faults, ", ")),
		Fix:    choose(all.Lost > 0, "let slices be shorter, or the rate lower: a journal keeps some "+Thousands(journalKeeps)+" events, two for each entry", "find where they went: what is lost costs nothing, so that no number of this arm can stand beside another's"),
	})
	s.state.Entries = &EntryState{
		Sent: all.Sent, Accepted: all.Accepted, Confirmed: all.Confirmed, Stored: all.Stored,
		Missing: all.Missing, Duplicated: all.Duplicated, Reordered: all.Reordered,
	}
	s.entryNotes(all)
}

// EntryState is the account of an arm's entries over all rounds: see [Followed].
type EntryState struct {
	Sent       uint64 `json:"sent"`
	Accepted   uint64 `json:"accepted"`
	Confirmed  uint64 `json:"confirmed"`
	Stored     uint64 `json:"stored"`
	Missing    uint64 `json:"missing"`
	Duplicated uint64 `json:"duplicated"`
	Reordered  uint64 `json:"reordered"`
}

// PartState is what one process of an arm's pipeline used.
type PartState struct {
	Name  string  `json:"name"`
	CPU   float64 `json:"cpu,omitempty"`   // ns per request
	Share float64 `json:"share,omitempty"` // of all of the pipeline's
	// Refused holds both where the arm's server CPU is refused.
	Refused Refusals `json:"refused,omitempty"`
}

// parts tells what each process of a pipeline used, the dearest first.
func (s *subject) parts() {
	used, all, calls := map[string]float64{}, 0.0, uint64(0)
	for _, t := range s.trials {
		for name, cpu := range t.Parts {
			used[name] += float64(cpu)
			all += float64(cpu)
		}
		calls += t.Calls()
	}
	if all <= 0 || calls == 0 {
		return
	}
	for name, cpu := range used {
		s.state.Parts = append(s.state.Parts, PartState{Name: name, CPU: finite(cpu / float64(calls)), Share: cpu / all})
	}
	slices.SortFunc(s.state.Parts, func(a, b PartState) int {
		return cmp.Or(cmp.Compare(b.CPU, a.CPU), strings.Compare(a.Name, b.Name))
	})
}

// entryNotes says what a queue may do and a reader should know of.
func (s *subject) entryNotes(all *Followed) {
	for _, n := range []struct {
		n    uint64
		what string
	}{
		{all.Duplicated, "entries came to the store again, and were stored once"},
		{all.Reordered, "entries were stored before one that the same caller had sent earlier"},
		{all.Kept, "entries were stored although their caller was told of an error"},
	} {
		if n.n > 0 {
			s.state.Notes = append(s.state.Notes, Thousands(n.n)+" "+n.what)
		}
	}
	if all.Drained > 0 {
		s.state.Notes = append(s.state.Notes, fmt.Sprintf("the last entry was stored %v after its slice had ended", time.Duration(all.Drained).Round(time.Millisecond)))
	}
}

// entryFlaws checks that what became of entries adds up, and with the calls.
func entryFlaws(path string, t *Trial, _ plan.Load, add func(path, format string, args ...any)) {
	f := t.Followed
	if f == nil {
		return
	}
	if err := f.Whole(); err != nil {
		add(path+".followed", "%v", err)
	}
	if f.Sent != t.Sent || f.Accepted != t.OK {
		add(path+".followed", "%d entries were sent and %d accepted, of %d calls and %d right", f.Sent, f.Accepted, t.Sent, t.OK)
	}
}

// entryKind is what calls have beside what all have, if what they hand over is followed until it is stored. Their
// loads are of calls, and it is the arms' paths that make them so.
func entryKind() *Kind {
	return &Kind{Name: "entries", Metrics: followedMetrics, Flaws: entryFlaws}
}
