package account

import (
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"wirelab"
	"wirelab/lab/result"
)

// Phase is where a run is with what is done to its broker or its readers.
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

// SizeLimit is how many bytes a message has at most.
const SizeLimit = 1 << 20

// Options says what a ledger is of.
type Options struct {
	Run  uint64 // of this run and no other
	Size int    // of a message: StampSize to SizeLimit
	// Sequences are the topics that each lane sends under, by index; Topics how many there are.
	Sequences []int
	Topics    int
	// Audiences are the topics that each audience reads.
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

// Window tells when the window begins and ends, before the first message.
func (l *Ledger) Window(begin, end int64) {
	l.begin.Store(begin)
	l.end.Store(end)
}

// within reports whether a time is in the window.
func (l *Ledger) within(at int64) bool { return at >= l.begin.Load() && at < l.end.Load() }

// Disturb tells that something is now being done to the broker or the readers, or
// that it is over and they are as they were.
func (l *Ledger) Disturb(p Phase) { l.phase.Store(uint32(p)) }

// Dealt tells that readers have dealt for good with all that has arrived so far, as
// they have some time after it did: what is done from now on gives none of it back.
func (l *Ledger) Dealt() {
	for _, a := range l.groups {
		a.dealtWith()
	}
}

func (l *Ledger) now() Phase { return Phase(l.phase.Load()) }

// Write returns the next message of a lane, due at a time. Only the lane's own
// goroutine may call it.
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

// Answered tells what became of a message that was sent: acknowledged, or nobody knows.
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

// settle lets the memory of a lane's chunk go once its messages are all acknowledged
// and have arrived at every audience. It is called whenever that may have come true.
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

// ConsumerGroup is the account of a group's readers.
func (l *Ledger) ConsumerGroup(i int) *ConsumerGroup { return l.groups[i] }

// Backlog is how many more messages are acknowledged than have arrived, at the
// audience that lacks most; 0 where they arrive before their acknowledgement does.
func (l *Ledger) Backlog() int64 {
	most := int64(0)
	for _, a := range l.groups {
		most = max(most, l.acked[a.topic].Load()-a.distinct.Load())
	}
	return most
}

// Complete reports whether every acknowledged message has arrived at every
// audience. It looks at each message unless counts alone tell that some lack.
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

// Arrivals is how many messages have arrived, of any kind: what shows that there
// is progress.
func (l *Ledger) Arrivals() (n uint64) {
	for _, a := range l.groups {
		n += a.arrivals.Load()
	}
	return n
}

// Account is what became of a run's messages. Counts of arrivals are of all audiences.
type Account = result.MessageCounts

// Account adds up, of what has happened so far.
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

// Heard is when each audience had last got a message that it had not before: the
// earliest of those times.
func (l *Ledger) Heard() int64 {
	first := int64(math.MaxInt64)
	for _, a := range l.groups {
		first = min(first, a.Times().Last)
	}
	return first
}

// Gap is how long nothing arrived, at most, within the window, at the audience
// that waited longest; the window's ends count as arrivals.
func (l *Ledger) Gap() time.Duration {
	longest := time.Duration(0)
	for _, a := range l.groups {
		longest = max(longest, a.gap())
	}
	return longest
}
