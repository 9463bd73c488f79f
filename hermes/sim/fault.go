package sim

import (
	"time"

	"go.etcd.io/raft/v3/raftpb"

	"wirelab/hermes/core"
	"wirelab/hermes/record"
)

// Faults say how often, relative to each other, each fault is drawn. The zero value has none.
type Faults struct {
	Kill      int // a process ends; it starts again after a while
	PowerCut  int // likewise, and what its disk had not synced is lost
	Blackout  int // all nodes lose power
	Pause     int // a process stands still
	Partition int // nodes are cut into two sides
	OneWay    int // a node hears and is not heard, or the other way round
	Flap      int // connections break and stand again
	SlowDisk  int
	Lossy     int // the network loses or delays more than usual
	Clock     int // a machine's clock is set by up to an hour, or set right
	Transfer  int // leadership is handed over
	Compact   int // a node drops the beginning of its log
	Trim      int // the beginning of a topic is given up
	Spoil     int // a disk fails, and the node stops
	Member    int // a spare node joins, is promoted or is removed
	Age       int // messages that are older than the limit are given up
	Restore   int // a disk is copied, or put back to an older copy of it
}

// AllFaults draws each of them.
func AllFaults() Faults {
	return Faults{
		Kill: 4, PowerCut: 3, Blackout: 1, Pause: 3, Partition: 4, OneWay: 3, Flap: 3, SlowDisk: 2, Lossy: 2,
		Clock: 2, Transfer: 1, Compact: 3, Trim: 4, Age: 4, Spoil: 1, Member: 2, Restore: 2,
	}
}

// planFault draws a fault, and plans the next.
func (w *World) planFault() {
	f := w.options.Faults
	draw := []struct {
		weight int
		do     func()
	}{
		{f.Kill, func() { w.stop(w.any(), true) }},
		{f.PowerCut, func() { w.stop(w.any(), false) }},
		{f.Blackout, w.blackout},
		{f.Pause, func() { w.any().pause(w.between(50*time.Millisecond, 2*time.Second)) }},
		{f.Partition, w.partition},
		{f.OneWay, w.oneWay},
		{f.Flap, func() { w.network.flap(w.pair()) }},
		{f.SlowDisk, w.slowDisk},
		{f.Lossy, w.lossy},
		{f.Clock, w.clock},
		{f.Transfer, w.transfer},
		{f.Compact, func() { w.any().compact() }},
		{f.Trim, w.trim},
		{f.Spoil, func() { w.any().spoil() }},
		{f.Member, w.member},
		{f.Age, w.age},
		{f.Restore, w.restore},
	}
	total := 0
	for _, d := range draw {
		total += d.weight
	}
	if total == 0 {
		return
	}
	w.after(w.between(0, 2*w.options.Every), func() {
		if !w.faulty {
			return
		}
		at := w.random.IntN(total)
		for _, d := range draw {
			if at -= d.weight; at < 0 {
				d.do()
				break
			}
		}
		w.planFault()
	})
}

// any is a node, more often than not the leader.
func (w *World) any() *node {
	if id, _ := w.Leader(); id != 0 && w.chance(0.4) {
		return w.nodes[id-1]
	}
	return w.nodes[w.random.IntN(w.options.Nodes)]
}

func (w *World) pair() (a, b uint64) {
	a = w.any().id
	for b = a; b == a; {
		b = 1 + w.random.Uint64N(uint64(len(w.nodes)))
	}
	return a, b
}

func (w *World) stop(n *node, power bool) {
	if n.replica == nil {
		return
	}
	n.stop(power)
	w.restart(n, w.between(0, 1500*time.Millisecond))
}

func (w *World) restart(n *node, d time.Duration) {
	life := n.life
	w.after(d, func() {
		if n.life == life {
			n.start()
		}
	})
}

func (w *World) blackout() {
	w.trace("blackout")
	for _, n := range w.nodes {
		if n.replica == nil {
			n.disk.crash(true)
			continue
		}
		n.stop(false)
		w.restart(n, w.between(0, 1500*time.Millisecond))
	}
}

func (w *World) partition() {
	side := make([]bool, len(w.nodes)+1)
	for i := range side {
		side[i] = w.chance(0.5)
	}
	w.trace("partition %v", side[1:])
	for a := 1; a < len(side); a++ {
		for b := 1; b < len(side); b++ {
			if side[a] != side[b] {
				w.cutFor(uint64(a), uint64(b), w.between(100*time.Millisecond, 2*time.Second))
			}
		}
	}
}

func (w *World) oneWay() {
	n := w.any().id
	in := w.chance(0.5)
	w.trace("node %d is cut one way, in %v", n, in)
	d := w.between(100*time.Millisecond, 2*time.Second)
	for _, other := range w.nodes {
		switch {
		case other.id == n:
		case in:
			w.cutFor(other.id, n, d)
		default:
			w.cutFor(n, other.id, d)
		}
	}
}

func (w *World) cutFor(from, to uint64, d time.Duration) {
	w.network.cutOff(from, to, true)
	w.after(d, func() { w.network.cutOff(from, to, false) })
}

func (w *World) slowDisk() {
	n := w.any()
	n.slow = w.between(10*time.Millisecond, 150*time.Millisecond)
	w.trace("node %d syncs in %v", n.id, n.slow)
	w.after(w.between(200*time.Millisecond, 2*time.Second), func() { n.slow = 0 })
}

func (w *World) lossy() {
	w.network.loss, w.network.slow = w.random.Float64()/2, w.between(0, 30*time.Millisecond)
	w.after(w.between(100*time.Millisecond, time.Second), func() { w.network.loss, w.network.slow = w.options.Loss, 0 })
}

func (w *World) transfer() {
	if id, _ := w.Leader(); id != 0 {
		w.trace("leadership of %d is handed over", id)
		w.nodes[id-1].happen(func() { w.nodes[id-1].replica.Transfer(uint64(w.random.IntN(len(w.nodes) + 1))) })
	}
}

// trim gives up the beginning of a topic, as retention does.
func (w *World) trim() {
	id, _ := w.Leader()
	if id == 0 {
		return
	}
	leader := w.nodes[id-1]
	leader.happen(func() {
		t, ok := leader.replica.Machine().TopicByID(w.judge.topics[w.random.IntN(len(w.judge.topics))])
		if ok && t.Next > t.First {
			items := record.AppendCommand(nil, core.Trim(t.ID, t.First+w.random.Uint64N(t.Next-t.First+1)))
			leader.replica.Propose(items, 1, leader.time(), false)
		}
	})
}

// member changes who takes part: spare nodes come as learners, are promoted, and go.
func (w *World) member() {
	id, _ := w.Leader()
	if id == 0 || w.options.Spare == 0 {
		return
	}
	leader := w.nodes[id-1]
	spare := w.nodes[w.options.Nodes+w.random.IntN(w.options.Spare)]
	leader.happen(func() {
		p, member := leader.replica.Status().Progress[spare.id]
		kind := raftpb.ConfChangeAddLearnerNode
		switch {
		case member && p.IsLearner && p.Match+10 > leader.replica.Committed():
			kind = raftpb.ConfChangeAddNode
		case member && w.chance(0.5):
			kind = raftpb.ConfChangeRemoveNode
		case member:
			return
		}
		w.trace("%s %d", kind, spare.id)
		leader.replica.ProposeChange(&raftpb.ConfChange{Type: kind.Enum(), NodeId: &spare.id})
		spare.start()
	})
}

// heal ends all faults and starts each node that is down.
func (w *World) heal() {
	w.trace("heal")
	w.network.heal()
	for _, n := range w.nodes {
		n.slow, n.off = 0, 0
		if n.replica == nil && n.life > 0 {
			n.start() // unless it was refused
		}
		if n.replica != nil && n.paused > w.now {
			n.paused = w.now // what stalled happens when the pause would have ended
		}
	}
}

// members are the nodes that take part, by what the leader knows.
func (w *World) members() (all []*node) {
	id, _ := w.Leader()
	if id == 0 {
		return nil
	}
	conf := w.nodes[id-1].replica.Conf()
	for _, set := range [][]uint64{conf.GetVoters(), conf.GetLearners()} {
		for _, member := range set {
			if n := w.nodes[member-1]; !n.refused {
				all = append(all, n)
			}
		}
	}
	return all
}

// agreed reports whether all members have applied all there is.
func (w *World) agreed() bool {
	members := w.members()
	for _, n := range members {
		if n.replica == nil || n.replica.Machine().Applied() != uint64(len(w.judge.log)) || n.busy ||
			len(n.waiting) > 0 {
			return false
		}
	}
	return len(members) > 0
}
