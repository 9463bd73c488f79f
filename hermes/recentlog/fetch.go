package recentlog

import "wirelab/hermes/broker"

// Fetch appends what a topic has from an offset on and before another, at most
// limit bytes but one message at least, exactly cut, to dst: of memory or, where it
// is not held, of Options.Read. It does not wait; it may give less than there is
// (call again from where it ended), and nothing only where there is nothing (trimmed).
// It is for group feeds, whose offsets are leased and not consecutive.
func (t *Log) Fetch(dst []broker.Batch, topic uint32, offset, before uint64, limit int) ([]broker.Batch, error) {
	t.mu.Lock()
	p := t.topics[topic]
	t.mu.Unlock()
	had := len(dst)
	for offset < before {
		b, hole, ok := broker.Batch{}, before, false
		if p != nil {
			p.mu.Lock()
			b, hole, ok = p.find(offset)
			p.mu.Unlock()
		}
		if ok {
			b = until(b, before)
			offset = b.Offset + uint64(b.Count)
			var full bool
			if dst, full = gather(dst, had, b, &limit); full {
				return dst, nil
			}
			continue
		}
		if len(dst) > had {
			return dst, nil // found messages go out before the disk is asked
		}
		if hole == offset || hole > before {
			hole = before
		}
		t.behind.Add(1)
		got, err := t.read(topic, offset, hole, limit)
		if err != nil {
			return dst, err
		}
		for _, b := range settle(got, offset, hole) {
			var full bool
			if dst, full = gather(dst, had, b, &limit); full {
				return dst, nil
			}
		}
		if len(dst) > had {
			return dst, nil // there may be more before the hole's end than Read gave
		}
		offset = hole
	}
	return dst, nil
}

// gather appends what of a batch fits; full is true when not all of it did.
func gather(dst []broker.Batch, had int, b broker.Batch, limit *int) (_ []broker.Batch, full bool) {
	head, rest := b.Cut(broker.Room{Bytes: *limit})
	if len(dst) > had && len(head.Messages) > *limit {
		return dst, true
	}
	*limit -= len(head.Messages)
	return append(dst, head), rest.Count > 0
}
