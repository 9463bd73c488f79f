package peer_test

import (
	"context"
	"log/slog"
	"net"
	"testing"
	"time"

	"go.etcd.io/raft/v3/raftpb"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"wirelab/hermes/broker"
	"wirelab/hermes/broker/brokertest"
	"wirelab/hermes/peer"
	"wirelab/hermes/peer/peertest"
	"wirelab/internal/leaktest"
	"wirelab/internal/porttest"
	"wirelab/wire/status"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(leaktest.Patient(m)) }

// patience is how long anything here may take before it is taken to hang.
const patience = time.Minute

// node is a Handler that keeps what it receives.
type node struct {
	*peer.Transport
	steps       chan *raftpb.Message
	broken      chan uint64
	unreachable chan uint64
	snapshots   chan bool
}

func (n *node) Step(m *raftpb.Message)         { n.steps <- m }
func (n *node) Broken(id uint64)               { offer(n.broken, id) }
func (n *node) Unreachable(id uint64)          { offer(n.unreachable, id) }
func (n *node) SnapshotSent(_ uint64, ok bool) { n.snapshots <- ok }

func offer(to chan uint64, id uint64) {
	select {
	case to <- id:
	default: // the test looks for the first
	}
}

// start starts a node of cluster "test".
func start(t *testing.T, id uint64, local broker.Broker, change ...func(*peer.Options)) *node {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o := peer.Options{
		Cluster: "test", IdentityCheck: peer.IdentityCheck{Knows: 1}, ID: id, Listener: listener,
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
	for _, c := range change {
		c(&o)
	}
	transport, err := peer.New(o)
	if err != nil {
		t.Fatal(err)
	}
	n := &node{
		Transport: transport, steps: make(chan *raftpb.Message, 100_000),
		broken: make(chan uint64, 1), unreachable: make(chan uint64, 1), snapshots: make(chan bool, 100),
	}
	n.Start(n, local)
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	return n
}

// meet tells two nodes of each other.
func meet(a *node, idA uint64, b *node, idB uint64) {
	a.SetPeer(idB, b.Addr().String())
	b.SetPeer(idA, a.Addr().String())
}

func message(kind raftpb.MessageType, from, to, index uint64, data int) *raftpb.Message {
	m := &raftpb.Message{Type: kind.Enum(), From: &from, To: &to, Index: &index}
	if data > 0 {
		m.Entries = []*raftpb.Entry{{Index: &index, Data: make([]byte, data)}}
	}
	return m
}

func receive[T any](t *testing.T, from <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.NewTimer(patience).C:
		t.Fatalf("%s did not come", what)
		panic("unreachable")
	}
}

// reach waits for a connection.
func reach(t *testing.T, n *node, id uint64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		_, err := n.Broker(id).Status(ctx)
		if err == nil {
			return
		}
		if status.CodeOf(err) != status.Unavailable || ctx.Err() != nil {
			t.Fatalf("node %d is not reached: %v", id, err)
		}
	}
}

// remote is a node as another sees it, with a leader as the suite wants to know one.
type remote struct {
	broker.Broker
	memory *brokertest.InMemory
}

func (r remote) Leader() (broker.Member, bool) { return r.memory.Leader() }

// Cut: no node asks another for it.
func (r remote) Cut(ctx context.Context, topics []string) (broker.Cut, error) {
	return r.memory.Cut(ctx, topics)
}

func memory(t *testing.T) *brokertest.InMemory {
	m := brokertest.Memory()
	t.Cleanup(m.Close)
	return m
}

// A broker behind a connection keeps the contract as the same one without does; requests made here are done
// there in the order it was asked.
func TestBrokerAtAnotherNode(t *testing.T) {
	m := memory(t)
	b := start(t, 2, m)
	a := start(t, 1, memory(t))
	meet(a, 1, b, 2)
	brokertest.Run(t, remote{a.Broker(2), m}, m)
}

func TestRaftMessagesKeepTheirOrder(t *testing.T) {
	a, b := start(t, 1, nil), start(t, 2, memory(t))
	meet(a, 1, b, 2)
	reach(t, a, 2)
	const n = 2000
	for i := range uint64(n) {
		size := 100
		if i%100 == 0 {
			size = 300_000 // several fragments
		}
		a.Send([]*raftpb.Message{message(raftpb.MsgApp, 1, 2, i, size)})
	}
	for i := range uint64(n) {
		if m := receive(t, b.steps, "a message"); m.GetIndex() != i {
			t.Fatalf("message %d came where %d was due", m.GetIndex(), i)
		}
	}
}

// A snapshot in many fragments neither delays what comes behind it nor is mixed with it.
func TestSnapshotBesideHeartbeats(t *testing.T) {
	a, b := start(t, 1, nil), start(t, 2, memory(t))
	meet(a, 1, b, 2)
	reach(t, a, 2)
	snapshot := message(raftpb.MsgSnap, 1, 2, 7, 0)
	snapshot.Snapshot = &raftpb.Snapshot{Data: make([]byte, 32<<20)}
	for i := range snapshot.Snapshot.Data {
		snapshot.Snapshot.Data[i] = byte(i >> 8)
	}
	a.Send([]*raftpb.Message{snapshot, message(raftpb.MsgHeartbeat, 1, 2, 0, 0)})
	if m := receive(t, b.steps, "the heartbeat"); m.GetType() != raftpb.MsgHeartbeat {
		t.Fatalf("%v came before the heartbeat", m.GetType())
	}
	if m := receive(t, b.steps, "the snapshot"); !proto.Equal(m, snapshot) {
		t.Fatal("the snapshot is another than was sent")
	}
	if !receive(t, a.snapshots, "word of the snapshot") {
		t.Fatal("a snapshot that arrived is reported as lost")
	}
}

func TestMessagesThatDoNotFitAreToldAsLost(t *testing.T) {
	network := peertest.New()
	patient := func(o *peer.Options) { // the queue alone is to tell
		o.Dial, o.QueueBytes, o.Silence = network.Dialer(o.ID), 1000, time.Hour
	}
	a, b := start(t, 1, nil, patient), start(t, 2, memory(t), patient)
	meet(a, 1, b, 2)
	reach(t, a, 2)
	network.Cut(1, 2)
	for i := range uint64(20) {
		a.Send([]*raftpb.Message{message(raftpb.MsgApp, 1, 2, i, 500)})
	}
	if id := receive(t, a.unreachable, "word of what was lost"); id != 2 {
		t.Fatalf("node %d is reported as unreachable", id)
	}
	network.Heal(1, 2)
}

// A snapshot that cannot be sent is reported, or Raft would wait for it for ever.
func TestSnapshotToNobody(t *testing.T) {
	a := start(t, 1, nil)
	a.SetPeer(2, "127.0.0.1:1")
	a.Send([]*raftpb.Message{message(raftpb.MsgSnap, 1, 2, 7, 0)})
	if receive(t, a.snapshots, "word of the snapshot") {
		t.Fatal("a snapshot to no one is reported as sent")
	}
}

func TestRefusedIsToldAtOnce(t *testing.T) {
	a, b := start(t, 1, memory(t)), start(t, 2, memory(t))
	meet(a, 1, b, 2)
	reach(t, a, 2)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if id := receive(t, a.broken, "word of the broken connection"); id != 2 {
		t.Fatalf("node %d is reported as broken", id)
	}
	if a.Reached(2) {
		t.Fatal("a node that refuses is reported as reached")
	}
}

// A connection that breaks while its node lives is no reason to depose a leader.
func TestReconnectedIsNotTold(t *testing.T) {
	sockets := make(chan net.Conn, 10)
	a := start(t, 1, memory(t), func(o *peer.Options) {
		o.Dial = func(ctx context.Context, _ uint64, address string) (net.Conn, error) {
			c, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
			if err == nil {
				sockets <- c
			}
			return c, err
		}
	})
	b := start(t, 2, memory(t))
	meet(a, 1, b, 2)
	reach(t, a, 2)
	receive(t, sockets, "a connection").Close()
	receive(t, sockets, "another connection")
	reach(t, a, 2)
	select {
	case <-a.broken:
		t.Fatal("a node that lives is reported as broken")
	default:
	}
}

// An end that hears nothing gives the connection up, as after a pulled cable, and
// makes another once the cable is back.
func TestSilenceEndsAConnection(t *testing.T) {
	network := peertest.New()
	quick := func(o *peer.Options) { o.Dial, o.Silence = network.Dialer(o.ID), 200*time.Millisecond }
	a, b := start(t, 1, memory(t), quick), start(t, 2, memory(t), quick)
	meet(a, 1, b, 2)
	reach(t, a, 2)
	network.Isolate(1, 2)
	if _, err := a.Broker(2).Status(t.Context()); status.CodeOf(err) != status.Unavailable {
		t.Fatalf("a call to a node that is cut off ends with %v", err)
	}
	network.Rejoin(1, 2)
	reach(t, a, 2)
}

// A node that is started again is dialled as soon as it dials.
func TestPeerThatComesBack(t *testing.T) {
	a := start(t, 1, memory(t))
	address := porttest.Held(t)
	there := func(o *peer.Options) {
		o.Listener.Close()
		var err error
		if o.Listener, err = net.Listen("tcp", address); err != nil {
			t.Fatal(err)
		}
	}
	b := start(t, 2, memory(t), there)
	meet(a, 1, b, 2)
	reach(t, a, 2)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	receive(t, a.broken, "word of the broken connection")
	b = start(t, 2, memory(t), there)
	b.SetPeer(1, a.Addr().String())
	reach(t, a, 2)
	reach(t, b, 1)
}

func TestSetPeerChangesAndForgets(t *testing.T) {
	a := start(t, 1, memory(t))
	b, c := start(t, 2, memory(t)), start(t, 2, memory(t))
	a.SetPeer(2, b.Addr().String())
	reach(t, a, 2)
	if _, err := b.Broker(1).Status(t.Context()); status.CodeOf(err) != status.Unavailable {
		t.Fatalf("a node without an address is asked all the same: %v", err)
	}
	a.SetPeer(2, c.Addr().String())
	reach(t, a, 2)
	a.SetPeer(2, "")
	if _, err := a.Broker(2).Status(t.Context()); status.CodeOf(err) != status.Unavailable {
		t.Fatalf("a node that was forgotten is asked all the same: %v", err)
	}
}
