package chaos

import (
	"context"
	"time"

	"wirelab"
	"wirelab/internal/fault"
	"wirelab/pipeline/journal"
	"wirelab/pipeline/stack"
	"wirelab/workload/logging"
)

// entryState has the facts about an entry that its sender does not know.
type entryState struct {
	due       int64        // Unix ns; 0: its call has not ended, or does not count
	code      wirelab.Code // the code that its caller got, if it was refused
	confirmed int64        // Unix ns, from the gateway's journal; 0: unknown
	stored    int64        // Unix ns, from the journal of the component that stored it; 0: unknown
	again     int          // how often journals say that it was stored already
}

// entryState returns the one of an entry, and adds it if it is new. r.mu must be held.
func (r *run) entryState(id string) *entryState {
	f := r.entryStates[id]
	if f == nil {
		f = &entryState{}
		r.entryStates[id] = f
	}
	return f
}

// journals reads the journals of a pipeline's components. It belongs to one goroutine.
type journals struct {
	readers []*journal.Reader
}

func (j *journals) open(s *stack.Stack) {
	for _, p := range s.Parts() {
		if p.Journal != "" {
			j.readers = append(j.readers, &journal.Reader{URL: p.Journal})
		}
	}
}

// gaps reports whether events may have been missed.
func (j *journals) gaps() bool {
	for _, reader := range j.readers {
		if reader.Anew > 0 || reader.Lost > 0 {
			return true
		}
	}
	return false
}

// forgotten returns how many events the journals dropped before they were read.
func (j *journals) forgotten() (n uint64) {
	for _, reader := range j.readers {
		n += reader.Lost
	}
	return n
}

const (
	// followEvery is the time between two reads of the journals. A killed process takes at most the events of that time
	// with it.
	followEvery = 100 * time.Millisecond
	// listEvery is the time between two reads of the store.
	listEvery = 500 * time.Millisecond
)

// follow reads the journals until ctx is done.
func (r *run) follow(ctx context.Context) {
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		for _, reader := range r.journal.readers {
			for r.read(ctx, reader) {
			}
		}
		select {
		case <-tick.C:
		case death := <-r.stack.Died():
			r.mu.Lock()
			r.deaths = append(r.deaths, fault.Text(death.Err))
			r.mu.Unlock()
		case <-ctx.Done():
			return
		}
	}
}

// read records one page of a journal, and reports whether there may be another. If the process is down, its journal is
// tried again later: here processes are meant to be down at times.
func (r *run) read(ctx context.Context, reader *journal.Reader) bool {
	events, err := reader.Next(ctx)
	if err != nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range events {
		switch e.What {
		case journal.Confirmed:
			r.entryState(e.ID).confirmed = e.At.UnixNano()
		case journal.Stored:
			f := r.entryState(e.ID)
			if f.stored == 0 {
				f.stored = e.At.UnixNano()
				if f.due > 0 {
					r.pulse.store(f.due, f.stored)
				}
			}
		case journal.Duplicate:
			r.entryState(e.ID).again++
		case journal.Accepted, journal.Received, journal.Failed:
		}
	}
	return len(events) == journal.PageLimit
}

// open returns how many accepted entries are not stored according to the journals, and when the last one was stored.
func (r *run) open() (open int, last int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, calls := range r.noted {
		for _, c := range calls {
			f := r.entryStates[c.ID]
			switch {
			case f != nil && f.stored > 0:
				last = max(last, f.stored)
			case !c.Failed:
				open++
			}
		}
	}
	return open, last
}

// settleByJournals waits until all entries are stored, or none was for the patience, and returns when the last one was
// stored. The caller must not make calls during that time.
func (r *run) settleByJournals(ctx context.Context, patience time.Duration) (last int64, err error) {
	tick := time.NewTicker(listEvery)
	defer tick.Stop()
	before, progress := -1, time.Now()
	for {
		open, last := r.open()
		if open != before {
			before, progress = open, time.Now()
		}
		if open == 0 || time.Since(progress) > patience {
			return last, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
}

// quiet is how long to wait while nothing is stored before the journals are not read any more. Events that they do not
// have by then were lost with a process, or wait for a redelivery.
const quiet = 2 * time.Second

// settle waits until all accepted entries are stored and no more arrive, or none arrived for the patience. It returns
// what the store holds.
func (r *run) settle(ctx context.Context, patience time.Duration) (found, error) {
	if _, err := r.settleByJournals(ctx, min(patience, quiet)); err != nil {
		return found{}, err
	}
	tick := time.NewTicker(listEvery)
	defer tick.Stop()
	before, progress := -1, time.Now()
	now := nothingFound()
	for {
		if err := r.list(ctx, &now); err != nil {
			return now, err
		}
		grew := len(now.at) != before
		if grew {
			before, progress = len(now.at), time.Now()
		}
		// A refused entry may still arrive, so two reads must agree.
		if !grew && r.missing(now) == 0 || time.Since(progress) > patience {
			return now, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return now, context.Cause(ctx)
		}
	}
}

// missing returns how many accepted entries the store does not hold.
func (r *run) missing(now found) (n int) {
	for _, calls := range r.noted {
		for _, c := range calls {
			if _, ok := now.at[c.ID]; !ok && !c.Failed {
				n++
			}
		}
	}
	return n
}

// found is the content of the store.
type found struct {
	at    map[string]int64 // when each was stored, by the store's clock: Unix ns
	place map[string]int64 // the position of each, which distinguishes two copies
	again map[string]bool  // entries that are stored more than once
	last  int64            // the latest time in at
}

func nothingFound() found {
	return found{at: map[string]int64{}, place: map[string]int64{}, again: map[string]bool{}}
}

// overlap is how far before the latest entry the next read begins. Of two entries that are stored at the same time, the
// one with the earlier time may appear later.
const overlap = 30 * time.Second

// list asks the logger for entries that were stored since the run began or, after the first time, since overlap before
// the latest known entry.
func (r *run) list(ctx context.Context, f *found) error {
	address, err := r.part(stack.LoggerPart, stack.EndpointHTTP)
	if err != nil {
		return err
	}
	// Connect again each time, since the logger may be another process by now.
	service, closer, err := r.Logger(ctx, address)
	if err != nil {
		return err
	}
	defer func() { _ = closer.Close() }() // it was only read
	since := r.since
	if behind := time.Unix(0, f.last).Add(-overlap); behind.After(since) {
		since = behind
	}
	query := logging.Query{Since: since.UTC().Truncate(time.Microsecond), Limit: logging.PageLimit}
	for {
		page, err := list(ctx, service, query)
		if err != nil {
			return err
		}
		for _, e := range page.Entries {
			f.note(e)
		}
		if query.Before = page.Next; query.Before == 0 {
			return nil
		}
	}
}

// note records a stored entry, which may be known already.
func (f *found) note(e logging.Stored) {
	place, known := f.place[e.ID]
	if known && place != e.Position {
		f.again[e.ID] = true
		return
	}
	at := e.At.UnixNano()
	f.at[e.ID], f.place[e.ID] = at, e.Position
	f.last = max(f.last, at)
}

// listLimit limits how long a page may take: the store may be busy with a backlog.
const listLimit = 20 * time.Second

func list(ctx context.Context, service logging.Service, q logging.Query) (logging.EntryList, error) {
	ctx, cancel := context.WithTimeout(ctx, listLimit)
	defer cancel()
	return service.ListEntries(ctx, q)
}
