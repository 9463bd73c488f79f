package drive

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"wirelab/broker"
	"wirelab/lab/control"
	"wirelab/lab/load"
	"wirelab/lab/messaging/account"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/stat"
)

// run is one slice, warm-up or check. It has its own topics, their readers, and the account of its messages.
type run struct {
	broker broker.Broker
	load   control.Messages
	topics []broker.Topic
	ledger *account.Ledger
	clock  load.SystemClock

	sends context.Context //nolint:containedctx // the context for sends of publishers that do not wait for answers
	stop  context.CancelFunc

	// accepted has a histogram for each sender: the time from due until the broker's client accepted the message, ns,
	// of messages due in the window. Only its sender may use it until the lines have settled.
	accepted []*stat.Histogram

	begin, end int64 // the window; assigned before anything is sent
	opened     chan struct{}
	once       sync.Once

	mu      sync.Mutex // guards acked, newest and readers
	acked   progress
	newest  int64    // when the newest of the acknowledged messages was sent
	readers []reader // by group; nil: no reader yet

	failed atomic.Pointer[error] // the first error of the run itself
}

// progress says when an event last occurred, and the longest time without one.
type progress struct {
	count   uint64 // events within the window
	last    int64
	longest time.Duration
}

// topicsOf is the number of topics that a scenario uses.
func topicsOf(scenario string) int {
	if scenario == plan.Isolation {
		return 2
	}
	return 1
}

// begin creates the topics of a run. Their names are unique.
func begin(ctx context.Context, b broker.Broker, l *lines, what control.Messages, seed uint64) (*run, error) {
	r := &run{broker: b, load: what, opened: make(chan struct{})}
	r.sends, r.stop = context.WithCancel(context.WithoutCancel(ctx))
	name := "w" + strconv.FormatUint(seed, 36) + "-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	options := account.Options{
		Run: seed ^ uint64(time.Now().UnixNano()), Size: what.Size,
		Topics: topicsOf(what.Scenario),
	}
	for t := range options.Topics {
		topic := broker.Topic{Name: fmt.Sprintf("%s-%c", name, 'a'+t)}
		for g := range what.Groups {
			topic.Groups = append(topic.Groups, fmt.Sprintf("g%d", g+1))
			options.Audiences = append(options.Audiences, t)
		}
		r.topics = append(r.topics, topic)
	}
	for range l.senders { // each sender uses every topic in turn: see sequenceOf
		for t := range options.Topics {
			options.Sequences = append(options.Sequences, t)
		}
	}
	var err error
	if r.ledger, err = account.New(options); err != nil {
		return nil, err
	}
	for _, topic := range r.topics {
		if err := b.CreateTopic(ctx, topic); err != nil {
			return nil, errors.Join(fmt.Errorf("create a topic: %w", err), r.remove(ctx))
		}
	}
	r.readers = make([]reader, len(options.Audiences))
	for range l.senders {
		r.accepted = append(r.accepted, stat.NewHistogram())
	}
	l.run = r
	return r, nil
}

// sequenceOf returns the sequence of a sender's send, counted from 0, and the name of its topic.
func (r *run) sequenceOf(sender int, send uint64) (sequence int, topic string) {
	of := int(send % uint64(len(r.topics)))
	return sender*len(r.topics) + of, r.topics[of].Name
}

// opens sets the window. Times are on the run's clock.
func (r *run) opens(begin, end int64) {
	r.ledger.Window(begin, end)
	r.mu.Lock()
	r.begin, r.end = begin, end
	r.acked = progress{last: begin}
	r.mu.Unlock()
	r.once.Do(func() { close(r.opened) })
}

// acknowledged counts n messages, sent at a time, that were acknowledged just now.
func (r *run) acknowledged(n int, sent int64) {
	now := r.clock.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.newest = max(r.newest, sent)
	if now < r.begin || now >= r.end {
		return
	}
	r.acked.count += uint64(n)
	r.acked.longest = max(r.acked.longest, time.Duration(now-max(r.acked.last, r.begin)))
	r.acked.last = now
}

// within waits until so is true, and returns the time at which it found that. It returns 0 if the window or ctx ended
// first.
func (r *run) within(ctx context.Context, so func() bool) (at int64) {
	look := time.NewTicker(drainLook)
	defer look.Stop()
	for {
		switch now := r.clock.Now(); {
		case now >= r.end:
			return 0
		case so():
			return now
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return 0
		}
	}
}

// taken reports whether a message that was sent after a time has been acknowledged.
func (r *run) taken(after int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.newest > after
}

// fail records an error that makes the run useless, and stops its sends.
func (r *run) fail(err error) {
	if err != nil && r.failed.CompareAndSwap(nil, &err) {
		r.stop()
	}
}

func (r *run) err() error {
	if err := r.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// The limits of [run.drain].
const (
	drainLook   = 20 * time.Millisecond
	drainSettle = 150 * time.Millisecond // wait for messages that are delivered again
	drainLimit  = 20 * time.Minute
)

// drain waits until all acknowledged messages have arrived at every group, as long as any message arrives. After
// patience without an arrival, the remaining messages count as missing. It returns an error if messages were still
// arriving at drainLimit: then it is not known which ones are missing.
func (r *run) drain(ctx context.Context, patience time.Duration) error {
	limit := time.NewTimer(drainLimit)
	defer limit.Stop()
	look := time.NewTicker(drainLook)
	defer look.Stop()
	seen, at := r.ledger.Arrivals(), time.Now()
	settled := time.Time{}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-limit.C:
			return fmt.Errorf(
				"%d messages had still to be read %v after the last was sent: send fewer (--rate, --slice), or have "+
					"readers take less time (--reader-delay)",
				r.ledger.Backlog(),
				drainLimit,
			)
		case <-look.C:
		}
		if n := r.ledger.Arrivals(); n != seen {
			seen, at = n, time.Now()
		}
		switch {
		case time.Since(at) > patience:
			return nil
		case time.Since(at) < drainSettle || !r.ledger.Complete():
			settled = time.Time{}
		case settled.IsZero():
			settled = time.Now()
		case time.Since(settled) > drainSettle:
			return nil
		}
	}
}

// over stops the remaining sends and the readers, and removes the topics, even after an earlier error.
func (r *run) over(ctx context.Context, l *lines) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), teardownLimit)
	defer cancel()
	r.stop()
	l.settle()
	var all error
	for i := range r.readers {
		if reader := r.reader(i); reader != nil {
			all = errors.Join(all, reader.close(ctx))
		}
	}
	removed := r.remove(ctx)
	if (plan.Load{Scenario: r.load.Scenario}).Fails() {
		removed = nil // a broker that has not recovered keeps its topics until it is stopped
	}
	return errors.Join(all, removed)
}

// teardownLimit is the maximum duration of a run's cleanup.
const teardownLimit = 30 * time.Second

func (r *run) remove(ctx context.Context) (all error) {
	for _, topic := range r.topics {
		if err := r.broker.DeleteTopic(ctx, topic); err != nil {
			all = errors.Join(all, fmt.Errorf("delete a topic: %w", err))
		}
	}
	return all
}

// measured returns the counts and times of the run. It first waits until no more messages are being sent.
func (r *run) measured(l *lines, w *watching) *result.Messages {
	r.stop()
	l.settle()
	r.mu.Lock()
	acked := r.acked
	r.mu.Unlock()
	m := &result.Messages{
		MessageCounts: r.ledger.Account(),
		Groups:        len(r.readers), AcknowledgedInWindow: acked.count,
		AcceptedAfter: stat.NewHistogram(), DeliveredAfter: stat.NewHistogram(),
		SendOutage:     plan.Duration(max(acked.longest, time.Duration(r.end-max(acked.last, r.begin)))),
		DeliveryOutage: plan.Duration(r.ledger.Gap()),
		Backlog:        [][]int64{w.backlog},
	}
	if w.merged > 1 {
		m.Merged = w.merged
	}
	for _, h := range r.accepted {
		m.AcceptedAfter.Merge(h)
	}
	last := r.end
	for i := range r.readers {
		times := r.ledger.ConsumerGroup(i).Times()
		m.DeliveredAfter.Merge(times.Delivered)
		m.DeliveredInWindow += times.InWindow
		m.DrainedMessages += times.After
		last = max(last, times.Last)
	}
	m.Drained = plan.Duration(last - r.end)
	return m
}
