package entries_test

import (
	"slices"
	"strings"
	"testing"

	"wirelab/lab/kind/entries"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/consistency"
	"wirelab/lab/result/resulttest"
	"wirelab/lab/stat"
)

// followed is a result of two arms whose entries were all stored, each some time
// after its reply.
func followed() *result.Result {
	r := resulttest.Closed()
	for n := range r.Rounds {
		for i := range r.Rounds[n].Trials {
			t := &r.Rounds[n].Trials[i]
			f := &result.Followed{
				Sent: t.Sent, Accepted: t.OK, Confirmed: t.OK, Stored: t.OK,
				ConfirmedAfter: stat.NewHistogram(), StoredAfter: stat.NewHistogram(),
			}
			f.Refused = f.Sent - f.Accepted
			for _, b := range t.Response.Buckets() {
				f.ConfirmedAfter.RecordN(b.High, b.Count)
				f.StoredAfter.RecordN(2*b.High, b.Count)
			}
			t.Followed = f
		}
	}
	return r
}

// An arm has no figure if an entry was accepted but never stored, or stored but never sent. An entry that came twice is
// reported, and the arm keeps its figures (ms-M01, ms-M15, R2).
func TestEntriesAreAccountedFor(t *testing.T) {
	if testing.Short() {
		t.Skip("analyses eight results")
	}
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(*result.Followed)
		says  string
		note  string
	}{
		"sound": {func(*result.Followed) {}, "", ""},
		"missing": {
			func(f *result.Followed) { f.Missing, f.Stored = 1, f.Stored-1 }, "1 accepted and never stored",
			"",
		},
		"stray":     {func(f *result.Followed) { f.Stray = 1 }, "1 stored and never sent", ""},
		"forgotten": {func(f *result.Followed) { f.Lost = 3 }, "3 events that a journal forgot", ""},
		"unknown": {
			func(f *result.Followed) { f.Unknown, f.Lost, f.Stored = 1, 1, f.Stored-1 },
			"1 of which it is unknown", "",
		},
		"twice":  {func(f *result.Followed) { f.Duplicated = 2 }, "", "2 entries came to the store again"},
		"turned": {func(f *result.Followed) { f.Reordered = 2 }, "", "2 entries were stored before one"},
		"late":   {func(f *result.Followed) { f.Drained = 12e6 }, "", "12ms after its slice had ended"},
	} {
		r := followed()
		c.spoil(r.Rounds[3].Trials[slices.IndexFunc(r.Rounds[3].Trials,
			func(t result.Trial) bool { return t.Arm == 1 })].Followed)
		load := analyse.Result(r).Loads[0]
		arm := load.Arms[1]
		spoiled := slices.ContainsFunc(arm.Failed(), func(f claim.Check) bool { return f.Gate == result.Entries })
		if spoiled != (c.says != "") {
			t.Errorf("%s: refused %v: %+v", name, spoiled, arm.Failed())
		}
		if c.says != "" && !strings.Contains(strings.Join(arm.Invalid(), "; "), c.says) {
			t.Errorf("%s: %q, want %q", name, arm.Invalid(), c.says)
		}
		if c.note != "" && !strings.Contains(strings.Join(arm.Notes, "; "), c.note) {
			t.Errorf("%s: notes %q, want %q", name, arm.Notes, c.note)
		}
		if known := load.Row(plan.StoredP50).Cells[1].Estimate.Known; known == spoiled {
			t.Errorf("%s: stored p50 known %v", name, known)
		}
	}
}

// Stored and confirmed stand in rows of their own only where entries are followed.
func TestFollowedTimesHaveRows(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	load := analyse.Result(followed()).Loads[0]
	reply, stored := load.Row(plan.ResponseP50).Cells[0].Estimate, load.Row(plan.StoredP50).Cells[0].Estimate
	if !reply.Known || !stored.Known || stored.Value < 1.9*reply.Value || stored.Value > 2.1*reply.Value {
		t.Errorf("stored p50 %+v beside a reply's %+v", stored, reply)
	}
	if plain := analyse.Result(resulttest.Closed()).Loads[0]; plain.Row(plan.StoredP50) != nil ||
		plain.Row(entries.MissingEntries) != nil {
		t.Error("calls that nobody follows have rows of entries")
	}
}

// A file whose account does not add up, or does not match the calls, is reported.
func TestFollowedMustAddUp(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(*result.Trial){
		"one more stored": func(t *result.Trial) { t.Followed.Stored++ },
		"one fewer missing": func(t *result.Trial) {
			t.Followed.Stored, t.Followed.Accepted, t.Followed.Sent = t.Followed.Stored-1, t.Followed.Accepted-1,
				t.Followed.Sent-1
		},
		"no times":        func(t *result.Trial) { t.Followed.StoredAfter = nil },
		"kept of nothing": func(t *result.Trial) { t.Followed.Kept = t.Followed.Refused + 1 },
	} {
		r := followed()
		if wrong := consistency.Flaws(r); len(wrong) > 0 {
			t.Fatalf("untouched: %v", wrong)
		}
		edit(&r.Rounds[0].Trials[0])
		if wrong := consistency.Flaws(r); len(wrong) == 0 {
			t.Errorf("%s: nobody notices", name)
		}
	}
}
