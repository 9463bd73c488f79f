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

// lines are the engine's calls as sends of publishers: one goroutine for each sender,
// which sends in order what the engine begins, and none for each message. A publisher
// of calls has as many senders as it may have sends under way; another has one.
type lines struct {
	clock    load.SystemClock
	deadline time.Duration
	alarm    *load.Alarm
	slots    []slot
	senders  []*sender
	sending  sync.WaitGroup

	// Of the run, assigned while nothing is sent.
	run *run

	mu     sync.Mutex // guards ended
	ended  []ending
	spare  []ending      // what ended was before, for Turn alone
	wake   chan struct{} // holds one once ended has grown
	gaveUp []ending      // cancelled since the last Turn
}

// slot is a send that the engine may have under way.
type slot struct {
	due     int64
	age     uint32 // goes up as a send ends, so that an answer that comes too late is not the next one's
	sending bool
	ended   int64 // when the last one ended
}

// ending is how a slot's send of an age ended.
type ending struct {
	slot int
	age  uint32
	err  error
	at   int64
}

// order is a send to be made for a run.
type order struct {
	run      *run
	slot     int
	age      uint32
	due      int64
	recorded bool          // due within the window
	barrier  chan struct{} // closed in its turn, and nothing is sent; nil: a send
}

// newLines returns lines of so many slots over publishers, which it does not close.
func newLines(publishers []broker.Publisher, slots int, deadline time.Duration) *lines {
	l := &lines{deadline: deadline, alarm: load.NewAlarm(), slots: make([]slot, slots), wake: make(chan struct{}, 1)}
	senders := make([]int, len(publishers))
	for i, p := range publishers {
		senders[i] = 1
		if p.Calls() {
			senders[i] = width(slots, len(publishers), i)
		}
	}
	// In turns, so that a slot's sender is its number modulo the senders whatever the publishers.
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

// width is how many of so many slots are the i-th publisher's.
func width(slots, publishers, i int) int { return (slots + publishers - 1 - i) / publishers }

// close ends the senders, having waited for what they send.
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

// Cancel implements [load.Lines]. The send goes on, and its message is in the account.
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
			continue // it was given up
		}
		s.age++
		s.sending, s.ended = false, e.at
		ended(e.slot, e.err)
	}
}

// take takes what has ended away; it is valid until the next one.
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

// settle waits until each sender is past what it was told: of a run whose sends
// are over none is made afterwards.
func (l *lines) settle() {
	for _, s := range l.senders {
		passed := make(chan struct{})
		s.put(order{barrier: passed})
		<-passed
	}
}

// one makes a send in slot 0 while no run is under way.
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

// sender sends messages in order, under each of its run's topics in turns.
type sender struct {
	lines     *lines
	index     int
	sends     uint64 // the loop's alone
	publisher broker.Publisher
	wake      chan struct{} // holds one once orders or stopped changed

	mu      sync.Mutex // guards orders and stopped
	orders  []order
	stopped bool
	open    sync.WaitGroup // sends that are not answered
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

// loop sends until it is stopped; what is ordered then is not sent.
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

// send sends what is ordered. Its done marks the account first, so that whoever is
// told of the end finds the message acknowledged.
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

// write returns the next messages of a lane and the first one's number.
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

// classify names a send that failed: by its code.
func classify(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return wirelab.DeadlineExceeded.String()
	}
	return wirelab.CodeOf(err).String()
}
