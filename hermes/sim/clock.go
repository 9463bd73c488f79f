package sim

import (
	"time"

	"go.etcd.io/raft/v3/raftpb"

	"wirelab/hermes/clocks"
	"wirelab/hermes/core"
	"wirelab/hermes/record"
)

const (
	begins = 1_700_000_000_000_000_000 // of a world, Unix nanoseconds
	// skewBound is how far a clock may be off; a world lasts for seconds, and a clock is off for minutes at least.
	skewBound = 200 * time.Millisecond
	// ageKept is how long messages are kept that go by their age.
	ageKept = 500 * time.Millisecond
)

// wallClock is a node's machine's clock, and what its process makes of it.
type wallClock struct {
	off    time.Duration // the machine's, ahead of the world's
	since  time.Duration // off, as the process took it over
	right  time.Duration // what the process adds for what it stores
	clocks *clocks.Clocks
	handed time.Duration // when leadership was handed over last
}

// own is what the process takes for the time.
func (n *node) own() int64 { return begins + int64(n.world.now+n.since) }

// time is what the process stores with: Unix nanoseconds.
func (n *node) time() int64 { return n.own() + int64(n.right) }

// beginClock begins a process's clock.
func (n *node) beginClock() {
	n.since, n.right = n.off, 0
	n.clocks = clocks.New(n.id, skewBound)
}

// compare takes a reading of another process's clock, as one takes it that asks over a network.
func (n *node) compare(id uint64, since time.Duration) {
	within := time.Duration(n.world.noise.Int64N(int64(skewBound)))
	ahead := since - n.since + time.Duration(n.world.noise.Int64N(2*int64(within)+1)) - within
	if n.clocks.Tell(id, int64(ahead), int64(within), int64(n.world.now)) {
		n.judgeClocks()
	}
}

// judgeClocks is what a node does with each tick. An honest one, that is.
func (n *node) judgeClocks() {
	if n.world.options.Sabotage == OwnClock {
		return
	}
	now, machine := int64(n.world.now), n.replica.Machine()
	if set := n.off - n.since; n.clocks.Mends(int64(set)) {
		n.since = n.off
	}
	_, is := n.clocks.Judge(n.replica.Conf().GetVoters(), now, machine.Time()-n.own())
	n.right = time.Duration(is.Right())
	n.replica.Yield(is.Skewed)
	if is.Skewed && n.leader == n.id && n.world.now-n.handed > time.Second {
		n.handed = n.world.now
		n.world.trace("node %d, whose clock is %v, hands leadership over", n.id, is)
		n.replica.Transfer(0)
	}
}

// clock sets a machine's clock by up to an hour, or sets right those that are wrong: a majority never is.
func (w *World) clock() {
	voters := w.nodes[:w.options.Nodes]
	for _, n := range voters {
		if n.off != 0 || n.since != 0 {
			w.trace("the clock of node %d is set right", n.id)
			n.off = 0
			return
		}
	}
	n := voters[w.random.IntN(len(voters))]
	n.off = w.between(time.Minute, time.Hour)
	if w.chance(0.5) {
		n.off = -n.off
	}
	w.trace("the clock of node %d is off by %v", n.id, n.off)
	if w.chance(0.5) { // it counts with the next start
		w.stop(n, true)
	}
}

// age gives up messages that are older than the limit, as the leader sees it.
func (w *World) age() {
	id, _ := w.Leader()
	if id == 0 {
		return
	}
	leader := w.nodes[id-1]
	leader.happen(func() {
		is := leader.clocks.State()
		if w.options.Sabotage != OwnClock && (!is.Sure || is.Skewed) {
			return
		}
		topic := w.judge.topics[w.random.IntN(len(w.judge.topics))]
		t, ok := leader.replica.Machine().TopicByID(topic)
		before := uint64(0)
		for _, run := range w.judge.aged(topic, leader.time()-int64(ageKept)) {
			if end := run.offset + uint64(run.count); end <= t.Next {
				before = end
			}
		}
		if ok && before > t.First {
			w.judge.givenUp(topic, t.First, before)
			w.judge.report.Aged++
			leader.replica.Propose(record.AppendCommand(nil, core.Trim(t.ID, before)), 1, leader.time(), false)
		}
	})
}

// clockSlack is the tolerance beyond the bound: what a reading may be wrong by, and a leader that is paused.
const clockSlack = 2 * skewBound

// stamped: the log's time is that of a majority's clocks, and stored data has it.
func (j *judge) stamped(e *raftpb.Entry, time int64, runs []landed) {
	if j.world.options.Nodes < 3 || e.GetType() != raftpb.EntryNormal {
		return
	}
	if ahead := time - begins - int64(j.world.now); ahead > int64(skewBound+clockSlack) {
		j.world.fail("entry %d brings the log's time to %d ns ahead of the clocks of a majority", e.GetIndex(), ahead)
	}
	for _, run := range runs {
		if late := begins + int64(j.begun(run)) - time; late > int64(skewBound+clockSlack) {
			j.world.fail("entry %d has a time that is %d ns before its messages were published", e.GetIndex(), late)
		}
	}
}

// begun is when a run was published first.
func (j *judge) begun(run landed) time.Duration { return j.starts[name{run.client, run.first}] }

// aged are the runs of a topic whose time is before another, oldest first.
func (j *judge) aged(topic uint32, before int64) (runs []landed) {
	for _, e := range j.log {
		if e.time >= before {
			break // the log's time never falls
		}
		for _, run := range e.runs {
			if run.topic == topic {
				runs = append(runs, run)
			}
		}
	}
	return runs
}

// givenUp: no message goes before its age, which began when it was published or later.
func (j *judge) givenUp(topic uint32, first, before uint64) {
	if j.world.options.Nodes < 3 {
		return
	}
	for _, e := range j.log {
		for _, run := range e.runs {
			if run.topic != topic || run.offset < first || run.offset >= before {
				continue
			}
			if age := j.world.now - j.begun(run); age < ageKept-skewBound-clockSlack {
				j.world.fail("message %d of topic %d is given up %v after it was published", run.offset, topic, age)
			}
		}
	}
}
