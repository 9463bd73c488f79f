package recentlog

import (
	"cmp"
	"sort"
	"sync"

	"wirelab/hermes/broker"
	"wirelab/hermes/record"
)

// topic is the state of a topic, and who wants it.
type topic struct {
	log *Log
	id  uint32

	// With the log's mu.
	listeners   []*listener
	readers     int
	live        int  // of them: those that get pushed messages
	stirred     bool // it is in the log's stirred
	ended       bool // deleted
	first, last int  // of the Append under way: which runs are this topic's; first is -1 otherwise

	mu sync.Mutex // guards all below, and the readers' err
	// end is the offset that the next message gets, as far as anyone told. Of everything before it and not in
	// held, Options.Read knows.
	end uint64
	// held are the batches in memory: held[i].Offset+held[i].Count <= held[i+1].Offset. It may have holes, where a
	// node was given a snapshot.
	held    ring[broker.Batch]
	pushed  ring[broker.Batch]
	dropped uint64 // pushed batches that are no longer held: pushed[0] is number dropped
}

// listener is one who is notified of messages.
type listener struct {
	wake   chan<- struct{}
	reader *Reader // nil: a watch
	at     int     // in listeners
}

func (p *topic) listen(wake chan<- struct{}, r *Reader) *listener {
	l := &listener{wake: wake, reader: r, at: len(p.listeners)}
	p.listeners = append(p.listeners, l)
	return l
}

func (p *topic) unlisten(l *listener) {
	last := len(p.listeners) - 1
	p.listeners[l.at] = p.listeners[last]
	p.listeners[l.at].at = l.at
	p.listeners[last] = nil
	p.listeners = p.listeners[:last]
}

// wake tells all listeners. Those that are busy have a token already, and cost little.
func (p *topic) wake() {
	for _, l := range p.listeners {
		tell(l.wake)
	}
}

func tell(wake chan<- struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}

// take adds this topic's chain of an Append's runs to held messages. With both mutexes.
func (p *topic) take(time int64, runs []Run, after []int) {
	for i := p.first; i >= 0; {
		first, bytes, count := i, len(runs[i].Messages), runs[i].Count
		n := 1
		for i = after[i]; i >= 0 && len(p.listeners) > 0 && bytes+len(runs[i].Messages) <= mergeLimit &&
			follows(&runs[first], &runs[i], count); i = after[i] {
			bytes += len(runs[i].Messages)
			count += runs[i].Count
			n++
		}
		b := broker.Batch{
			Offset: runs[first].Offset, Count: count, Time: cmp.Or(runs[first].Time, time), Attempt: 1,
			Messages: runs[first].Messages,
		}
		if n > 1 {
			b.Messages = make([]byte, 0, bytes)
			for j := first; n > 0; j, n = after[j], n-1 {
				b.Messages = append(b.Messages, runs[j].Messages...)
			}
		}
		p.add(b)
	}
	p.first = -1
}

// follows reports whether a run can be in one batch with count messages that begin with another.
func follows(first, next *Run, count int) bool {
	return next.Offset == first.Offset+uint64(count) && next.Time == first.Time
}

// add holds a batch, unless it was held already: an offset never means two messages.
func (p *topic) add(b broker.Batch) {
	end := b.Offset + uint64(b.Count)
	if n := p.held.n; n > 0 {
		if last := p.held.at(n - 1); b.Offset < last.Offset+uint64(last.Count) {
			return
		}
	}
	p.held.push(b)
	p.end = max(p.end, end)
}

// drop lets go of the oldest batch.
func (p *topic) drop(pushed bool) {
	if pushed {
		p.pushed.pop()
		p.dropped++
		return
	}
	p.held.pop()
}

// find is what memory has for who wants an offset: a batch that begins there, or, with ok false, nothing of
// everything before an offset. That is the wanted one itself where there is nothing yet.
func (p *topic) find(offset uint64) (b broker.Batch, before uint64, ok bool) {
	n := p.held.n
	ends := func(i int) bool {
		b := p.held.at(i)
		return b.Offset+uint64(b.Count) > offset
	}
	i := n
	switch { // nearly every reader wants the newest, or waits
	case n == 0 || !ends(n-1):
	case p.held.at(n-1).Offset <= offset:
		i = n - 1
	default:
		i = sort.Search(n-1, ends)
	}
	switch {
	case i == n:
		return b, max(offset, p.end), false
	case p.held.at(i).Offset > offset:
		return b, p.held.at(i).Offset, false
	}
	return from(*p.held.at(i), offset), 0, true
}

// from leaves the messages before an offset, which is within the batch, away.
func from(b broker.Batch, offset uint64) broker.Batch {
	if n := int(offset - b.Offset); n > 0 {
		b.Messages = record.Skip(b.Messages, n)
		b.Offset, b.Count = offset, b.Count-n
	}
	return b
}

// until leaves the messages from an offset on, which is within the batch, away.
func until(b broker.Batch, before uint64) broker.Batch {
	if n := int(before - b.Offset); n < b.Count {
		rest := record.Skip(b.Messages, n)
		end := len(b.Messages) - len(rest)
		b.Messages, b.Count = b.Messages[:end:end], n
	}
	return b
}

// settle makes of what Read gave what lies from an offset on and before another, in order.
func settle(got []broker.Batch, offset, before uint64) []broker.Batch {
	kept := got[:0]
	for _, b := range got {
		end := b.Offset + uint64(b.Count)
		if b.Count <= 0 || end <= offset || b.Offset >= before {
			continue
		}
		b = until(from(b, max(offset, b.Offset)), before)
		b.Attempt = 1
		kept = append(kept, b)
		offset = b.Offset + uint64(b.Count)
	}
	clear(got[len(kept):])
	return kept
}
