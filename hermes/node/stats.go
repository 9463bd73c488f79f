package node

import (
	"context"
	"path/filepath"
	"sync"
	"time"

	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/hermes/core"
	"wirelab/wire/status"
)

// Observer gets how long things took. It is called on the goroutines that all callers waits for, so it must not
// block, nor take more than some ten nanoseconds.
type Observer interface {
	// Synced is called once for every sync of the log.
	Synced(took time.Duration)
	// Committed is called when so many runs or commands, of those that came in together, were
	// committed; took is from when the loop had them.
	Committed(took time.Duration, proposals int)
}

// timing gathers proposals that began at once, so that the observer is called for
// each entry rather than for each of its runs.
type timing struct {
	to    Observer // nil: not reported
	now   int64
	began int64
	count int
}

func (l *loop) timing(verdicts int) timing {
	t := timing{to: l.n.options.Observer}
	if t.to != nil && verdicts > 0 {
		t.now = l.n.clock.now()
	}
	return t
}

// add counts a proposal; one that began at 0 does not count.
func (t *timing) add(began int64) {
	if t.to == nil || began == 0 {
		return
	}
	if began != t.began {
		t.flush()
		t.began = began
	}
	t.count++
}

func (t *timing) flush() {
	if t.count > 0 {
		t.to.Committed(time.Duration(t.now-t.began), t.count)
		t.count = 0
	}
}

// Stats is how a node is doing.
type Stats struct {
	Node, Leader, Term, Committed, Applied uint64
	Elections                              uint64 // that gave a leader, as this node saw, since it started
	Segments                               int    // of the log, on this node
	LogBytes                               int64  // allocated
	OpenFiles, OpenLimit                   int    // of the log: now, and at most to be read
	// Of the disk, as of the last round of maintenance; 0: not known yet.
	FreeBytes uint64
	// The disk has less free space than it must: where it leads it hands over, or refuses publishes.
	Full bool
	// The disk is so full, or so many files are open, that nothing is stored here, and nothing acknowledged.
	Starved bool
	Apart   bool // this node and another have committed different entries
	Copied  bool // the directory is a copy, and the node has not caught up yet
	// The machine's clock is off the others' by more than Options.ClockSkew.
	ClockOff     bool
	ClockAhead   time.Duration // of the median of a majority; 0 where none is known
	Scrub        Scrub
	InHandBytes  int   // of publishes without an answer
	BacklogBytes int64 // handed to the disk and not stored
	Topics       []broker.Topic
	Groups       []broker.Group // where this node leads; else none: the leader has them all
}

// Scrub is what was found in the log, on this node since it started.
type Scrub struct {
	Bytes    uint64 // read in search of damage
	Damage   uint64 // found, by who reads the log too
	Repaired uint64 // of Damage
	Open     bool   // there is damage that is not repaired yet
}

// Stats tells how this node is doing, without asking another. It costs the loop what
// all topics and groups cost to copy, so ask it by the second rather than by the publish.
func (n *Node) Stats(ctx context.Context) (Stats, error) {
	back := make(chan answer[Stats], 1)
	ok := n.loop.call(func(l *loop) {
		if l == nil {
			back <- answer[Stats]{err: errStopping}
			return
		}
		back <- answer[Stats]{value: l.stats()}
	})
	if !ok {
		return Stats{}, errStopping
	}
	s, err := await(ctx, back)
	if err != nil {
		return Stats{}, err
	}
	usage := n.log.Usage()
	s.Segments, s.LogBytes = usage.Segments, usage.Bytes
	s.OpenFiles, s.OpenLimit = n.log.Files()
	s.Starved = n.disk.starved.Load()
	s.Apart, s.Copied = n.apart.err() != nil, n.doubtful.Load()
	agreed := n.skew.get()
	s.ClockOff, s.ClockAhead = agreed.Skewed, time.Duration(-agreed.Median)
	s.Scrub = Scrub{
		n.scrubber.bytes.Load(), n.scrubber.found.Load(), n.scrubber.repaired.Load(),
		n.scrubber.open.Load() != nil,
	}
	s.FreeBytes, s.Full = n.disk.free.Load(), n.full.Load()
	s.BacklogBytes = n.disk.backlog.Load()
	s.InHandBytes = n.admission.inUse()
	return s, nil
}

func (l *loop) stats() Stats {
	m := l.replica.Machine()
	s := Stats{
		Node: l.n.options.Self.ID, Leader: l.replica.Leader(), Term: l.n.lead.Load().term, Applied: m.Applied(),
		Committed: max(l.replica.Committed(), m.Applied()), Elections: l.elections,
		Topics: m.Topics("", "", hermes.TopicsLimit+1),
	}
	for i, t := range s.Topics {
		s.Topics[i] = l.n.counted(t)
		if s.Leader == s.Node {
			s.Groups = append(s.Groups, l.groups(m, t.Name)...)
		}
	}
	return s
}

// groups are a topic's with what only the leader knows.
func (l *loop) groups(m *core.Machine, topic string) []broker.Group {
	all := m.Groups(topic)
	for i, g := range all {
		if id, _, ok := m.Group(topic, g.Name); ok {
			all[i] = l.n.groups.counted(id, g)
		}
	}
	return all
}

func (g *admission) inUse() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.used
}

// Live tells what is stuck, or why the node ended: a start anew may mend it. nil: nothing. A
// disk that hangs counts after Options.StuckLimit, long after leadership was handed over.
func (n *Node) Live() error {
	if err := n.Err(); err != nil {
		return status.Errorf(status.Unavailable, "the node ended by itself; its log says why")
	}
	now := n.clock.now()
	for _, at := range []struct {
		since int64
		what  string
	}{{n.loop.beat.Load(), "the loop does not turn"}, {n.disk.busy.Load(), "the disk does not finish a write"}} {
		if took := time.Duration(now - at.since); at.since != 0 && took > n.options.StuckLimit {
			return status.Errorf(status.Unavailable, "%s, for %s now", at.what, took.Round(time.Second))
		}
	}
	return nil
}

// Files tells how many files of the log are open, and how many may be to be read.
func (n *Node) Files() (open, limit int) { return n.log.Files() }

// How long a node may take to have applied what was committed when it was asked, and how
// long that answer counts: who asks shows no token, and must not make work for the leader.
const (
	readyWithin = 2 * time.Second
	readyFor    = 500 * time.Millisecond
)

// readiness is the last answer to whether this node keeps up.
type readiness struct {
	mu  sync.Mutex // guards all below, and is held by who asks
	at  time.Time
	err error
}

// unready is the part of [Node.Ready] that is known without asking.
func (n *Node) unready() error {
	if err := n.Live(); err != nil {
		return err
	}
	if err := n.bootstrap.waits(); err != nil {
		return err
	}
	if err := n.apart.err(); err != nil {
		return err
	}
	if err := n.clockOff(); err != nil {
		return err
	}
	if d := n.scrubber.open.Load(); d != nil {
		return status.Errorf(status.Unavailable, "the log is damaged and not repaired yet: %s at byte %d: %s",
			filepath.Base(d.File), d.At, d.Why)
	}
	lead := n.lead.Load()
	switch {
	case n.doubtful.Load():
		return errCopied
	case n.disk.starved.Load():
		return status.Errorf(status.Unavailable, "%s", n.disk.want())
	case lead.stopping:
		return errStopping
	case lead.leader == 0 && n.bootstrap.refusal() != nil:
		return n.bootstrap.refusal()
	case lead.leader == 0:
		return status.Errorf(status.Unavailable, "this node knows no leader")
	case n.full.Load():
		return status.Errorf(status.Unavailable, "the disk is nearly full: %d bytes are free, of which %d stay",
			n.disk.free.Load(), n.options.FreeBytes)
	}
	return nil
}

// Ready tells why this node is not worth sending callers now; nil: it is. It is when there is
// a leader, its disk is not full, it is not stopping, and it has within 2 s all that was
// committed when it was asked. Its answer may be half a second old.
func (n *Node) Ready(ctx context.Context) error {
	if err := n.unready(); err != nil {
		return err
	}
	r := &n.loop.ready
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.at) < readyFor {
		return r.err
	}
	// Not with the caller's context: others receive what he receives.
	asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyWithin)
	defer cancel()
	r.err = n.caughtUp(asking)
	r.at = time.Now()
	if r.err != nil && status.CodeOf(r.err) == status.DeadlineExceeded {
		r.err = status.Errorf(status.Unavailable, "this node is behind: it lacks what was committed %s ago",
			readyWithin)
	}
	return r.err
}
