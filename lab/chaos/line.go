package chaos

import (
	"math"
	"slices"
	"time"

	"wirelab/lab/plan"
)

// step is the resolution of recovery times, and second is how many steps are a second.
const (
	step   = 100 * time.Millisecond
	second = int(time.Second / step)
)

// rowLimit limits the steps of a line, of the load and of the time after it, to an hour. Whatever is later counts in
// the last step.
const rowLimit = 36_000

// entry is one entry that was sent. Times are in ns since the load began.
type entry struct {
	due, ended int64
	stored     int64  // 0: never
	refused    string // code; "": it was accepted
}

// Row counts the entries that were due in an interval, and those stored in it.
type Row struct {
	At       plan.Duration  `json:"at"` // when it begins, since the load began
	Due      int            `json:"due"`
	Accepted int            `json:"accepted"`
	Refused  map[string]int `json:"refused,omitempty"` // by code
	P99      plan.Duration  `json:"response_p99"`      // of accepted entries that were due in it
	Stored   int            `json:"stored"`            // stored in it, whenever they were due
	// StoredP99 is the 99th percentile of the time to storage of accepted entries that were due in it. A missing entry
	// counts as longer than any other.
	StoredP99 plan.Duration `json:"stored_p99"`
	Backlog   int           `json:"backlog"` // accepted and not stored, at the end of the interval
	Within    bool          `json:"within"`  // responses and storage both met the objective
}

// Recovery says how long something missed its objective.
type Recovery struct {
	Already bool `json:"already,omitempty"` // it missed the objective in the second before the fault
	Left    bool `json:"left"`              // it missed the objective at all, before the next fault
	Back    bool `json:"back"`              // and met it again for at least a second, before the next fault or the end
	// SinceBegin and SinceEnd count from the beginning and the end of the fault. They are 0 if it never missed the
	// objective or did not recover; SinceEnd also if it recovered before the fault ended.
	SinceBegin plan.Duration `json:"since_begin"`
	SinceEnd   plan.Duration `json:"since_end"`
}

// Effect is the effect of a fault, until the next fault began or the load ended.
type Effect struct {
	Fault   string         `json:"fault"`
	At      plan.Duration  `json:"at"`   // when it began, since the load began
	Took    plan.Duration  `json:"took"` // until all components were well again
	Due     int            `json:"due"`
	Refused map[string]int `json:"refused,omitempty"`
	P99     plan.Duration  `json:"response_p99"`
	Max     plan.Duration  `json:"response_max"`
	// Response is about the replies to callers. Storage is about the time until accepted entries were stored.
	Response Recovery `json:"response"`
	Storage  Recovery `json:"storage"`
	// BacklogPeak is the most entries that were accepted and not stored. Drained is how long after the end of the fault
	// the backlog was again no more than what arrives within the limit; 0 if it never was more, -1 ns if it stayed
	// more.
	BacklogPeak int           `json:"backlog_peak"`
	Drained     plan.Duration `json:"drained"`
}

// cell counts what was due in a step, and what was stored in it.
type cell struct {
	due, refused   int
	slow, unstored int // accepted ones: answered too late; stored too late or never
	stored         int
	backlog        int
	unsent         bool // entries were due that were never sent
}

// line is a run divided into steps.
type line struct {
	entries []entry // by due
	limit   int64
	load    int // steps of load
	cells   []cell
}

// newLine lays out the entries of a load that lasted for whole. If some were never sent (unsent), those are the ones
// that were due last, since entries are sent in order.
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
		if e.stored > 0 { // an entry that was stored before its reply arrived was never in the backlog
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

// between returns the entries that are due in the steps from (included) to to (excluded).
func (l *line) between(from, to int) []entry {
	find := func(i int) int {
		n, _ := slices.BinarySearchFunc(l.entries, int64(i)*int64(step),
			func(e entry, at int64) int { return int(e.due - at) })
		return n
	}
	return l.entries[find(from):find(to)]
}

// many reports whether slow of a number of entries put their 99th percentile beyond the limit.
func many(slow, of int) bool { return slow > of-rank(of) }

// rank returns the index of the 99th percentile among n sorted values, from 1.
func rank(n int) int { return int(math.Ceil(0.99 * float64(n))) }

// within reports whether entries due in the steps from (included) to to (excluded) met the objective.
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

// effect returns the effect of a fault from its beginning until the next fault began.
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

// recovery finds the last second that missed the objective. From the step after the beginning of that second, all
// seconds meet it.
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

// neverDrained is the value of Drained for a backlog that stayed.
const neverDrained = plan.Duration(-1)

// drained returns the peak of the backlog, and how long after the end of the fault it was gone. The entries that arrive
// within the limit are always on their way (Little's law), so they do not count. After the last fault the time after
// the load counts too.
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

// seen returns what callers saw of entries: refusals by code, and the sorted times of the others to the response and to
// storage.
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

// percentile returns the 99th percentile of sorted values; 0 if there are none.
func percentile(sorted []int64) plan.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return plan.Duration(sorted[rank(len(sorted))-1])
}

// rows divides the line into rows.
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
