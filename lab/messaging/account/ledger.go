package account

import (
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"wirelab"
	"wirelab/lab/result"
)

// Phase says whether a run is before, during or after a disturbance of its broker or readers.
// It is stored in two bits: see phaseMask.
type Phase uint32

// The phases, in their order.
const (
	Before Phase = iota
	During
	After
)

// Ledger is the account of one run.
type Ledger struct {
	run       uint64
	size      int
	filling   filling
	sequences []*sequence
	groups    []*ConsumerGroup
	phase     atomic.Uint32

	begin, end atomic.Int64 // of the window, on the run's clock
	acked      []atomic.Int64
}

// SizeLimit is the maximum size of a message, in bytes.
const SizeLimit = 1 << 20

// Options configures a ledger.
type Options struct {
	Run  uint64 // identifies this run; no other run may use it
	Size int    // of a message in bytes: StampSize to SizeLimit
	// Sequences has for each sequence the topic that it sends under, an index below Topics.
	Sequences []int
	Topics    int
	// Audiences has for each consumer group the topic that it reads.
	Audiences []int
}

// New returns an empty account.
func New(o Options) (*Ledger, error) {
	if o.Size < StampSize || o.Size > SizeLimit {
		return nil, wirelab.Errorf(
			wirelab.InvalidArgument,
			"messages of %d bytes; %d to %d can be followed",
			o.Size,
			StampSize,
			SizeLimit,
		)
	}
	l := &Ledger{run: o.Run, size: o.Size, filling: newFilling(o.Size, o.Run), acked: make([]atomic.Int64, o.Topics)}
	for _, topic := range append(append([]int(nil), o.Sequences...), o.Audiences...) {
		if topic < 0 || topic >= o.Topics {
			return nil, fmt.Errorf("topic %d of %d", topic, o.Topics)
		}
	}
	for _, topic := range o.Sequences {
		l.sequences = append(l.sequences, newSequence(topic))
	}
	for _, topic := range o.Audiences {
		l.groups = append(l.groups, newConsumerGroup(l, topic))
	}
	return l, nil
}

// Window sets the beginning and end of the window. It is called before the first message.
func (l *Ledger) Window(begin, end int64) {
	l.begin.Store(begin)
	l.end.Store(end)
}

// within reports whether a time is in the window.
func (l *Ledger) within(at int64) bool { return at >= l.begin.Load() && at < l.end.Load() }

// Disturb sets the phase: something is being done to the broker or the readers (During), or that is over and they
// work as before (After).
func (l *Ledger) Disturb(p Phase) { l.phase.Store(uint32(p)) }

// Dealt declares that readers have finished every message that has arrived so far. A disturbance from now on is no
// excuse for delivering any of them again. It is called some time after the last of them arrived.
func (l *Ledger) Dealt() {
	for _, a := range l.groups {
		a.dealtWith()
	}
}

func (l *Ledger) now() Phase { return Phase(l.phase.Load()) }

// Write returns the next message of a sequence. due is a time of the run's clock. Only the goroutine that owns the
// sequence may call it.
func (l *Ledger) Write(sequence int, due int64, recorded bool) (number uint64, body []byte) {
	at := l.sequences[sequence]
	number = at.sent.Load()
	body = l.filling.body(l.size, number)
	Stamp{
		Run: l.run, Sequence: uint32(sequence), Number: number, Due: due, Topic: uint16(at.topic),
		Recorded: recorded,
	}.put(body)
	at.write(number, l.now())
	return number, body
}

// Answered records the end of a send: acknowledged, or not known.
func (l *Ledger) Answered(sequence int, number uint64, acknowledged bool) {
	at := l.sequences[sequence]
	if !acknowledged {
		at.mark(number, unsure)
		return
	}
	l.acked[at.topic].Add(1)
	if at.acknowledge(number) {
		l.settle(sequence, int(number/chunkSize))
	}
}

// settle releases the memory of a sequence's chunk once its messages are all acknowledged and have arrived at every
// group. It is called whenever one of these conditions may have become true.
func (l *Ledger) settle(sequence, of int) {
	topic := l.sequences[sequence].topic
	for _, a := range l.groups {
		if a.topic == topic && !a.full(sequence, of) {
			return
		}
	}
	if !l.sequences[sequence].settle(of) {
		return
	}
	for _, a := range l.groups {
		if a.topic == topic {
			a.settle(sequence, of)
		}
	}
}

// ConsumerGroup returns the account of the i-th group's readers.
func (l *Ledger) ConsumerGroup(i int) *ConsumerGroup { return l.groups[i] }

// Backlog is the number of messages that are acknowledged but have not arrived, at the group with the most of them.
// It is 0 if messages arrive before their acknowledgement does.
func (l *Ledger) Backlog() int64 {
	most := int64(0)
	for _, a := range l.groups {
		most = max(most, l.acked[a.topic].Load()-a.distinct.Load())
	}
	return most
}

// Complete reports whether every acknowledged message has arrived at every group. It checks each message unless the
// totals already show that some are missing.
func (l *Ledger) Complete() bool {
	if l.Backlog() > 0 {
		return false
	}
	var sum Account
	for _, a := range l.groups {
		a.add(&sum)
	}
	return sum.Missing == 0
}

// Arrivals is the number of messages of any kind that have arrived. While it grows, there is progress.
func (l *Ledger) Arrivals() (n uint64) {
	for _, a := range l.groups {
		n += a.arrivals.Load()
	}
	return n
}

// Account has the counts of a run's messages. Arrivals are counted over all groups.
type Account = result.MessageCounts

// Account returns the counts so far.
func (l *Ledger) Account() Account {
	var sum Account
	for _, at := range l.sequences {
		sum.Sent += at.sent.Load()
		for _, c := range *at.chunks.Load() {
			sum.Acknowledged += uint64(c.acked.Load())
		}
	}
	sum.Unsure = sum.Sent - sum.Acknowledged
	for _, a := range l.groups {
		a.add(&sum)
	}
	return sum
}

// Heard is the earliest of the times at which each group last got a message for the first time.
func (l *Ledger) Heard() int64 {
	first := int64(math.MaxInt64)
	for _, a := range l.groups {
		first = min(first, a.Times().Last)
	}
	return first
}

// Gap is the longest time without an arrival within the window, at the group that waited longest. Both ends of the
// window count as arrivals.
func (l *Ledger) Gap() time.Duration {
	longest := time.Duration(0)
	for _, a := range l.groups {
		longest = max(longest, a.gap())
	}
	return longest
}
