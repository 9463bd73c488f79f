package recentlog

// portion is how many listeners are notified between two looks at the list of them.
const portion = 256

// stir has a topic's listeners told: at once when they are few, else by a goroutine that
// lasts as long as there are any to tell. With t.mu.
func (t *Log) stir(p *topic) {
	if len(p.listeners) <= t.tellMost {
		p.wake()
		return
	}
	if p.stirred {
		return // not begun with yet
	}
	p.stirred = true
	t.stirred = append(t.stirred, p) // bounded: each topic at most once
	if !t.rousing {
		t.rousing = true
		t.wg.Go(t.rouse)
	}
}

// rouse tells the listeners of all stirred topics. It holds the mutex for a portion of them at a time. From the
// last to the first, because one that goes away is replaced by the last: who moves so has been told, and those
// who come in the meantime looks for himself.
func (t *Log) rouse() {
	var some []*listener
	for {
		t.mu.Lock()
		if len(t.stirred) == 0 {
			t.rousing = false
			t.stirred = nil
			t.mu.Unlock()
			return
		}
		p := t.stirred[0]
		t.stirred = t.stirred[1:]
		p.stirred = false
		left := len(p.listeners)
		t.mu.Unlock()
		for left > 0 {
			t.mu.Lock()
			left = min(left, len(p.listeners))
			from := max(0, left-portion)
			some = append(some[:0], p.listeners[from:left]...)
			t.mu.Unlock()
			left = from
			for _, l := range some {
				tell(l.wake)
			}
		}
		clear(some)
	}
}
