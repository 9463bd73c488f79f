package recentlog

import (
	"context"
	"sync/atomic"

	"wirelab/hermes/broker"
	"wirelab/wire/status"
)

// Reader is one reader of one topic. Next is for one goroutine at a time, the rest
// for any.
type Reader struct {
	topic    *topic
	live     bool
	listener *listener
	wake     chan struct{}

	err error // why it ended; with the topic's mu

	offset atomic.Uint64 // wanted next; only Next changes it

	// Next's own.
	want   uint64         // behind what was given last
	ahead  []broker.Batch // the rest of a batch or of what Read gave: at offset and behind it
	rest   broker.Batch   // of a pushed batch
	pushed uint64         // number of the pushed batch wanted next
	turn   bool           // the last batch was a pushed one
}

// Next waits for messages, at most as many as there is room for. They are shared and must not be changed; they
// stay valid. Errors: ctx's, as Canceled or DeadlineExceeded; what ended the reader; what Options.Read
// answered, after which Next may be called again and continues where it was.
func (r *Reader) Next(ctx context.Context, room broker.Room) (broker.Batch, error) {
	for {
		if err := ctx.Err(); err != nil {
			return broker.Batch{}, status.Errorf(status.CodeOf(err), "no message came: %v", err)
		}
		b, before, err := r.memory(room)
		if err != nil || b.Count > 0 {
			return b, err
		}
		if before > r.offset.Load() {
			if err := r.log(before, room.Bytes); err != nil {
				return b, err
			}
			continue
		}
		select {
		case <-r.wake:
		case <-ctx.Done():
		}
	}
}

// memory is what can be had without reading: or else what must be read, as topic.find says it.
func (r *Reader) memory(room broker.Room) (b broker.Batch, before uint64, err error) {
	p := r.topic
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.err != nil {
		return b, 0, r.err
	}
	// Pushed and stored batches take turns, so that neither keeps the other waiting.
	if r.live && !r.turn {
		if b := r.next(room); b.Count > 0 {
			r.turn = true
			return b, 0, nil
		}
	}
	r.turn = false
	if len(r.ahead) > 0 {
		return r.given(r.cut(room)), 0, nil
	}
	offset := r.offset.Load()
	b, before, ok := p.find(offset)
	if ok {
		b, rest := b.Cut(room)
		if rest.Count > 0 {
			r.ahead = append(r.ahead[:0], rest)
		}
		r.offset.Store(b.Offset + uint64(b.Count))
		return r.given(b), 0, nil
	}
	if r.live && before == offset {
		if b := r.next(room); b.Count > 0 {
			r.turn = true
			return b, 0, nil
		}
	}
	return b, before, nil
}

// given notes what is given, and tells what it passes over: retention was faster than the reader.
func (r *Reader) given(b broker.Batch) broker.Batch {
	if b.Offset > r.want {
		b.Gap = &broker.Range{First: r.want, Last: b.Offset - 1}
	}
	r.want = b.Offset + uint64(b.Count)
	return b
}

// Missed tells a reader, before its first Next, what it was to begin with where that is before its offset: it
// is notified of the gap.
func (r *Reader) Missed(from uint64) { r.want = min(r.want, from) }

// cut takes what may be given of the first batch ahead.
func (r *Reader) cut(room broker.Room) broker.Batch {
	b, rest := r.ahead[0].Cut(room)
	if rest.Count > 0 {
		r.ahead[0] = rest
	} else {
		r.ahead[0] = broker.Batch{}
		r.ahead = r.ahead[1:]
	}
	r.offset.Store(b.Offset + uint64(b.Count))
	return b
}

// next takes what may be given of the pushed batches. With the topic's mu.
func (r *Reader) next(room broker.Room) (b broker.Batch) {
	p := r.topic
	if r.rest.Count == 0 {
		if r.pushed < p.dropped {
			p.log.missed.Add(p.dropped - r.pushed)
			r.pushed = p.dropped
		}
		if r.pushed == p.dropped+uint64(p.pushed.n) {
			return b
		}
		r.rest = *p.pushed.at(int(r.pushed - p.dropped))
		r.pushed++
	}
	b, r.rest = r.rest.Cut(room)
	return b
}

// log reads what memory does not have.
func (r *Reader) log(before uint64, limit int) error {
	p := r.topic
	offset := r.offset.Load()
	p.log.behind.Add(1)
	got, err := p.log.read(p.id, offset, before, limit)
	if err != nil {
		return err
	}
	r.ahead = settle(got, offset, before)
	if len(r.ahead) == 0 {
		r.offset.Store(before) // all of it was trimmed
	}
	return nil
}

// Offset is that of the message that Next gives next.
func (r *Reader) Offset() uint64 { return r.offset.Load() }

// Close ends the reader; a Next that waits returns Canceled.
func (r *Reader) Close() {
	t := r.topic.log
	t.mu.Lock()
	defer t.mu.Unlock()
	t.leave(r, status.Errorf(status.Canceled, "the subscription was closed"))
	t.forget(r.topic)
}
