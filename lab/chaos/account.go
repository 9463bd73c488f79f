package chaos

import (
	"maps"
	"slices"
	"time"

	"wirelab/lab/load"
	"wirelab/lab/plan"
	"wirelab/lab/trace"
	"wirelab/pipeline/journal"
)

// Report is the result of a run. It is plain data, for a page or a program.
type Report struct {
	Path string `json:"path"`
	// Rate is the rate in entries per second outside bursts. Sustained is the rate that the trial measured, or the one
	// that was asked for.
	Rate        float64       `json:"rate"`
	Sustained   float64       `json:"sustained"`
	Limit       plan.Duration `json:"limit"` // of the objective: the most that 99th percentiles may be
	Began       time.Time     `json:"began"`
	Load        plan.Duration `json:"load"` // how long entries were sent
	Interrupted bool          `json:"interrupted,omitempty"`
	Promised    bool          `json:"promised"` // entries were accepted only after a confirmation
	Account     Account       `json:"account"`
	Effects     []Effect      `json:"effects"`
	Seconds     []Row         `json:"seconds"`
	// About has the versions of the software behind the components. Deaths names components that ended although the run
	// did not end them.
	About  map[string]string `json:"about"`
	Deaths []string          `json:"deaths,omitempty"`
	// Late is how many entries were due while the most calls were in flight, and had to wait; that time counts as
	// response time. Wake is the 99th percentile of the generator's own lateness.
	Late uint64        `json:"late"`
	Wake plan.Duration `json:"wake_p99"`
}

// Account counts entries by id. Invariants: Sent = Accepted + the sum of Refused, and Accepted = Stored + Missing.
type Account struct {
	Sent     uint64            `json:"sent"`
	Unsent   uint64            `json:"unsent,omitempty"` // due, but not sent in time
	Accepted uint64            `json:"accepted"`
	Refused  map[string]uint64 `json:"refused"` // by code
	// Confirmed is how many accepted entries the gateway's journal shows as confirmed.
	Confirmed uint64 `json:"confirmed"`
	Stored    uint64 `json:"stored"`
	Missing   uint64 `json:"missing"`
	// Duplicated is how often an entry came to the store again. It is a lower bound if AtLeast is set, since journals
	// ended with their processes. Twice is how many entries are stored more than once.
	Duplicated uint64 `json:"duplicated"`
	AtLeast    bool   `json:"duplicated_at_least,omitempty"`
	// Forgotten is how many events journals dropped before they were read. For such entries the store's own clock gives
	// the time of storage.
	Forgotten uint64 `json:"events_forgotten,omitempty"`
	Twice     uint64 `json:"stored_twice"`
	// Kept is how many entries are stored although their caller got an error. Stray is how many stored entries were
	// never sent.
	Kept      uint64 `json:"kept_though_refused"`
	Stray     uint64 `json:"stray"`
	Reordered uint64 `json:"reordered"`
	// MissingIDs has the ids of the first missing entries.
	MissingIDs []string `json:"missing_ids,omitempty"`
}

// missingShown limits how many missing entries are named.
const missingShown = 20

// Broken returns how many entries break a promise: confirmed, but missing or stored more than once. It is 0 if nothing
// was promised.
func (r *Report) Broken() uint64 {
	if !r.Promised {
		return 0
	}
	return r.Account.Missing + r.Account.Twice
}

// account computes the report of a run.
func (r *run) account(rec *load.Recording, f found) (*Report, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	report := &Report{
		Path: r.Path.Protocol.Name, Rate: r.Rate, Sustained: r.sustained, Limit: plan.Duration(r.Limit),
		Began: rec.Began, Load: plan.Duration(rec.Window), Promised: !r.Unpromised || r.broker() == "",
		About: map[string]string{}, Deaths: r.deaths, Late: rec.Late, Wake: plan.Duration(rec.Wake.Quantile(0.99)),
	}
	for _, p := range r.stack.Parts() {
		if p.About != "" {
			report.About[p.Name] = p.About
		}
	}
	calls := r.sent()
	book, err := r.book(calls, f)
	if err != nil {
		return report, err
	}
	began := rec.Began.UnixNano()
	end := began + int64(rec.Window)
	told := book.Account(end)
	report.Account = Account{
		Sent: told.Sent, Unsent: rec.Unsent, Accepted: told.Accepted, Refused: map[string]uint64{},
		Confirmed: told.Confirmed,
		Stored:    told.Stored, Missing: told.Missing, Duplicated: told.Duplicated, AtLeast: r.journal.gaps(),
		Forgotten: r.journal.forgotten(), Twice: uint64(len(f.again)),
		Kept: told.Kept, Stray: told.Stray, Reordered: told.Reordered,
	}
	var all []entry
	for _, c := range calls {
		if c.Outside {
			continue
		}
		e := entry{due: c.Due - began, ended: c.Ended - began}
		at, isStored := f.at[c.ID]
		entryState := r.entryStates[c.ID]
		if isStored {
			e.stored = max(r.when(entryState, at)-began, 1)
		}
		if c.Failed {
			e.refused = entryState.code.String()
			report.Account.Refused[e.refused]++
		} else if !isStored && len(report.Account.MissingIDs) < missingShown {
			report.Account.MissingIDs = append(report.Account.MissingIDs, c.ID)
		}
		all = append(all, e)
	}
	l := newLine(all, r.Limit, rec.Window, rec.Unsent > 0)
	report.Seconds = l.rows(r.Every)
	for i, p := range r.phases {
		if p.begun == 0 { // the load ended before this fault
			continue // the load was over before
		}
		until := rec.Window
		if next := i + 1; next < len(r.phases) && r.phases[next].begun > 0 {
			until = time.Duration(r.phases[next].begun - began)
		}
		ended := p.ended
		if ended == 0 { // interrupted
			ended = end
		}
		report.Effects = append(report.Effects,
			l.effect(p.Fault, time.Duration(p.begun-began), time.Duration(ended-began), until))
	}
	return report, nil
}

// when returns the time at which an entry was stored: the journal's, which is just after the commit, or if that is lost
// the store's, which is just before it.
func (r *run) when(f *entryState, at int64) int64 {
	if f != nil && f.stored > 0 {
		return f.stored
	}
	return at
}

// book collects the records of callers, journals and the store. Only the store decides which entries are stored.
func (r *run) book(calls []trace.Call, f found) (*trace.Book, error) {
	book := trace.NewBook()
	for _, c := range calls {
		if err := book.Note(c); err != nil {
			return nil, err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(f.at)) {
		known := r.entryStates[id]
		book.Tell(journal.Event{ID: id, What: journal.Stored, At: time.Unix(0, r.when(known, f.at[id]))})
	}
	for id, known := range r.entryStates {
		if known.confirmed > 0 {
			book.Tell(journal.Event{ID: id, What: journal.Confirmed, At: time.Unix(0, known.confirmed)})
		}
		for range known.again {
			book.Tell(journal.Event{ID: id, What: journal.Duplicate})
		}
	}
	return book, nil
}
