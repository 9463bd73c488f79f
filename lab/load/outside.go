package load

import "time"

// outsides record how long calls were outside the driver: their times if the driver had taken each reply when it came,
// and made each call when it was due.
type outsides struct {
	lines StampedLines
	steps uint64 // at the start of the run
	over  []past // calls that ended in this turn
	most  int64  // the longest lateness among the calls in flight
	bunch int64  // the longest lateness among the calls made since the last turn
}

// past is a call that has ended without an error.
type past struct {
	slot int
	took int64 // from sent to end
	owed int64 // how long earlier calls may have delayed it at the server
}

// A call that is made late may delay others at the server, which then has to process them at the same time. Calls made
// together with it are delayed by at most its lateness. Later calls are delayed by the rest of it, which shrinks with
// each further call that is delayed in turn: heldShare is the share that simulations require (docs/adr/0055). A
// lateness below heldLeast counts as none.
const (
	heldLeast = int64(20 * time.Microsecond)
	heldShare = 0.9
)

func (o *outsides) begin() {
	o.steps, o.over, o.most, o.bunch = o.lines.Steps(), o.over[:0], 0, 0
}

// hold returns how late a call is, or how late those are that may delay it at the server, whichever is longer.
func (o *outsides) hold(late int64) int64 {
	held := max(late, o.bunch, int64(heldShare*float64(o.most)))
	if held < heldLeast {
		return 0
	}
	o.bunch = held
	return held
}

// settle records the calls that ended in a turn.
func (o *outsides) settle(w *sheet, calls []flight) {
	for _, call := range o.over {
		outside := int64(o.lines.Outside(call.slot))
		if outside > call.took+heldLeast {
			outside = 0 // the two clocks contradict each other
		}
		w.outside.Record(max(0, min(outside, call.took)-call.owed))
	}
	if o.most > 0 || o.bunch > 0 {
		o.most, o.bunch = 0, 0
		for i := range calls {
			if calls[i].busy {
				o.most = max(o.most, calls[i].held)
			}
		}
	}
	o.over = o.over[:0]
}

// end discards all times if the clock was set during the run: then it is unknown how long any call was outside.
func (o *outsides) end(w *sheet) {
	if o.lines.Steps() == o.steps {
		return
	}
	n := w.outside.Count()
	w.outside.Reset()
	w.outside.RecordN(0, n)
}
