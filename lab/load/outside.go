package load

import "time"

// outsides record how long calls were out of the driver's hands: what their times were, had the driver taken
// each reply when it came, and made each call when it was due.
type outsides struct {
	lines StampedLines
	steps uint64 // when the run began
	over  []past // ended in this turn
	most  int64  // the longest that a call in flight was held
	bunch int64  // of those made since the last turn
}

// past is a call that has ended well.
type past struct {
	slot int
	took int64 // from sent to end
	owed int64 // that calls before it may have kept it waiting at the server
}

// A call that is made late may keep others waiting at the server, which then have it to do at once. Those made together
// with it wait as long at most. Those made later find what is left of that, which is less with each that such a call in
// turn keeps waiting: heldShare is what simulations ask for (docs/adr/0055). heldLeast is what nobody is said to be
// kept by.
const (
	heldLeast = int64(20 * time.Microsecond)
	heldShare = 0.9
)

func (o *outsides) begin() {
	o.steps, o.over, o.most, o.bunch = o.lines.Steps(), o.over[:0], 0, 0
}

// hold returns how late a call is, or those are that it may find at the server.
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
			outside = 0 // two clocks contradict each other
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

// end forgets all where the clock was set meanwhile: then nobody knows how long any call was outside.
func (o *outsides) end(w *sheet) {
	if o.lines.Steps() == o.steps {
		return
	}
	n := w.outside.Count()
	w.outside.Reset()
	w.outside.RecordN(0, n)
}
