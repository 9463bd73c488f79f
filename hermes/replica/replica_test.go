package replica_test

import (
	"errors"
	"fmt"
	"testing"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"wirelab/hermes"
	"wirelab/hermes/core"
	"wirelab/hermes/record"
	"wirelab/hermes/replica"
)

// node is a replica with a log in memory that is stored when the test says so.
type node struct {
	*replica.Replica
	id       uint64
	storage  *raft.MemoryStorage
	late     []replica.Work // not stored yet
	hold     bool           // Works wait in late
	verdicts []replica.Verdict
	applied  []uint64
	leader   uint64
	err      error
}

// cluster is nodes on a network that loses nothing but cut links.
type cluster struct {
	t     testing.TB
	nodes map[uint64]*node
	order []uint64
	cut   map[uint64]bool // nodes that no node hears and that hear none
	mail  []*raftpb.Message
	lose  func(*raftpb.Message) bool
	// ends: a node may stop. refused are the errors of Step about others' logs.
	ends    bool
	refused []*replica.Diverged
}

func members(n int) (all []raft.Peer) {
	for id := 1; id <= n; id++ {
		all = append(all, raft.Peer{ID: uint64(id)})
	}
	return all
}

func start(t testing.TB, n int) *cluster {
	t.Helper()
	c := &cluster{t: t, nodes: map[uint64]*node{}, cut: map[uint64]bool{}}
	for id := uint64(1); id <= uint64(n); id++ {
		c.add(id, replica.Options{Members: members(n)})
	}
	return c
}

func (c *cluster) add(id uint64, o replica.Options) *node {
	c.t.Helper()
	n := &node{id: id, storage: raft.NewMemoryStorage()}
	o.ID, o.Seed = id, id
	r, err := replica.New(o, n.storage, core.New(), 0)
	if err != nil {
		c.t.Fatal(err)
	}
	n.Replica = r
	c.nodes[id] = n
	c.order = append(c.order, id)
	return n
}

// restart begins a node anew from its log, as Open of a log would: the machine is made of committed entries.
func (c *cluster) restart(id uint64, seed uint64) *node {
	c.t.Helper()
	return c.restartWith(id, replica.Options{Seed: seed})
}

func (c *cluster) restartWith(id uint64, o replica.Options) *node {
	c.t.Helper()
	old := c.nodes[id]
	n := &node{id: id, storage: old.storage}
	machine, conf := core.New(), &raftpb.ConfState{}
	state, _, err := n.storage.InitialState()
	must(c.t, err)
	if commit := state.GetCommit(); commit > 0 {
		entries, err := n.storage.Entries(1, commit+1, 1<<30)
		must(c.t, err)
		for _, e := range entries {
			_, err := replica.Apply(machine, e)
			must(c.t, err)
			conf, err = replica.Change(conf, e)
			must(c.t, err)
		}
	}
	o.ID, o.Conf = id, conf
	r, err := replica.New(o, n.storage, machine, machine.Applied())
	must(c.t, err)
	n.Replica = r
	c.nodes[id] = n
	return n
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (c *cluster) send(from uint64, messages []*raftpb.Message) {
	for _, m := range messages {
		if !c.cut[from] && !c.cut[m.GetTo()] && (c.lose == nil || !c.lose(m)) {
			c.mail = append(c.mail, m)
		}
	}
}

// work does what a node asks for, but for what it holds back.
func (c *cluster) work(n *node) {
	for n.HasWork() && n.err == nil {
		w := n.Ready()
		if n.err = w.Err; n.err != nil {
			c.send(n.id, w.Send)
			return
		}
		n.verdicts = append(n.verdicts, w.Verdicts...)
		for _, a := range w.Applied {
			n.applied = append(n.applied, a.Entry.GetIndex())
		}
		n.leader = w.Leader
		c.send(n.id, w.Send)
		if w.Stores() {
			n.late = append(n.late, w)
		}
		if !n.hold {
			c.store(n)
		}
	}
}

// store puts a node's Works on its disk.
func (c *cluster) store(n *node) {
	late := n.late
	n.late = nil
	for _, w := range late {
		if w.Snapshot != nil {
			must(c.t, n.storage.ApplySnapshot(w.Snapshot))
		}
		must(c.t, n.storage.Append(w.Append))
		if w.State != nil {
			must(c.t, n.storage.SetHardState(w.State))
		}
		c.send(n.id, n.Stored(w))
	}
}

// settle delivers until nothing moves.
func (c *cluster) settle() {
	c.t.Helper()
	for range 10_000 {
		for _, id := range c.order {
			if c.work(c.nodes[id]); c.nodes[id].err != nil && !c.ends {
				c.t.Fatal(c.nodes[id].err)
			}
		}
		if len(c.mail) == 0 {
			return
		}
		m := c.mail[0]
		c.mail = c.mail[1:]
		if n := c.nodes[m.GetTo()]; n != nil && !c.cut[n.id] {
			var other *replica.Diverged
			if errors.As(n.Step(m), &other) {
				c.refused = append(c.refused, other)
			}
		}
	}
	c.t.Fatal("the cluster does not come to rest")
}

func (c *cluster) tick(n int) {
	for range n {
		for _, id := range c.order {
			c.nodes[id].Tick()
		}
		c.settle()
	}
}

// elect lets a node lead, and makes a topic with id 2.
func (c *cluster) elect(id uint64) *node {
	c.t.Helper()
	for range 100 {
		c.nodes[id].Tick()
		c.settle()
		if c.nodes[id].leader == id {
			break
		}
	}
	if c.nodes[id].leader != id {
		c.t.Fatalf("node %d was not elected", id)
	}
	return c.nodes[id]
}

// items are a run of one message for the topic of dead letters, which is always there.
func items(text string) []byte {
	return record.AppendRun(nil, record.Run{
		Topic: 1, Count: 1, Messages: record.AppendMessage(nil, &hermes.Message{Payload: []byte(text)}),
	})
}

// of are the verdicts of a ticket.
func (n *node) of(ticket uint64) (all []replica.Verdict) {
	for _, v := range n.verdicts {
		if v.Ticket == ticket {
			all = append(all, v)
		}
	}
	return all
}

// one is the verdict of a ticket that has one.
func (n *node) one(t *testing.T, ticket uint64) replica.Verdict {
	t.Helper()
	all := n.of(ticket)
	if len(all) != 1 {
		t.Fatalf("ticket %d has the verdicts %s", ticket, fmt.Sprint(all))
	}
	return all[0]
}

// tell lets a node hear that a peer refuses connections.
func (c *cluster) tell(id, broken uint64) {
	c.nodes[id].Broken(broken)
	c.settle()
}
