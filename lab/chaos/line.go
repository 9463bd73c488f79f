package chaos

import (
	"math"
	"slices"
	"time"

	"wirelab/lab/plan"
)

// step is the grain of times of recovery, and seconds how many make a second.
const (
	step   = 100 * time.Millisecond
	second = int(time.Second / step)
)

// rowLimit is how many steps a line has at most, of load and of what comes after:
// an hour. What is later is in the last.
const rowLimit = 36_000

// entry is one that was sent. Times are ns since the load began.
type entry struct {
	due, ended int64
	stored     int64  // 0: never
	refused    string // code; "": it was accepted
}

// Row is what was due in a stretch of time, and what was stored in it.
type Row struct {
	At       plan.Duration  `json:"at"` // of its beginning, since the load's
	Due      int            `json:"due"`
	Accepted int            `json:"accepted"`
	Refused  map[string]int `json:"refused,omitempty"` // by code
	P99      plan.Duration  `json:"response_p99"`      // of accepted entries that were due in it
	Stored   int            `json:"stored"`            // in it, whenever they were due
	// StoredP99 is the time to storage of accepted entries that were due in it; of
	// those that are missing it is beyond any.
	StoredP99 plan.Duration `json:"stored_p99"`
	Backlog   int           `json:"backlog"` // accepted and not stored, at its end
	Within    bool          `json:"within"`  // the objective, for responses and storage
}

// Recovery is how long something was outside of its objective.
type Recovery struct {
	Already bool `json:"already,omitempty"` // it was outside in the second before
	Left    bool `json:"left"`              // it was outside at all, before the next fault
	Back    bool `json:"back"`              // and came back, for at least a second, before the next fault or the end
	// Since the fault's beginning and its end; 0 where it did not leave or come
	// back, or was back before the end.
	SinceBegin plan.Duration `json:"since_begin"`
	SinceEnd   plan.Duration `json:"since_end"`
}

// Effect is what a fault did, until the next began or the load ended.
type Effect struct {
	Fault   string         `json:"fault"`
	At      plan.Duration  `json:"at"`   // when it began, since the load
	Took    plan.Duration  `json:"took"` // until all parts were well again
	Due     int            `json:"due"`
	Refused map[string]int `json:"refused,omitempty"`
	P99     plan.Duration  `json:"response_p99"`
	Max     plan.Duration  `json:"response_max"`
	// Response is of what callers saw, Storage of accepted entries until they
	// were stored.
	Response Recovery `json:"response"`
	Storage  Recovery `json:"storage"`
	// BacklogPeak is the most that was accepted and not stored, and Drained how
	// long after the fault's end that was again no more than what arrives within
	// the limit; 0 where it never was more, -1 ns where it never was less again.
	BacklogPeak int           `json:"backlog_peak"`
	Drained     plan.Duration `json:"drained"`
}

// cell is what was due in a step, and stored in it.
type cell struct {
	due, refused   int
	slow, unstored int // accepted ones: answered, stored too late or never
	stored         int
	backlog        int
	unsent         bool // entries were due that nobody came to send
}

// line is a run by steps.
type line struct {
	entries []entry // by due
	limit   int64
	load    int // steps of load
	cells   []cell
}

// newLine lays out entries, of a load of so long. Where some were never sent, it
// is those that were due last, since they are sent in their order.
func newLine(entries []entry, limit, whole time.Duration, unsent bool) *line {
	l := &line{entries: slices.Clone(entries), limit: int64(limit), load: int((whole + step - 1) / step)}
	slices.SortStableFunc(l.entries, func(a, b entry) int { return int(a.due - b.due) })
	last := l.load
	for _, e := range l.entries {
		last = max(last, place(max(e.ended, e.stored))+1)
	}
	l.cells = make([]cell, min(last, rowLimit)+1)
	for _, e := range l.entries {
		c := l.at(e.due)
		c.due++
		if e.stored > 0 {
			l.at(e.stored).stored++
		}
		if e.refused != "" {
			c.refused++
			continue
		}
		if e.ended-e.due > l.limit {
			c.slow++
		}
		if e.stored == 0 || e.stored-e.due > l.limit {
			c.unstored++
		}
		l.at(e.ended).backlog++
		if e.stored > 0 { // what was stored before its caller heard of it was never behind
			l.at(max(e.stored, e.ended)).backlog--
		}
	}
	if unsent && len(l.entries) > 0 {
		for i := place(l.entries[len(l.entries)-1].due) + 1; i < l.load; i++ {
			l.cells[i].unsent = true
		}
	}
	for i := 1; i < len(l.cells); i++ {
		l.cells[i].backlog += l.cells[i-1].backlog
	}
	return l
}

func place(at int64) int { return int(max(0, at) / int64(step)) }

func (l *line) at(at int64) *cell { return &l.cells[min(place(at), len(l.cells)-1)] }

// between are the entries due from one step to another.
func (l *line) between(from, to int) []entry {
	find := func(i int) int {
		n, _ := slices.BinarySearchFunc(l.entries, int64(i)*int64(step),
			func(e entry, at int64) int { return int(e.due - at) })
		return n
	}
	return l.entries[find(from):find(to)]
}

// many reports whether so many of all put their 99th percentile beyond the limit.
func many(slow, of int) bool { return slow > of-rank(of) }

// rank is the place of the 99th percentile among n in order, from 1.
func rank(n int) int { return int(math.Ceil(0.99 * float64(n))) }

// within reports whether what was due in steps from to to kept the objective.
func (l *line) within(from, to int) (response, storage bool) {
	var sum cell
	for _, c := range l.cells[from:min(to, len(l.cells))] {
		if c.unsent {
			return false, false
		}
		sum.due, sum.refused = sum.due+c.due, sum.refused+c.refused
		sum.slow, sum.unstored = sum.slow+c.slow, sum.unstored+c.unstored
	}
	accepted := sum.due - sum.refused
	return sum.refused == 0 && !many(sum.slow, accepted), !many(sum.unstored, accepted)
}

// effect is what a fault did from its beginning until the next began.
func (l *line) effect(f Fault, begun, ended, until time.Duration) Effect {
	from := min(place(int64(begun)), l.load)
	to := max(from, min(place(int64(until)), l.load))
	entries := l.between(from, to)
	e := Effect{Fault: f.String(), At: plan.Duration(begun), Took: plan.Duration(ended - begun), Due: len(entries)}
	refused, responses, _ := l.seen(entries)
	e.Refused = refused
	e.P99 = percentile(responses)
	if len(responses) > 0 {
		e.Max = plan.Duration(responses[len(responses)-1])
	}
	e.Response = l.recovery(begun, ended, from, to, func(from, to int) bool {
		response, _ := l.within(from, to)
		return response
	})
	e.Storage = l.recovery(begun, ended, from, to, func(from, to int) bool {
		_, storage := l.within(from, to)
		return storage
	})
	e.BacklogPeak, e.Drained = l.drained(from, to, ended)
	return e
}

// recovery finds the last second that was not good: from the step after its
// beginning on all are.
func (l *line) recovery(begun, ended time.Duration, from, to int, good func(from, to int) bool) Recovery {
	r := Recovery{Already: from > 0 && !good(max(0, from-second), from), Back: true}
	last := -1
	for i := from; i < to; i++ {
		if !good(i, min(i+second, to)) {
			last = i
		}
	}
	if last < 0 {
		return r
	}
	back := last + 1
	r.Left, r.Back = true, back+second <= to
	if r.Back {
		at := time.Duration(back) * step
		r.SinceBegin, r.SinceEnd = plan.Duration(at-begun), plan.Duration(max(0, at-ended))
	}
	return r
}

// neverDrained is the Drained of a backlog that stayed.
const neverDrained = plan.Duration(-1)

// drained is the peak of the backlog, and how long after the fault's end it was
// gone. What arrives within the limit is always on its way (Little). After the
// last fault the time behind the load counts too.
func (l *line) drained(from, to int, ended time.Duration) (peak int, after plan.Duration) {
	if to >= l.load {
		to = len(l.cells)
	}
	due := 0
	for _, c := range l.cells[:l.load] {
		due += c.due
	}
	usual := max(1, int(float64(due)/float64(max(1, l.load))*float64(l.limit)/float64(step)))
	highest := -1
	for i := from; i < min(to, len(l.cells)); i++ {
		if b := l.cells[i].backlog; b > peak {
			peak, highest = b, i
		}
	}
	if peak <= usual {
		return peak, 0
	}
	for i := highest; i < min(to, len(l.cells)); i++ {
		if l.cells[i].backlog <= usual {
			return peak, plan.Duration(max(1, time.Duration(i+1)*step-ended))
		}
	}
	return peak, neverDrained
}

// seen is what callers saw of entries: refusals by code, and times of the others
// in order, to the response and to storage.
func (l *line) seen(entries []entry) (refused map[string]int, responses, stored []int64) {
	for _, e := range entries {
		if e.refused != "" {
			if refused == nil {
				refused = map[string]int{}
			}
			refused[e.refused]++
			continue
		}
		responses = append(responses, e.ended-e.due)
		took := e.stored - e.due
		if e.stored == 0 {
			took = math.MaxInt64
		}
		stored = append(stored, took)
	}
	slices.Sort(responses)
	slices.Sort(stored)
	return refused, responses, stored
}

// percentile is the 99th of what is in order; 0 of nothing.
func percentile(sorted []int64) plan.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return plan.Duration(sorted[rank(len(sorted))-1])
}

// rows is the line by rows.
func (l *line) rows(every time.Duration) []Row {
	width := int(every / step)
	var rows []Row
	for from := 0; from < len(l.cells); from += width {
		to := min(from+width, len(l.cells))
		entries := l.between(from, to)
		refused, responses, stored := l.seen(entries)
		r := Row{
			At: plan.Duration(time.Duration(from) * step), Due: len(entries), Accepted: len(responses),
			Refused: refused,
			P99:     percentile(responses), StoredP99: percentile(stored), Backlog: l.cells[to-1].backlog,
		}
		for _, c := range l.cells[from:to] {
			r.Stored += c.stored
		}
		response, storage := l.within(from, to)
		r.Within = response && storage
		rows = append(rows, r)
	}
	return rows
}
