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

// entryState is what is known of an entry beside what its sender knows.
type entryState struct {
	due       int64        // Unix ns; 0: its call has not ended, or was outside
	code      wirelab.Code // that its caller was told, if it was refused
	confirmed int64        // Unix ns, by the gateway's journal; 0: not known
	stored    int64        // Unix ns, by the journal of who stored it; 0: not known
	again     int          // times it was found stored already, by journals
}

// entryState is an entry's; r.mu is held.
func (r *run) entryState(id string) *entryState {
	f := r.entryStates[id]
	if f == nil {
		f = &entryState{}
		r.entryStates[id] = f
	}
	return f
}

// journals are those of a pipeline's parts. They belong to one goroutine.
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

// gaps is whether events may have been missed.
func (j *journals) gaps() bool {
	for _, reader := range j.readers {
		if reader.Anew > 0 || reader.Lost > 0 {
			return true
		}
	}
	return false
}

// forgotten is how many events nobody read in time.
func (j *journals) forgotten() (n uint64) {
	for _, reader := range j.readers {
		n += reader.Lost
	}
	return n
}

const (
	// followEvery is the time between two looks into the journals: a process that
	// is killed takes no more of them with it than that.
	followEvery = 100 * time.Millisecond
	// listEvery is the time between two looks into the store.
	listEvery = 500 * time.Millisecond
)

// follow reads the journals until ctx ends.
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

// read takes down a page of a journal, and reports whether there may be another.
// A process that is away is asked again later: being away is what it is here for.
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

// open is how many accepted entries are not stored, as far as journals tell, and
// when the last was.
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

// settleByJournals waits until all is stored, or nothing was for the patience,
// and tells when the last was. No calls are made meanwhile.
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

// quiet is how long nothing is stored before the journals are asked no more: what
// they do not tell of died with a process, or waits to be delivered again.
const quiet = 2 * time.Second

// settle waits until all that was accepted is stored and nothing more comes, or
// nothing came for the patience, and returns what the store holds.
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
		// What was refused may yet be on its way: two looks that agree.
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

// missing is how many accepted entries the store does not hold.
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

// found is what the store holds.
type found struct {
	at    map[string]int64 // when each was stored, by the store: Unix ns
	place map[string]int64 // where each is, and so which of two it is
	again map[string]bool  // entries that are there more than once
	last  int64            // the latest of at
}

func nothingFound() found {
	return found{at: map[string]int64{}, place: map[string]int64{}, again: map[string]bool{}}
}

// overlap is how far behind the last that was seen the next look begins: of two
// that are stored at once the one with the earlier time may appear later.
const overlap = 30 * time.Second

// list asks the logger for what was stored since the run began or, where it was
// asked before, since a while before the last that was seen.
func (r *run) list(ctx context.Context, f *found) error {
	address, err := r.part(stack.LoggerPart, stack.EndpointHTTP)
	if err != nil {
		return err
	}
	// Connected anew each time: the logger may be another process by now.
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

// note takes down an entry that is stored, which may have been seen before.
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

// listLimit is how long a page may take: the store may be busy with a backlog.
const listLimit = 20 * time.Second

func list(ctx context.Context, service logging.Service, q logging.Query) (logging.EntryList, error) {
	ctx, cancel := context.WithTimeout(ctx, listLimit)
	defer cancel()
	return service.ListEntries(ctx, q)
}
