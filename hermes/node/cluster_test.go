package node_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"wirelab/hermes/broker"
	"wirelab/hermes/broker/brokertest"
	"wirelab/hermes/node"
	"wirelab/hermes/vfs"
	"wirelab/internal/porttest"
	"wirelab/wire/status"
)

// cluster is nodes in this process that talk over TCP on the loopback.
type cluster struct {
	*testing.T
	members []broker.Member

	tick, syncLimit time.Duration
	wait            time.Duration // for a leader; 0: as usual
	moved           bool          // directories are said to have been moved
	tune            func(*node.Options)
	fs              map[uint64]*vfs.Memory
	disks           map[uint64]*slow // over fs
	nodes           map[uint64]*node.Node
	listeners       map[uint64]net.Listener // of nodes that were not begun yet

	mu    sync.Mutex               // guards all below
	ahead map[uint64]time.Duration // of the true time: the nodes' clocks
	cut   map[[2]uint64]bool
	conns map[[2]uint64][]net.Conn
}

// newCluster starts n nodes and waits until all know one leader.
func newCluster(t *testing.T, n int) *cluster {
	t.Helper()
	return newClusterAt(t, n, 10*time.Millisecond, 100*time.Millisecond)
}

// newClusterAt is newCluster at another pace.
func newClusterAt(t *testing.T, n int, tick, syncLimit time.Duration) *cluster {
	t.Helper()
	c := planned(t, n, tick, syncLimit)
	for _, m := range c.members {
		c.begin(m.ID)
	}
	c.settled()
	return c
}

// newClusterOf begins only some of n nodes.
func newClusterOf(t *testing.T, n int, begun ...uint64) *cluster {
	t.Helper()
	c := planned(t, n, 10*time.Millisecond, 100*time.Millisecond)
	for _, id := range begun {
		c.begin(id)
	}
	return c
}

// planned gives n nodes disks and addresses, where they listen already.
func planned(t *testing.T, n int, tick, syncLimit time.Duration) *cluster {
	t.Helper()
	c := &cluster{
		T: t, tick: tick, syncLimit: syncLimit,
		fs: map[uint64]*vfs.Memory{}, disks: map[uint64]*slow{}, nodes: map[uint64]*node.Node{},
		listeners: map[uint64]net.Listener{},
		ahead:     map[uint64]time.Duration{}, cut: map[[2]uint64]bool{}, conns: map[[2]uint64][]net.Conn{},
	}
	for i := range n {
		id := uint64(i + 1)
		c.listeners[id] = c.listen(porttest.Held(t)) // where it listens again after a restart
		c.members = append(c.members, broker.Member{
			ID: id, Name: fmt.Sprint("node-", id),
			Peer: c.listeners[id].Addr().String(),
		})
		c.fs[id], c.disks[id] = c.disk()
	}
	t.Cleanup(func() {
		c.stop()
		for _, l := range c.listeners {
			_ = l.Close()
		}
	})
	return c
}

// begin starts a node as one of those that begin the cluster.
func (c *cluster) begin(id uint64) {
	c.Helper()
	l := c.listeners[id]
	delete(c.listeners, id)
	if l == nil {
		l = c.listen(c.members[id-1].Peer)
	}
	c.start(id, l, c.members, nil)
}

func (c *cluster) disk() (*vfs.Memory, *slow) {
	m := vfs.NewMemory()
	return m, &slow{FS: m}
}

func (c *cluster) listen(address string) net.Listener {
	c.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		c.Fatal(err)
	}
	return l
}

func (c *cluster) start(id uint64, l net.Listener, members []broker.Member, join []string) {
	c.Helper()
	n, err := c.open(id, l, members, join)
	if err != nil {
		c.Fatalf("node %d: %v", id, err)
	}
	c.nodes[id] = n
}

func (c *cluster) open(id uint64, l net.Listener, members []broker.Member, join []string) (*node.Node, error) {
	o := options(c.disks[id])
	o.Tick, o.SyncLimit, o.RecentLogBytes, o.LeaderLimit = c.tick, c.syncLimit, 1<<10, c.wait
	o.Self, o.Members, o.Join, o.Listener = c.members[id-1], slices.Clone(members), join, l
	o.Dial = func(ctx context.Context, to uint64, address string) (net.Conn, error) {
		return c.dial(ctx, id, to, address)
	}
	o.Moved = c.moved
	o.Clock = func() time.Time {
		c.mu.Lock()
		defer c.mu.Unlock()
		return time.Now().Add(c.ahead[id])
	}
	if c.tune != nil {
		c.tune(&o)
	}
	return node.Open(c.Context(), o)
}

// restart starts a node again where it was.
func (c *cluster) restart(id uint64) {
	c.Helper()
	c.start(id, c.listen(c.members[id-1].Peer), c.members[:min(len(c.members), 3)], nil)
}

var errCut = errors.New("the test cut this link")

// dial connects, unless the link is cut.
func (c *cluster) dial(ctx context.Context, from, to uint64, address string) (net.Conn, error) {
	link := [2]uint64{from, to}
	c.mu.Lock()
	cut := c.cut[link]
	c.mu.Unlock()
	if cut {
		return nil, errCut
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err == nil {
		c.mu.Lock()
		c.conns[link] = append(c.conns[link], conn)
		c.mu.Unlock()
	}
	return conn, err
}

// isolate cuts a node from all others, or mends it.
func (c *cluster) isolate(id uint64, cut bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.members {
		for _, link := range [][2]uint64{{id, m.ID}, {m.ID, id}} {
			c.cut[link] = cut
			if !cut {
				continue
			}
			for _, conn := range c.conns[link] {
				_ = conn.Close()
			}
			c.conns[link] = nil
		}
	}
}

func (c *cluster) stop() {
	for id := range c.nodes {
		c.halt(id)
	}
}

// halt stops a node gracefully.
func (c *cluster) halt(id uint64) {
	c.Helper()
	n := c.nodes[id]
	delete(c.nodes, id)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Context()), patience)
	defer cancel()
	_ = n.Close(ctx) // of one whose disk the test took away it tells that
}

// kill takes a node's power: what was not synced is lost, and nothing says goodbye.
func (c *cluster) kill(id uint64) {
	c.Helper()
	c.isolate(id, true)
	c.fs[id].Cut(vfs.Cut{})
	ctx, cancel := context.WithCancel(c.Context())
	cancel()
	_ = c.nodes[id].Close(ctx) // it has no disk to close
	delete(c.nodes, id)
	c.isolate(id, false)
}

// settled waits until all nodes know the same leader, and returns it.
func (c *cluster) settled() uint64 {
	c.Helper()
	var leader uint64
	until(c.T, "one leader", func() bool {
		leader = 0
		for _, n := range c.nodes {
			m, ok := n.Leader()
			if !ok || leader != 0 && m.ID != leader {
				return false
			}
			leader = m.ID
		}
		return c.nodes[leader] != nil
	})
	return leader
}

// follower is a node that does not lead.
func (c *cluster) follower() uint64 {
	leader := c.settled()
	for id := range c.nodes {
		if id != leader {
			return id
		}
	}
	c.Fatal("there is no follower")
	return 0
}

// insist publishes until it is acknowledged, at whichever node, with one sequence.
func (c *cluster) insist(topic string, producer, sequence uint64, payload string) broker.Verdict {
	c.Helper()
	var v broker.Verdict
	until(c.T, "an acknowledgement", func() bool {
		for _, n := range c.nodes {
			ctx, cancel := context.WithTimeout(c.Context(), patience/10)
			v = brokertest.Publish(ctx, n, broker.Run{
				Topic: topic, Messages: brokertest.Messages(payload), Count: 1,
				Producer: producer, Sequence: sequence,
			})
			cancel()
			if v.Err == nil {
				return true
			}
		}
		return false
	})
	return v
}

func TestContractOfThree(t *testing.T) {
	skipShort(t)
	// The contract is not tried under elections: a loaded machine must not cause one.
	c := newClusterAt(t, 3, 50*time.Millisecond, patience)
	brokertest.Run(t, c.nodes[1], c.nodes[2], c.nodes[3])
}

// TestLeaderKilled: nothing acknowledged is lost or moved, nothing is stored twice. (hb-D05, hb-D08, hb-D10)
func TestLeaderKilled(t *testing.T) {
	c := newCluster(t, 3)
	create(t, c.nodes[c.settled()], broker.Topic{Name: "a"})
	producer, err := c.nodes[c.settled()].OpenProducer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for round := range 3 {
		for range 20 {
			p := fmt.Sprint(len(want))
			v := c.insist("a", producer, uint64(len(want)+1), p)
			want = append(want, fmt.Sprintf("%d:%s", v.Offset, p))
		}
		dead := c.settled()
		c.kill(dead)
		for range 20 {
			p := fmt.Sprint(len(want))
			v := c.insist("a", producer, uint64(len(want)+1), p)
			want = append(want, fmt.Sprintf("%d:%s", v.Offset, p))
		}
		c.restart(dead)
		c.settled()
		for id, n := range c.nodes {
			if got := history(t, n, "a", len(want)); !slices.Equal(got, want) {
				t.Fatalf("round %d: node %d has %v", round, id, got)
			}
		}
	}
	s, err := c.nodes[c.settled()].Topic(t.Context(), "a", true)
	if err != nil || s.Next != uint64(len(want)) {
		t.Errorf("%d messages were acknowledged, the topic has %+v, %v", len(want), s, err)
	}
}

// TestPartition: a leader that is cut off acknowledges nothing more; the others go on;
// afterwards all agree. (hb-D20, hb-D21)
func TestPartition(t *testing.T) {
	c := newCluster(t, 3)
	old := c.settled()
	create(t, c.nodes[old], broker.Topic{Name: "a"})
	publish(t, c.nodes[old], "a", "0")
	f, err := c.nodes[old].Subscribe(t.Context(), broker.Start{Topic: "a", From: broker.FromGroup, Group: "g"})
	if err != nil {
		t.Fatal(err)
	}
	next(t, f, 1)
	c.isolate(old, true)
	v := brokertest.Publish(t.Context(), c.nodes[old], broker.Run{
		Topic: "a", Messages: brokertest.Messages("lost"),
		Count: 1,
	})
	if v.Err == nil || status.CodeOf(v.Err) != status.Unavailable {
		t.Fatalf("a leader without followers said %+v", v)
	}
	if _, err := f.Next(t.Context(), broker.Room{Bytes: 1}); err == nil || status.CodeOf(err) != status.Unavailable {
		t.Errorf("a member's feed at it: %v", err)
	}
	var other *node.Node
	for id, n := range c.nodes {
		if id != old {
			other = n
		}
	}
	until(t, "another leader", func() bool {
		m, ok := other.Leader()
		return ok && m.ID != old
	})
	publish(t, other, "a", "1")
	c.isolate(old, false)
	c.settled()
	for id, n := range c.nodes {
		if got := history(t, n, "a", 2); !slices.Equal(got, []string{"0:0", "1:1"}) {
			t.Errorf("node %d has %v", id, got)
		}
	}
	f, err = c.nodes[old].Subscribe(t.Context(), broker.Start{Topic: "a", From: broker.FromGroup, Group: "g"})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got := next(t, f, 2); !slices.Equal(got, []string{"0:0", "1:1"}) {
		t.Errorf("the group's messages that were not acknowledged: %v", got)
	}
}

// TestAllKilled: a power cut of all nodes loses nothing that was acknowledged. (hb-D05)
func TestAllKilled(t *testing.T) {
	c := newCluster(t, 3)
	create(t, c.nodes[c.settled()], broker.Topic{Name: "a"})
	var want []string
	producer, err := c.nodes[c.settled()].OpenProducer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		c.insist("a", producer, uint64(i+1), fmt.Sprint(i))
		want = append(want, fmt.Sprintf("%d:%d", i, i))
	}
	for id := range c.fs {
		c.kill(id)
	}
	for id := range c.fs {
		c.restart(id)
	}
	c.settled()
	for id, n := range c.nodes {
		if got := history(t, n, "a", 50); !slices.Equal(got, want) {
			t.Errorf("node %d has %v", id, got)
		}
	}
}

// TestGracefulStop: leadership moves away first, so that no client waits for an election. (hb-D31)
func TestGracefulStop(t *testing.T) {
	c := newCluster(t, 3)
	old := c.settled()
	create(t, c.nodes[old], broker.Topic{Name: "a"})
	before, err := c.nodes[old].Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c.halt(old)
	c.settled()
	after, err := c.nodes[c.settled()].Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if after.Leader == old || after.Term != before.Term+1 {
		t.Errorf("before %+v, after %+v", before, after)
	}
	publish(t, c.nodes[after.Leader], "a", "x")
}

// TestMembership: a node joins as a learner, becomes a voter, leads, and is removed. (hb-D24)
func TestMembership(t *testing.T) {
	skipShort(t)
	c := newCluster(t, 3)
	create(t, c.nodes[1], broker.Topic{Name: "a"})
	publish(t, c.nodes[1], "a", "0", "1")
	l := c.listen("127.0.0.1:0")
	c.members = append(c.members, broker.Member{ID: 4, Name: "node-4", Peer: l.Addr().String()})
	c.fs[4], c.disks[4] = c.disk()
	c.start(4, l, nil, []string{c.members[c.follower()-1].Peer})
	cluster := func() broker.Status {
		s, err := c.nodes[1].Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	until(t, "a fourth voter", func() bool {
		s := cluster()
		return len(s.Members) == 4 && !s.Members[3].Learner && s.Members[3].Name == "node-4"
	})
	if got := history(t, c.nodes[4], "a", 2); !slices.Equal(got, []string{"0:0", "1:1"}) {
		t.Errorf("the new node has %v", got)
	}
	if _, err := c.nodes[2].Join(t.Context(),
		broker.Member{ID: 4, Name: "impostor", Peer: "127.0.0.1:9"}); err == nil ||
		status.CodeOf(err) != status.Conflict {
		t.Errorf("another node of the same id: %v", err)
	}
	blank := broker.Member{ID: 2, Name: "node-2", Peer: c.members[1].Peer, Learner: true}
	if _, err := c.nodes[1].Join(t.Context(), blank); err == nil || status.CodeOf(err) != status.Conflict {
		t.Errorf("a voter that lost its log: %v", err)
	}
	until(t, "leadership of the fourth", func() bool {
		_, err := c.nodes[2].TransferLeadership(t.Context(), 4)
		return err == nil && c.settled() == 4
	})
	publish(t, c.nodes[1], "a", "2")
	until(t, "removal", func() bool {
		_, err := c.nodes[2].Remove(t.Context(), 4)
		return err == nil
	})
	until(t, "three members", func() bool { return len(cluster().Members) == 3 })
	until(t, "removal once more, which was not answered the first time", func() bool {
		s, err := c.nodes[3].Remove(t.Context(), 4)
		if err != nil && status.CodeOf(err) != status.Unavailable { // another one is to lead first
			t.Fatal(err)
		}
		return err == nil && len(s.Members) == 3
	})
	if _, err := c.nodes[3].Remove(t.Context(), 99); status.CodeOf(err) != status.NotFound {
		t.Errorf("removal of a member that never was: %v", err)
	}
	select {
	case <-c.nodes[4].Failed():
		if err := c.nodes[4].Err(); status.CodeOf(err) != status.Conflict {
			t.Errorf("the removed node ended with %v", err)
		}
	case <-t.Context().Done():
	}
	c.halt(4)
	c.settled()
	publish(t, c.nodes[1], "a", "3")
}
