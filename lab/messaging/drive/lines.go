package drive

import (
	"context"
	"errors"
	"sync"
	"time"

	"wirelab"
	"wirelab/broker"
	"wirelab/lab/load"
	"wirelab/lab/messaging/account"
)

// lines maps the engine's calls to sends of publishers. There is one goroutine for each sender, and none for each
// message. A sender sends in the order in which the engine begins calls. A publisher whose sends wait for the answer
// ([broker.Publisher] Calls) has as many senders as it may have sends under way. Any other publisher has one.
type lines struct {
	clock    load.SystemClock
	deadline time.Duration
	alarm    *load.Alarm
	slots    []slot
	senders  []*sender
	sending  sync.WaitGroup

	// The current run. It is assigned while nothing is being sent.
	run *run

	mu     sync.Mutex // guards ended
	ended  []ending
	spare  []ending      // the buffer that ended used before; only Turn uses it
	wake   chan struct{} // holds one value once ended has grown
	gaveUp []ending      // calls cancelled since the last Turn
}

// slot is one call that the engine may have under way.
type slot struct {
	due     int64
	age     uint32 // incremented when a send ends, so that a late answer is not taken for the next send's
	sending bool
	ended   int64 // when the last send ended
}

// ending is the end of the send that a slot made at an age.
type ending struct {
	slot int
	age  uint32
	err  error
	at   int64
}

// order is a send to make for a run.
type order struct {
	run      *run
	slot     int
	age      uint32
	due      int64
	recorded bool          // due within the window
	barrier  chan struct{} // if set, the order sends nothing: the sender closes the channel when the order's turn comes
}

// newLines returns lines with a number of slots over publishers. It does not close the publishers.
func newLines(publishers []broker.Publisher, slots int, deadline time.Duration) *lines {
	l := &lines{deadline: deadline, alarm: load.NewAlarm(), slots: make([]slot, slots), wake: make(chan struct{}, 1)}
	senders := make([]int, len(publishers))
	for i, p := range publishers {
		senders[i] = 1
		if p.Calls() {
			senders[i] = width(slots, len(publishers), i)
		}
	}
	// Senders of the publishers alternate, so that slot modulo the number of senders gives the sender.
	for more := true; more; {
		more = false
		for i := range publishers {
			if senders[i] > 0 {
				senders[i]--
				more = true
				s := &sender{lines: l, index: len(l.senders), publisher: publishers[i], wake: make(chan struct{}, 1)}
				l.senders = append(l.senders, s)
			}
		}
	}
	for _, s := range l.senders {
		l.sending.Go(s.loop)
	}
	return l
}

// width is the number of slots that the i-th publisher gets.
func width(slots, publishers, i int) int { return (slots + publishers - 1 - i) / publishers }

// close stops the senders after their sends have ended.
func (l *lines) close() {
	for _, s := range l.senders {
		s.stop()
	}
	l.sending.Wait()
	l.alarm.Close()
}

// Slots implements [load.Lines].
func (l *lines) Slots() int { return len(l.slots) }

// Window implements [load.TimedLines].
func (l *lines) Window(begin, end int64) { l.run.opens(begin, end) }

// Due implements [load.TimedLines].
func (l *lines) Due(slot int, due int64) { l.slots[slot].due = due }

// Ended implements [load.TimedLines].
func (l *lines) Ended(slot int) int64 { return l.slots[slot].ended }

// Begin implements [load.Lines].
func (l *lines) Begin(at int) {
	s := &l.slots[at]
	s.sending = true
	l.senders[at%len(l.senders)].put(order{
		run: l.run, slot: at, age: s.age, due: s.due,
		recorded: s.due >= l.run.begin,
	})
}

// Cancel implements [load.Lines]. The send continues, and its message stays in the account.
func (l *lines) Cancel(at int, cause error) {
	if s := &l.slots[at]; s.sending {
		l.gaveUp = append(l.gaveUp, ending{slot: at, age: s.age, err: wirelab.Public(cause), at: l.clock.Now()})
	}
}

// Turn implements [load.Lines].
func (l *lines) Turn(wait time.Duration, ended func(slot int, err error)) error {
	all := l.take()
	switch {
	case len(all) > 0 || len(l.gaveUp) > 0 || wait <= 0:
	default:
		l.alarm.Set(wait)
		select {
		case <-l.wake:
		case <-l.alarm.C:
		}
		all = l.take()
	}
	gaveUp := l.gaveUp
	l.gaveUp = nil
	l.end(all, ended)
	l.end(gaveUp, ended)
	return nil
}

func (l *lines) end(all []ending, ended func(slot int, err error)) {
	for _, e := range all {
		s := &l.slots[e.slot]
		if s.age != e.age {
			continue // it was cancelled
		}
		s.age++
		s.sending, s.ended = false, e.at
		ended(e.slot, e.err)
	}
}

// take returns the sends that have ended. The slice is valid until the next call.
func (l *lines) take() []ending {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.ended
	l.ended, l.spare = l.spare[:0], all
	return all
}

func (l *lines) finish(e ending) {
	e.at = l.clock.Now()
	l.mu.Lock()
	l.ended = append(l.ended, e)
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// settle waits until each sender has handled all its orders. So no message of a run is sent after its sends were
// stopped.
func (l *lines) settle() {
	for _, s := range l.senders {
		passed := make(chan struct{})
		s.put(order{barrier: passed})
		<-passed
	}
}

// one makes a single send in slot 0 while no run is under way.
func (l *lines) one(ctx context.Context) error {
	over, answer := false, error(nil)
	l.Due(0, l.clock.Now())
	l.Begin(0)
	for !over {
		if ctx.Err() != nil {
			l.Cancel(0, context.Cause(ctx))
		}
		if err := l.Turn(10*time.Millisecond, func(_ int, err error) { over, answer = true, err }); err != nil {
			return err
		}
	}
	return answer
}

// sender sends messages in order. It uses the topics of its run in turn.
type sender struct {
	lines     *lines
	index     int
	sends     uint64 // only the loop uses it
	publisher broker.Publisher
	wake      chan struct{} // holds one value once orders or stopped has changed

	mu      sync.Mutex // guards orders and stopped
	orders  []order
	stopped bool
	open    sync.WaitGroup // sends without an answer yet
}

func (s *sender) put(o order) {
	s.mu.Lock()
	s.orders = append(s.orders, o)
	s.mu.Unlock()
	s.signal()
}

func (s *sender) stop() {
	s.mu.Lock()
	s.stopped = true
	s.mu.Unlock()
	s.signal()
}

func (s *sender) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// loop sends until it is stopped. Orders that are still waiting then are not sent.
func (s *sender) loop() {
	var spare []order
	for range s.wake {
		s.mu.Lock()
		all, stopped := s.orders, s.stopped
		s.orders = spare[:0]
		s.mu.Unlock()
		if stopped {
			s.open.Wait()
			return
		}
		for _, o := range all {
			s.send(o)
		}
		spare = all
	}
}

// send carries out an order. The callback marks the account before it reports the end, so that a run that sees the
// end also finds the message acknowledged.
func (s *sender) send(o order) {
	r := o.run
	if o.barrier != nil {
		close(o.barrier)
		return
	}
	if err := r.sends.Err(); err != nil {
		s.lines.finish(ending{slot: o.slot, age: o.age, err: wirelab.Public(err)})
		return
	}
	ctx, cancel := r.sends, context.CancelFunc(nil)
	if s.publisher.Calls() {
		ctx, cancel = context.WithTimeout(ctx, s.lines.deadline)
	}
	sequence, topic := r.sequenceOf(s.index, s.sends)
	s.sends++
	first, batch := write(r.ledger, sequence, o.due, o.recorded, r.load.Batch)
	sent := s.lines.clock.Now()
	s.open.Add(1)
	s.publisher.Send(ctx, topic, batch, func(_ broker.Receipt, err error) {
		for i := range batch {
			r.ledger.Answered(sequence, first+uint64(i), err == nil)
		}
		if err == nil {
			r.acknowledged(len(batch), sent)
		}
		s.lines.finish(ending{slot: o.slot, age: o.age, err: err})
		if cancel != nil {
			cancel()
		}
		s.open.Done()
	})
	if o.recorded {
		r.accepted[s.index].Record(s.lines.clock.Now() - o.due)
	}
}

// write returns the next messages of a sequence, and the number of the first one.
func write(l *account.Ledger, sequence int, due int64, recorded bool, n int) (first uint64, batch []broker.Message) {
	batch = make([]broker.Message, n)
	for i := range batch {
		number, body := l.Write(sequence, due, recorded)
		if i == 0 {
			first = number
		}
		batch[i].Body = body
	}
	return first, batch
}

// classify names the error of a failed send by its code.
func classify(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return wirelab.DeadlineExceeded.String()
	}
	return wirelab.CodeOf(err).String()
}
