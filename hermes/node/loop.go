package node

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"wirelab/hermes/broker"
	"wirelab/hermes/recentlog"
	"wirelab/hermes/replica"
	"wirelab/wire/status"
)

const (
	// inboxBytes of Raft's messages wait for the loop; what comes beyond is dropped.
	inboxBytes = 64 << 20
	// backlogBytes handed to the disk and not stored keep the loop from taking more on.
	backlogBytes = 64 << 20
)

// loop is the goroutine that owns the replica and its machine.
type loop struct {
	n       *Node
	replica *replica.Replica
	pending map[uint64]*proposal // by ticket
	time    int64                // of the last entry applied
	ticks   uint64
	runs    []recentlog.Run // room for applied
	// fed is the index of the last entry that was passed to the recent log.
	fed       atomic.Uint64
	retiring  chan struct{} // closed when this node leads no longer; nil: it stays
	moved     time.Time     // when leadership was last handed away for a slow disk
	yielding  yielding
	transfers []transfer
	elections uint64       // that gave a leader, since the start
	beat      atomic.Int64 // when it turned last; 0: it has not begun
	ready     readiness
	parting   error  // why the node is about to end
	partAt    uint64 // the tick at which it does

	wake chan struct{} // one place
	mu   sync.Mutex    // guards all below
	in   inbox
	done bool // the loop has ended: nothing is taken
}

// inbox is what came in since the loop looked.
type inbox struct {
	messages  []*raftpb.Message
	bytes     int // of messages
	proposals []*proposal
	calls     []func(*loop)
	stored    []replica.Work
}

// proposal is something that waits for a verdict.
type proposal struct {
	items    []byte
	count    int
	eventual bool
	bytes    int // of the admission's; 0: none
	ctx      context.Context
	// answer is called by the loop, once for a provisional verdict and once for the final one.
	// It must not block.
	answer   func(replica.Verdict)
	answered bool  // its context ended before
	began    int64 // when the loop took it on, to be timed; 0: it is not
}

func newLoop(n *Node) *loop {
	return &loop{n: n, pending: map[uint64]*proposal{}, wake: make(chan struct{}, 1)}
}

func (l *loop) wakeUp() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// put adds to the inbox; false: the loop has ended.
func (l *loop) put(add func(*inbox)) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done {
		return false
	}
	add(&l.in)
	l.wakeUp()
	return true
}

// call has the loop do something soon; false: it has ended. A loop that ends before it came to it calls do with
// nil, so that no call waits for ever.
func (l *loop) call(do func(*loop)) bool {
	return l.put(func(in *inbox) { in.calls = append(in.calls, do) })
}

// propose has the loop propose; who is too late is answered at once.
func (l *loop) propose(p *proposal) {
	if !l.put(func(in *inbox) { in.proposals = append(in.proposals, p) }) {
		p.finish(l.n, replica.Verdict{Err: errStopping})
	}
}

// step takes a Raft message of another node, if there is room.
func (l *loop) step(m *raftpb.Message) {
	size := proto.Size(m)
	l.put(func(in *inbox) {
		if in.bytes+size <= inboxBytes {
			in.messages = append(in.messages, m)
			in.bytes += size
		}
	})
}

func (l *loop) take() inbox {
	l.mu.Lock()
	defer l.mu.Unlock()
	in := l.in
	l.in = inbox{}
	if l.n.disk.backlog.Load() > backlogBytes {
		// The disk is behind: work under way is finished first. The disk wakes the loop.
		l.in.proposals, in.proposals = in.proposals, nil
	}
	return in
}

func (l *loop) run() {
	tick := time.NewTicker(l.n.options.Tick)
	defer tick.Stop()
	defer l.end()
	defer func() {
		if panicked := recover(); panicked != nil {
			l.n.scrubber.stopOver(panicked)
		}
	}()
	for {
		ticked := false
		select {
		case <-l.wake:
			// Callers whose requests came by one read are all about to run: let them put theirs in first, so that the
			// round is for all. Where none waits to run this is nothing.
			runtime.Gosched()
		case <-tick.C:
			ticked = true
		case <-l.n.stopped:
			return
		}
		l.round(ticked)
	}
}

// round takes in what there is and does what follows of it.
func (l *loop) round(ticked bool) {
	in := l.take()
	for _, m := range in.messages {
		if err := l.replica.Step(m); err != nil && !l.strange(m, err) {
			l.n.logger.Debug("a message of Raft's was refused", "type", m.GetType().String(), "from", m.GetFrom(),
				"why", err)
		}
	}
	for _, w := range in.stored {
		send := l.replica.Stored(w)
		if w.Stores() {
			l.n.standing.Store(new(l.replica.Standing())) // before any caller hears of it
		}
		l.n.net.Send(send)
	}
	for _, do := range in.calls {
		do(l)
	}
	now, stamp := l.n.clock.now(), l.n.clock.stamp()
	for _, p := range in.proposals {
		l.propose1(p, now, stamp)
	}
	if ticked {
		l.tick()
	}
	for l.n.bootstrap.begun.Load() && l.replica.HasWork() {
		w := l.replica.Ready()
		if w.Err != nil {
			l.part(w)
			return
		}
		if err := l.do(w); err != nil {
			l.n.fail(err)
			return
		}
	}
}

func (l *loop) propose1(p *proposal, now, stamp int64) {
	switch {
	case p.ctx.Err() != nil:
		p.finish(l.n, replica.Verdict{Err: status.Public(p.ctx.Err())})
	case l.retiring != nil:
		p.finish(l.n, replica.Verdict{Err: errStopping})
	default:
		p.began = now
		l.pending[l.replica.Propose(p.items, p.count, stamp, p.eventual)] = p
	}
}

// finish answers for good.
func (p *proposal) finish(n *Node, v replica.Verdict) {
	if !p.answered {
		p.answered = true
		p.answer(v)
	}
	n.admission.release(p.bytes)
}

func (l *loop) tick() {
	l.ticks++
	l.beat.Store(l.n.clock.now())
	if l.parting != nil && l.ticks >= l.partAt {
		l.n.fail(l.parting)
	}
	if l.n.bootstrap.begun.Load() {
		l.replica.Tick()
	}
	l.compareClocks()
	l.n.custody.saw(l.replica.Seen())
	l.n.caught.Store(!l.replica.Doubtful())
	// Contexts are looked at here and not each by a separate callback, which would cost every publish for the sake
	// of the few that end early.
	for _, p := range l.pending {
		if err := p.ctx.Err(); err != nil && !p.answered {
			p.answered = true
			p.answer(replica.Verdict{Err: status.Public(err)})
		}
	}
	l.watch()
	l.raise()
	l.retireFrom()
	l.transferred()
}

// watch hands leadership away when the disk hangs or is full, or the clock is off: the others then go on without it.
func (l *loop) watch() {
	l.yield()
	began, full := l.n.disk.syncing.Load(), l.n.disk.starved.Load()
	hangs := began != 0 && time.Duration(l.n.clock.now()-began) > l.n.options.SyncLimit
	skewed, leads := l.n.skew.get().Skewed, l.replica.Leader() == l.n.options.Self.ID
	if (full || hangs || skewed) && leads && time.Since(l.moved) > 10*l.n.options.SyncLimit {
		l.n.logger.Warn("leadership is handed over", "disk full", full, "disk too slow for a sync", hangs, "clock off",
			skewed)
		l.moved = time.Now()
		l.replica.Transfer(0)
	}
}

// retire takes nothing more on; left is closed once another node leads.
func (l *loop) retire(left chan struct{}) {
	l.retiring = left
	l.publishLead()
	l.retireFrom()
}

func (l *loop) retireFrom() {
	if l.retiring == nil {
		return
	}
	if l.replica.Leader() == l.n.options.Self.ID && len(l.replica.Conf().GetVoters()) > 1 {
		l.replica.Transfer(0)
		return
	}
	select {
	case <-l.retiring:
	default:
		close(l.retiring)
	}
}

// do does what the replica wants done.
func (l *loop) do(w replica.Work) error {
	l.n.net.Send(w.Send)
	if w.Snapshot != nil {
		l.installed()
	}
	placed := make([]placedEntry, 0, len(w.Applied))
	for _, a := range w.Applied {
		p, err := l.apply(a)
		if err != nil {
			return err
		}
		placed = append(placed, p)
	}
	if w.Stores() || len(placed) > 0 {
		l.n.disk.put(job{work: w, placed: placed})
	}
	if w.Changed {
		l.changed(w)
	}
	t := l.timing(len(w.Verdicts))
	for _, v := range w.Verdicts {
		t.add(l.verdict(v))
	}
	t.flush()
	return nil
}

// verdict answers; began is when a proposal was taken on that is committed now, or 0.
func (l *loop) verdict(v replica.Verdict) (began int64) {
	p := l.pending[v.Ticket]
	if p == nil {
		return 0
	}
	if v.Provisional {
		if !p.answered {
			p.answered = true
			p.answer(v)
		}
		return 0
	}
	delete(l.pending, v.Ticket)
	p.finish(l.n, v)
	if v.Err != nil {
		return 0
	}
	return p.began
}

// apply tells the rooms what a committed entry changed.
func (l *loop) apply(e replica.Applied) (placedEntry, error) {
	index := e.Entry.GetIndex()
	if e.Entry.GetType() != raftpb.EntryNormal {
		if err := l.n.membership.learn(e.Entry); err != nil {
			return placedEntry{}, err
		}
		return placedEntry{index: index}, nil
	}
	a := applied{runs: l.runs[:0]}
	if err := a.read(e.Entry, e.Outcomes, &l.time); err != nil {
		return placedEntry{}, fmt.Errorf("entry %d: %w", index, err)
	}
	// In this order: who sees a topic's next offset finds everything before it in the recent log or, waiting for
	// the disk to have indexed what was fed, in the log.
	l.fed.Store(index)
	if len(a.runs) > 0 {
		l.n.recent.Append(l.time, a.runs)
	}
	for _, p := range a.placed {
		l.n.topics.advance(p.Topic, p.Offset+uint64(p.Count))
	}
	clear(a.runs)
	l.runs = a.runs
	for _, o := range a.changes {
		if o.Group == 0 { // what groups do leaves their topic as it was
			l.refresh(o.Topic)
			l.n.groups.skip(l.replica.Machine(), o.Topic)
		}
	}
	return placedEntry{index: index, placed: a.placed}, nil
}

// refresh takes a topic's state over from the machine.
func (l *loop) refresh(id uint32) {
	if id == 0 {
		return
	}
	m := l.replica.Machine()
	if t, ok := m.TopicByID(id); ok {
		_, restoring := m.Restore(id)
		l.n.topics.set(t, restoring, false)
		return
	}
	if name, ok := l.n.topics.remove(id); ok {
		err := status.Errorf(status.NotFound, "topic %q was deleted", name)
		l.n.recent.End(id, err)
		l.n.groups.endTopic(id, err)
	}
}

// installed begins anew with a machine that another node sent.
func (l *loop) installed() {
	m := l.replica.Machine()
	l.n.logger.Info("this node was too far behind and starts from another's state", "applied", m.Applied())
	l.time = m.Time()
	l.fed.Store(m.Applied())
	for id, name := range l.n.topics.reset(m) {
		l.n.recent.End(id, status.Errorf(status.NotFound, "topic %q was deleted", name))
	}
}

// changed takes over who leads and who takes part.
func (l *loop) changed(w replica.Work) {
	was := l.n.lead.Load()
	self := l.n.options.Self.ID
	if was.leader != w.Leader || was.term != w.Term {
		l.n.logger.Info("leadership", "leader", w.Leader, "term", w.Term)
		if w.Leader != 0 {
			l.elections++
		}
	}
	l.publishLead()
	if was.leader != w.Leader && was.leader != 0 && was.leader != self {
		l.n.net.Abandon(was.leader, status.Errorf(status.Unavailable, "node %d leads no longer: go on at another",
			was.leader))
	}
	if was.leader == self && (w.Leader != self || was.term != w.Term) {
		l.n.groups.end(status.Errorf(status.Unavailable, "this node leads no longer: subscribe again"))
	}
	l.n.setPeers(l.replica.Conf())
	l.n.apart.keep(func(id uint64) bool { return takesPart(l.replica.Conf(), id) })
	l.retireFrom()
	l.transferred()
	if !takesPart(l.replica.Conf(), self) && l.n.membership.removed(self) {
		l.n.fail(status.Errorf(status.Conflict, "this node, %d, was removed from the cluster; take its directory away "+
			"before it joins again", self))
	}
}

func (l *loop) publishLead() {
	l.n.lead.Store(&lead{leader: l.replica.Leader(), term: l.replica.Status().GetTerm(), stopping: l.retiring != nil})
	l.n.news.tell()
}

// end answers all that waits.
func (l *loop) end() {
	l.mu.Lock()
	l.done = true
	in := l.in
	l.in = inbox{}
	l.mu.Unlock()
	if l.retiring != nil {
		select {
		case <-l.retiring:
		default:
			close(l.retiring)
		}
	}
	l.n.lead.Store(&lead{stopping: true})
	l.n.news.tell()
	for ticket, p := range l.pending {
		delete(l.pending, ticket)
		p.finish(l.n, replica.Verdict{Err: status.Errorf(status.Unavailable,
			"this node stopped before the answer: it may or may not be stored")})
	}
	for _, p := range in.proposals {
		p.finish(l.n, replica.Verdict{Err: errStopping})
	}
	for _, do := range in.calls {
		do(nil)
	}
	for _, t := range l.transfers {
		t.back <- answer[broker.Status]{err: errStopping}
	}
	l.n.recent.Close(errStopping)
	l.n.groups.end(errStopping)
}
