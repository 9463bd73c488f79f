package client

import (
	"time"

	"wirelab/hermes"
	"wirelab/hermes/frame"
	"wirelab/wire/status"
)

// queueKey names what keeps its order: messages of one topic and one mode.
type queueKey struct {
	topic string
	mode  hermes.Mode
}

// check says what is wrong with a queue's name.
func (k queueKey) check() error {
	if k.mode > hermes.Performance {
		return status.Errorf(status.InvalidArgument, "mode %d is none", k.mode)
	}
	return hermes.CheckTopic(k.topic)
}

// sendQueue is the runs of one topic and one mode, under the writer's lock. They go from open
// (messages are still added) by waiting (in order, to be sent) to flying (sent, in order).
//
// A producer's runs on a topic are numbered without gaps. So when one is refused, those
// behind it are refused too, and may not be numbered anew while an old copy may still be
// under way: it could take the number of another. They get a new producer instead.
//
// What each message touches comes first: with ten thousand queues each line of memory that it touches is one
// that no cache has.
type sendQueue struct {
	open   *run // nil: none
	size   int  // bytes of the last one
	count  int  // messages of the last one
	listed bool // in the writer's list of queues to send from
	due    bool // Linger is over

	key      queueKey
	producer uint64 // 0: none yet; performance mode has none
	next     uint64 // sequence of the next message
	// proven is that a run of this producer was answered. A topic takes a producer's first
	// run with any sequence, so that until then a second on its way could overtake it.
	proven bool
	// numbered is how many runs were given numbers.
	numbered uint64
	// gap is that a run was given up that may be stored or not: if not, the next one is notified.
	gap     bool
	linger  *time.Timer
	waiting []*run
	flying  []*run
	renewed bool // its producer is its own, not the mode's
}

// run is messages that go together.
type run struct {
	queue    *sendQueue
	messages []byte
	done     []func(Receipt, error) // one for each message
	taken    int64                  // bytes of the writer's room
	since    time.Time              // when its first message came
	producer uint64
	sequence uint64 // 0: not numbered yet
	nth      uint64 // of its queue's runs that were numbered
	tries    int
	renewed  bool   // a new producer was tried
	refusal  error  // for certain, but those in front of it are not answered
	tag      uint64 // of the refusal
	flushes  []*flush
}

// flush waits for runs, until their callbacks have returned.
type flush struct {
	left int
	done chan struct{}
}

func (f *flush) awaits(r *run) {
	r.flushes = append(r.flushes, f)
	f.left++
}

// add puts a message, as record has it, into the queue's open run. began: it is the first one of a run.
func (l *sendQueue) add(message []byte, weight int64, o *Options, done func(Receipt, error)) (began bool) {
	r := l.open
	if r != nil && len(r.messages)+len(message) > o.RunBytes {
		l.seal()
		r = nil
	}
	if r == nil {
		r, began = l.begin(len(message)), true
		l.open = r
	}
	r.messages = append(r.messages, message...)
	r.taken += weight
	r.done = append(r.done, done)
	if len(r.done) >= o.RunMessages || len(r.messages) >= o.RunBytes {
		l.seal()
	}
	return began
}

// begin is a new run, with room for a little more than the last one had, or for so many bytes.
func (l *sendQueue) begin(size int) *run {
	return &run{
		queue: l, since: time.Now(),
		messages: make([]byte, 0, max(l.size+l.size/spare, size)), done: make([]func(Receipt, error), 0,
			l.count+l.count/spare),
	}
}

// spare is the part of a run that the next one has more room for: runs that grow a little are not copied.
const spare = 4

// seal ends the open run.
func (l *sendQueue) seal() {
	if l.open == nil {
		return
	}
	l.waiting = append(l.waiting, l.open)
	l.size, l.count = len(l.open.messages), len(l.open.done)
	l.open, l.due = nil, false
	if l.linger != nil {
		l.linger.Stop()
	}
}

// ready reports whether a run may be sent now.
func (l *sendQueue) ready(o *Options) bool {
	window := o.InFlight
	if l.key.mode != hermes.Performance && !l.proven {
		window = 1
	}
	return len(l.flying) < window && !l.ahead() && (len(l.waiting) > 0 || l.open != nil && (o.Linger == 0 || l.due))
}

// ahead reports whether the next run would be so far ahead of the oldest one that is not answered that this one
// would not be known again, if it was stored and is sent once more. Answers need not come in order, so that a
// bound on runs in flight does not see to it.
func (l *sendQueue) ahead() bool {
	if l.key.mode == hermes.Performance || len(l.flying) == 0 || len(l.waiting) > 0 && l.waiting[0].sequence != 0 {
		return false
	}
	return l.numbered+1-l.flying[0].nth > hermes.ProducerRuns-1
}

// take is the run to send next, numbered.
func (l *sendQueue) take() *run {
	if len(l.waiting) == 0 {
		l.seal()
	}
	r := l.waiting[0]
	l.waiting = append(l.waiting[:0], l.waiting[1:]...)
	// One that is sent again keeps its number: by that alone a node knows that it may have stored it already.
	if r.sequence == 0 && l.key.mode != hermes.Performance {
		r.producer, r.sequence = l.producer, l.next
		l.next += uint64(len(r.done))
		l.numbered++
		r.nth = l.numbered
	}
	r.tries++
	l.flying = append(l.flying, r)
	return r
}

func (r *run) frame(tag uint64) frame.Run {
	return frame.Run{
		Topic: r.queue.key.topic, Messages: r.messages, Mode: r.queue.key.mode,
		Producer: r.producer, Sequence: r.sequence, Tag: tag,
	}
}

// land takes a run out of flying.
func (l *sendQueue) land(r *run) {
	for i, f := range l.flying {
		if f == r {
			l.flying = append(l.flying[:i], l.flying[i+1:]...)
			return
		}
	}
}

// again puts runs in flight back before the waiting ones, in order.
func (l *sendQueue) again() {
	for _, r := range l.flying {
		r.refusal = nil
	}
	l.waiting = append(l.flying, l.waiting...)
	l.flying = nil
}

// renew gives whatever is not answered a new producer and new numbers.
func (l *sendQueue) renew() {
	l.again()
	for _, r := range l.waiting {
		r.sequence, r.tries = 0, 0
	}
	l.producer, l.next, l.proven, l.gap, l.renewed = 0, 1, false, false, true
}

// refused decides about the first run that flies, which was refused for certain. again: it is sent once more,
// under a new producer. Otherwise it fails, with an error that says what is known.
//
// A new producer is taken only where it is certain that none of the runs sent again was stored under the old
// one, or it would be stored twice. That is so behind a run that was refused at its first try, since those
// behind it were tried no more often, and where a run is notified of the gap that one before it left.
func (l *sendQueue) refused(r *run, err error) (again bool, told error) {
	code := status.CodeOf(err)
	switch {
	case code == status.Conflict && l.gap:
		l.renew()
		return true, nil
	case code == status.NotFound && r.tries == 1 && !r.renewed:
		r.renewed = true // the producer was silent for so long that it was forgotten, or the topic is not there
		l.renew()
		return true, nil
	}
	l.land(r)
	switch {
	case r.tries > 1:
		l.gap = true // or none, if an earlier try was stored
		return false, perhaps(err)
	case code == status.Conflict:
		l.gap = true
	case len(l.flying) == 0:
		l.next = r.sequence // no one was numbered behind it
	default:
		l.renew()
	}
	return false, err
}

// perhaps is the error of a run that may be stored by another try than the one that failed so.
func perhaps(err error) error {
	return status.Errorf(status.Unavailable, "the messages may be stored; the last try said: %s",
		status.Public(err).Message)
}

// give takes out what waits and is not to be sent again, for an error that all have or one
// for those that were tried.
func (l *sendQueue) give(which func(*run) bool, untried, tried error, each func(*run, error)) {
	for len(l.waiting) > 0 && which(l.waiting[0]) {
		r := l.waiting[0]
		l.waiting = l.waiting[1:]
		if r.tries == 0 {
			each(r, untried)
			continue
		}
		l.gap = true
		each(r, tried)
	}
}
