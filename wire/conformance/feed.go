package conformance

import (
	"context"
	"time"

	"wirelab"
)

const (
	// feedRead is how many events of a feed are read and looked at one by one:
	// enough to meet what goes wrong once in ten thousand.
	feedRead = 25_000
	// feedPaced is how many are read at feedRate, to see how they are stamped. A
	// period that is no whole number of milliseconds shows where those are cut off.
	feedPaced = 60
	feedRate  = 3000
	// feedSlip is how far a due time may be from its place, in ns.
	feedSlip = int64(time.Microsecond)
)

// feeds checks that each event of a feed arrives once, in order and as it was
// sent, and says when it was due and sent: a load counts what does not, and so
// the wire must not.
func (c *cell[S]) feeds(r reporter) {
	for _, o := range c.workload.Operations {
		if o.Feed() == nil || c.hole(o.Name) {
			continue
		}
		g := c.raise(r, c.workload.New(), setup{})
		if g == nil {
			return
		}
		c.everyEvent(r, g, o)
		c.stamps(r, g, o)
		g.lower(r)
	}
}

// everyEvent reads many events as fast as they come. Under the race detector
// some wires take longer for all of them than one event may take.
func (c *cell[S]) everyEvent(r reporter, g *rig[S], o wirelab.Operation[S]) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*c.patience)
	defer cancel()
	c.exchanges.Add(1)
	var last uint64
	read, faults := 0, 0
	err := o.Feed()(ctx, g.stub, c.workload.New(), 0, func(s wirelab.Stamp, wrong error) bool {
		read++
		n := s.Sequence
		switch {
		case wrong != nil:
			r.Errorf("%s: event %d of the feed is wrong: %v", o.Name, read, wrong)
			faults++
		case n == last:
			r.Errorf("%s: event %d of the feed comes twice", o.Name, n)
			faults++
		case n < last:
			r.Errorf("%s: event %d of the feed comes after event %d", o.Name, n, last)
			faults++
		case n > last+1:
			r.Errorf("%s: events %d to %d of the feed are missing: event %d comes next", o.Name, last+1, n-1, n)
			faults++
		}
		last = max(last, n)
		return read < feedRead && faults < 3
	})
	if err != nil {
		r.Errorf("%s: the feed broke after %d events: %v", o.Name, read, err)
	}
	if read == 0 {
		r.Errorf("%s: the feed has no event", o.Name)
	}
}

// stamps reads a few events at a rate and looks at when they say to have been
// due and sent. Nothing is said of how long they took.
func (c *cell[S]) stamps(r reporter, g *rig[S], o wirelab.Operation[S]) {
	ctx, cancel := context.WithTimeout(context.Background(), c.patience)
	defer cancel()
	c.exchanges.Add(1)
	var first wirelab.Stamp
	read, bad := 0, 0
	err := o.Feed()(ctx, g.stub, c.workload.New(), feedRate, func(s wirelab.Stamp, wrong error) bool {
		if read++; read == 1 {
			first = s
		}
		due := first.Due + (int64(s.Sequence)-int64(first.Sequence))*int64(time.Second)/feedRate
		switch now := time.Now().UnixNano(); {
		case wrong != nil:
			r.Errorf("%s at %d/s: event %d: %v", o.Name, feedRate, read, wrong)
			bad++
		case s.Due < due-feedSlip || s.Due > due+feedSlip:
			r.Errorf("%s at %d/s: event %d says to be due %v from when the rate has it", o.Name, feedRate, s.Sequence,
				time.Duration(s.Due-due))
			bad++
		case s.Sent < s.Due || s.Sent > now:
			r.Errorf("%s at %d/s: event %d was due at %d, sent at %d and read at %d", o.Name, feedRate, s.Sequence,
				s.Due,
				s.Sent, now)
			bad++
		}
		return read < feedPaced && bad < 3
	})
	if err != nil || read == 0 {
		r.Errorf("%s at %d/s: the feed ended after %d events: %v", o.Name, feedRate, read, err)
	}
}
