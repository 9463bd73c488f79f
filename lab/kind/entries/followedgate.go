package entries

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"wirelab/lab/kind"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/gate"
	"wirelab/lab/result/words"
)

// journalKeeps is the capacity of a process's journal, as package journal has it.
const journalKeeps = 1 << 18

// unaccounted is the number of entries that were lost, that were never sent, or whose outcome is unknown.
func unaccounted(f *result.Followed) uint64 { return f.Missing + f.Stray + f.Lost }

// Entries checks that what was accepted was stored, and what was stored had been sent.
func Entries(s *gate.Subject) {
	var all *result.Followed
	readings, failed := s.Each(func(_ int, t *result.Trial) (float64, bool, bool) {
		if t.Followed == nil {
			return 0, false, false
		}
		all = all.Add(*t.Followed)
		n := unaccounted(t.Followed)
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
		{all.Unknown, "of which it is unknown whether they were stored"},
		{all.Lost, "events that a journal forgot before they were read"},
	} {
		if f.n > 0 {
			faults = append(faults, words.Thousands(f.n)+" "+f.what)
		}
	}
	s.Add(claim.Check{
		Gate: result.Entries, OK: failed == 0, Value: float64(unaccounted(all)), Unit: "entries", Rounds: readings,
		Detail: words.Choose(failed == 0, words.Thousands(all.Accepted)+" entries were accepted, and each was stored",
			"of "+words.Thousands(all.Accepted)+" entries accepted: "+strings.Join(faults, ", ")),
		Fix: words.Choose(all.Lost > 0,
			"let slices be shorter, or the rate lower: a journal "+
				"keeps some "+words.Thousands(journalKeeps)+" events, two for each entry",
			"find where they went: lost entries cost nothing, so no figure of this arm can be compared with "+
				"another's"),
	})
	s.State.Entries = &claim.EntryState{
		Sent: all.Sent, Accepted: all.Accepted, Confirmed: all.Confirmed, Stored: all.Stored,
		Missing: all.Missing, Duplicated: all.Duplicated, Reordered: all.Reordered,
	}
	entryNotes(s, all)
}

// UntilStored is how long what stands behind the calls was at work for them: of
// entries that were followed until the last was stored, since CPU time was read
// then. By the calls' time alone a queue's parts would have used more than the
// cores that they had.
func UntilStored(t *result.Trial) time.Duration {
	stored := 0
	for _, slice := range Of(t).Backlog {
		stored += len(slice)
	}
	return time.Duration(stored) * result.BacklogEvery
}

// Parts tells what each process of a pipeline used, the dearest first.
func Parts(s *gate.Subject) {
	used, all, calls := map[string]float64{}, 0.0, uint64(0)
	for _, t := range s.Trials {
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
		s.State.Parts = append(s.State.Parts,
			claim.PartState{Name: name, CPU: claim.Finite(cpu / float64(calls)), Share: cpu / all})
	}
	slices.SortFunc(s.State.Parts, func(a, b claim.PartState) int {
		return cmp.Or(cmp.Compare(b.CPU, a.CPU), strings.Compare(a.Name, b.Name))
	})
}

// entryNotes says what a queue may do and a reader should know of.
func entryNotes(s *gate.Subject, all *result.Followed) {
	for _, n := range []struct {
		n    uint64
		what string
	}{
		{all.Duplicated, "entries came to the store again, and were stored once"},
		{all.Reordered, "entries were stored before one that the same caller had sent earlier"},
		{all.Kept, "entries were stored although their caller got an error"},
	} {
		if n.n > 0 {
			s.State.Notes = append(s.State.Notes, words.Thousands(n.n)+" "+n.what)
		}
	}
	if all.Drained > 0 {
		s.State.Notes = append(s.State.Notes,
			fmt.Sprintf("the last entry was stored %v after its slice had ended",
				time.Duration(all.Drained).Round(time.Millisecond)))
	}
}

// entryFlaws checks that what became of entries adds up, and with the calls.
func entryFlaws(path string, t *result.Trial, _ plan.Load, add func(path, format string, args ...any)) {
	f := t.Followed
	if f == nil {
		return
	}
	if err := f.Whole(); err != nil {
		add(path+".followed", "%v", err)
	}
	if f.Sent != t.Sent || f.Accepted != t.OK {
		add(path+".followed", "%d entries were sent and %d accepted, of %d calls and %d right", f.Sent, f.Accepted,
			t.Sent, t.OK)
	}
}

// Kind adds to calls what tracked entries need. Its loads are loads of calls; the paths of the arms decide whether
// entries are tracked.
func Kind() *kind.Kind {
	return &kind.Kind{
		Name: "entries", Metrics: followedMetrics, Flaws: entryFlaws, Merge: mergeEntries, Followed: followedEntries,
	}
}

func mergeEntries(t *result.Trial, more result.Particulars) {
	if more.Followed != nil {
		t.Followed = t.Followed.Add(*more.Followed)
	}
}

func followedEntries(t *result.Trial) (missing, again uint64, ok bool) {
	if t.Followed == nil {
		return 0, 0, false
	}
	return t.Followed.Missing, t.Followed.Duplicated, true
}
