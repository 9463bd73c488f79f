package chaos

import (
	"fmt"
	"time"

	"wirelab/lab/load"
	"wirelab/lab/stat"
	"wirelab/lab/trace"
	"wirelab/pipeline/journal"
	"wirelab/pipeline/stack"
	"wirelab/workload/logging"
)

// Made is a made-up entry. Times are in ms since the load began. Stored 0 means never.
type Made struct {
	Due, Ended, Stored int64
	Refused            string
}

// EffectOf returns the effect on entries of a fault from begun to ended, counted up to until.
func EffectOf(all []Made, limit, whole, begun, ended, until time.Duration, unsent bool) (Effect, []Row) {
	entries := make([]entry, len(all))
	ms := int64(time.Millisecond)
	for i, m := range all {
		entries[i] = entry{due: m.Due * ms, ended: m.Ended * ms, stored: m.Stored * ms, refused: m.Refused}
	}
	l := newLine(entries, limit, whole, unsent)
	return l.effect(Fault{Kind: ListenerKill}, begun, ended, until), l.rows(time.Second)
}

// AccountOf returns the account of a number of entries, all accepted and due a millisecond apart. The store has some of
// them. Journals have events of some, and have dropped lost events.
func AccountOf(entries int, inStore, inJournal func(i int) bool, lost uint64) (*Report, error) {
	began := time.Unix(1_000_000, 0)
	r := &run{stack: &stack.Stack{}, entryStates: map[string]*entryState{}, noted: make([][]trace.Call, 1)}
	r.Limit, r.Every = time.Second, time.Second
	r.journal.readers = []*journal.Reader{{Lost: lost}}
	f := nothingFound()
	for i := range entries {
		id, due := fmt.Sprint("e-", i), began.Add(time.Duration(i)*time.Millisecond).UnixNano()
		r.noted[0] = append(r.noted[0], trace.Call{ID: id, Due: due, Sent: due, Ended: due + 1})
		if inStore(i) {
			f.at[id] = due + 2
		}
		if inJournal(i) {
			r.entryState(id).stored = due + 3
		}
	}
	return r.account(&load.Recording{
		Began: began, Window: time.Duration(entries) * time.Millisecond,
		Wake: stat.NewHistogram(),
	}, f)
}

// Twice returns how many entries are stored more than once, according to a series of reads of the store. Each read maps
// positions to ids.
func Twice(looks ...map[int64]string) int {
	f := nothingFound()
	for _, look := range looks {
		for place, id := range look {
			f.note(logging.Stored{Entry: logging.Entry{ID: id}, Position: place, At: time.Unix(1, 0)})
		}
	}
	return len(f.again)
}

// Layout returns when faults begin, and how long the load lasts.
func (o Options) Layout() ([]time.Duration, time.Duration, error) { return o.layout() }

// Calm reports whether a run with such replies and storage is calm after ten seconds. A step is a tenth of a second.
func Calm(limit time.Duration, each func(step int) (answered, stored time.Duration, refused bool)) bool {
	p := pulse{limit: int64(limit)}
	began := time.Unix(1_000_000, 0)
	for i := range 100 {
		due := began.Add(time.Duration(i) * step)
		answered, stored, refused := each(i)
		p.answer(due.UnixNano(), due.Add(answered).UnixNano(), refused)
		if stored > 0 {
			p.store(due.UnixNano(), due.Add(stored).UnixNano())
		}
	}
	return p.calm(began.Add(10 * time.Second).UnixNano())
}
