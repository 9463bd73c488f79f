package node

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"wirelab/hermes/broker"
)

const (
	// fanoutBytes of mode performance are under way to one node; what comes beyond passes it by,
	// as it passes a subscriber by who is too slow.
	fanoutBytes = 4 << 20
	// fanoutQuiet is how long a node that had no subscriber of a topic is not sent more of it:
	// one that comes within that time misses what a subscriber of this mode may miss.
	fanoutQuiet = 100 * time.Millisecond
	// fanoutTopics bounds the memory for that.
	fanoutTopics = 10_000
)

// fanout hands messages in mode performance on to the subscribers of the other nodes. It is the leader's, and
// waits for none of them.
type fanout struct {
	n      *Node
	ctx    context.Context // ends with the node
	cancel context.CancelFunc
	others atomic.Pointer[[]uint64]

	mu    sync.Mutex // guards all below
	bytes map[uint64]int
	quiet map[quietTopic]time.Time
}

// quietTopic is a topic that a node had no subscriber of.
type quietTopic struct {
	node  uint64
	topic string
}

func newFanout(n *Node) *fanout {
	f := &fanout{n: n, bytes: map[uint64]int{}, quiet: map[quietTopic]time.Time{}}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	f.others.Store(new([]uint64))
	return f
}

// push sends a run to all who may want it. Its Producer is then the leader's term,
// by which the other end knows it from a publish that went astray.
func (f *fanout) push(run broker.Run, term uint64) {
	cloned := false
	for _, id := range *f.others.Load() {
		if !f.n.net.Reached(id) || !f.enter(id, run) {
			continue
		}
		if !cloned {
			// The publisher has its bytes back before the queues to the nodes are sent.
			run.Messages, cloned = slices.Clone(run.Messages), true
			run.Producer, run.Sequence = term, 1
		}
		f.n.net.Broker(id).Publish(f.ctx, run, func(v broker.Verdict) { f.leave(id, run, v) })
	}
}

func (f *fanout) enter(id uint64, run broker.Run) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if until, ok := f.quiet[quietTopic{id, run.Topic}]; ok && time.Now().Before(until) {
		return false
	}
	if f.bytes[id]+len(run.Messages) > fanoutBytes {
		return false
	}
	f.bytes[id] += len(run.Messages)
	return true
}

func (f *fanout) leave(id uint64, run broker.Run, v broker.Verdict) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.bytes[id] -= len(run.Messages)
	if v.Err == nil && v.Count > 0 {
		return
	}
	if len(f.quiet) >= fanoutTopics {
		// All at once: an entry saves at most fanoutQuiet of needless sending, so an order of them would cost more.
		clear(f.quiet)
	}
	f.quiet[quietTopic{id, run.Topic}] = time.Now().Add(fanoutQuiet)
}

// pushed takes what a leader pushes. Count says how many subscribers saw it.
func (n local) pushed(run broker.Run) broker.Verdict {
	t, err := n.topics.find(run.Topic)
	if err != nil {
		return broker.Verdict{Err: err}
	}
	return broker.Verdict{Count: n.recent.Push(t.id, n.clock.stamp(), run.Messages, run.Count)}
}
