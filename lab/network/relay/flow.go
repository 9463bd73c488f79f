package relay

import (
	"context"
	"math/rand/v2"
	"sync"
)

// group is how much later, in ns, a packet may be passed on in order to go together with those after it, like the
// interrupt coalescing of a network card. Without it a fast link would need a timer for each packet.
const group = 50_000

// flow is one direction of one connection: the data that was read, and when to write it. It keeps the order, of
// datagrams too: see [network.Spec.Notes].
type flow struct {
	relay *Relay
	way   *way
	rand  *rand.Rand // guarded by mu
	wake  bell       // for the writer
	room  bell       // for the reader

	mu      sync.Mutex   // guards all below
	sender  sender       // of TCP
	ring    ring         // of TCP: data that was read and not yet written
	unsent  int          // bytes of ring that are in no entry yet
	held    int          // bytes of UDP in entries
	entries queue[entry] // on their way, in order
	first   uint64       // number of the first entry
	ending  ending       // what follows the data that was read
	ended   bool         // ending is among the entries
	dead    bool         // nothing is passed on any more
	last    int64        // the latest due time of the entries so far
	armed   int64        // when the alarm will wake the flow; 0: it will not
}

// entry is written as a whole: of TCP the next bytes of the ring.
type entry struct {
	due    int64
	since  int64 // of TCP: when its first segment was due
	bytes  int
	parts  int     // packets
	data   *packet // of UDP
	again  bool    // it was lost and sent again
	ending ending
}

// ending is how a stream ends.
type ending int

const (
	going ending = iota
	finished
	reset
)

func (r *Relay) newFlow(w *way) *flow {
	return &flow{
		relay: r, way: w, wake: newBell(), room: newBell(),
		rand: rand.New(rand.NewPCG(r.config.Seed, r.flows.Add(1))),
	}
}

// pump gives the path the bytes that its sender may send now, and returns when it may send more; 0: not before another
// event. f.mu must be held.
func (f *flow) pump(now int64) (again int64) {
	spec := f.way.spec
	for f.unsent > 0 && !f.dead {
		bytes, at := f.sender.room(now, f.unsent)
		if bytes == 0 {
			return at
		}
		if spec.Loss > 0 || spec.Bandwidth > 0 || spec.Jitter > 0 {
			bytes = min(bytes, segment)
		}
		parts := (bytes + segment - 1) / segment
		leaves, ok := f.way.send(now, bytes+parts*headTCP)
		if !ok {
			return leaves
		}
		takes := f.way.delay(f.rand)
		due, repeated := f.sender.send(leaves, takes, bytes, f.first+uint64(f.entries.len()), f.rand)
		if !repeated {
			f.sender.reported(leaves, takes, f.sooner)
		}
		f.unsent -= bytes
		f.append(entry{due: due, since: due, bytes: bytes, parts: parts, again: repeated})
	}
	if f.ending != going && !f.ended && !f.dead {
		f.ended = true
		leaves, _ := f.way.send(max(now, f.sender.opens), headTCP)
		due := leaves + f.way.delay(f.rand)
		f.entries.push(entry{due: due, since: due, ending: f.ending})
	}
	return 0
}

// append adds an entry, or merges it into the last one.
func (f *flow) append(e entry) {
	if n := f.entries.len(); n > 0 && !e.again {
		last := f.entries.at(n - 1)
		if !last.again && last.ending == going && e.due-last.since <= group {
			last.due, last.bytes, last.parts = max(last.due, e.due), last.bytes+e.bytes, last.parts+e.parts
			return
		}
	}
	f.entries.push(e)
}

// sooner moves the arrival of an entry forward, if due is earlier.
func (f *flow) sooner(number uint64, due int64) {
	if number < f.first {
		return // it has arrived
	}
	if e := f.entries.at(int(number - f.first)); due < e.due {
		e.due = due
	}
}

// due returns how many entries at the front are due and how many bytes they have. If there are none, it returns when to
// check again; 0: once woken. f.mu must be held.
func (f *flow) due(now int64) (entries, bytes int, again int64) {
	again = f.pump(now)
	for entries < f.entries.len() {
		e := f.entries.at(entries)
		if e.due > now {
			break
		}
		if e.ending != going || e.data != nil {
			if entries == 0 {
				entries = 1
			}
			break
		}
		entries++
		bytes += e.bytes
	}
	if entries == 0 && f.entries.len() > 0 {
		if due := f.entries.at(0).due; again == 0 || due < again {
			again = due
		}
	}
	return entries, bytes, again
}

// drop removes the entries at the front.
func (f *flow) drop(entries int) {
	f.first += uint64(entries)
	f.entries.drop(entries)
}

// rearm makes the alarm wake the flow at a time. f.mu must be held.
func (f *flow) rearm(now, at int64) {
	switch {
	case at == 0:
	case at <= now:
		f.wake.notify()
	case f.armed <= now || at < f.armed:
		f.armed = at
		f.relay.alarm.at(at, f)
	}
}

// look is called by a reader after it has added to a flow. It sends what may be sent, and wakes the writer when
// something is due.
func (f *flow) look(now int64) {
	entries, _, again := f.due(now)
	if entries > 0 {
		again = now
	}
	f.rearm(now, again)
}

// await waits until the flow is woken. It returns false if ctx is done.
func (f *flow) await(ctx context.Context) bool {
	select {
	case <-f.wake:
		return true
	case <-ctx.Done():
		return false
	}
}

// count adds the first entries to the statistics, with their lateness since they were due or, if that is later, since
// the entry before was written. It reports whether one of them had waited for a timeout.
func (f *flow) count(now, free int64, entries int) (timedOut bool) {
	for i := range entries {
		e := f.entries.at(i)
		f.last = max(f.last, e.due)
		if e.parts > 0 {
			f.relay.stats.pass(e.parts, now-max(f.last, free))
		}
		if e.again {
			f.relay.stats.dropped.Add(1)
			timedOut = f.sender.arrived(f.first+uint64(i)) || timedOut
		}
	}
	return timedOut
}
