package node_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"wirelab/hermes/broker"
	"wirelab/hermes/broker/brokertest"
	"wirelab/hermes/vfs"
	"wirelab/wire/status"
)

// slow is a file system whose syncs can be held up.
type slow struct {
	vfs.FS
	mu    sync.Mutex
	held  chan struct{} // syncs wait until it is closed; nil: they do not
	waits atomic.Int64  // syncs that are held up
	lies  atomic.Bool   // it reports room that does not exist
	blind atomic.Bool   // it does not know when files were made
}

func (s *slow) Created(name string) (string, error) {
	if s.blind.Load() {
		return "", errors.ErrUnsupported
	}
	return s.FS.(vfs.Dater).Created(name)
}

func (s *slow) Free(dir string) (uint64, error) {
	if s.lies.Load() {
		return 1 << 62, nil
	}
	return s.FS.Free(dir)
}

// hold holds syncs up until held is closed.
func (s *slow) hold(held chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = held
}

type slowFile struct {
	vfs.File
	fs *slow
}

func (s *slow) Create(name string, size int64) (vfs.File, error) {
	f, err := s.FS.Create(name, size)
	return slowFile{f, s}, err
}

func (s *slow) Open(name string) (vfs.File, error) {
	f, err := s.FS.Open(name)
	return slowFile{f, s}, err
}

func (f slowFile) Sync() error {
	f.fs.mu.Lock()
	held := f.fs.held
	f.fs.mu.Unlock()
	if held != nil {
		f.fs.waits.Add(1)
		defer f.fs.waits.Add(-1)
		<-held
	}
	return f.File.Sync()
}

// TestWatchdog: a leader whose disk hangs hands its leadership over, and until then what a quorum of the others
// has is acknowledged and delivered.
func TestWatchdog(t *testing.T) {
	skipShort(t)
	c := newCluster(t, 3)
	old := c.settled()
	create(t, c.nodes[old], broker.Topic{Name: "a"})
	f, err := c.nodes[old].Subscribe(t.Context(), broker.Start{Topic: "a"})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	held := make(chan struct{})
	c.disks[old].mu.Lock()
	c.disks[old].held = held
	c.disks[old].mu.Unlock()
	publish(t, c.nodes[old], "a", "0") // by the others' disks
	if got := next(t, f, 1); got[0] != "0:0" {
		t.Errorf("delivered %v", got)
	}
	until(t, "another leader", func() bool {
		for id, n := range c.nodes {
			if m, ok := n.Leader(); id != old && ok && m.ID != old {
				return true
			}
		}
		return false
	})
	for id, n := range c.nodes {
		if id != old {
			until(t, "a publish at the others", func() bool {
				v := brokertest.Publish(t.Context(), n,
					broker.Run{Topic: "a", Messages: brokertest.Messages("more"), Count: 1})
				return v.Err == nil
			})
		}
	}
	close(held)
	s, err := c.nodes[c.follower()].Topic(t.Context(), "a", true)
	if err != nil || s.Next < 3 {
		t.Fatal(s, err)
	}
	if got := history(t, c.nodes[old], "a", int(s.Next)); got[0] != "0:0" {
		t.Errorf("%v", got)
	}
}

// TestBehindDisk: a message that is acknowledged by the others' disks and neither in this node's memory any
// more nor on its disk yet is waited for, not passed over. (hb-D03)
func TestBehindDisk(t *testing.T) {
	skipShort(t)
	c := newClusterAt(t, 3, 50*time.Millisecond, 200*time.Millisecond)
	leader := c.settled()
	create(t, c.nodes[leader], broker.Topic{Name: "a"})
	if _, err := c.nodes[leader].Topic(t.Context(), "a", true); err != nil {
		t.Fatal(err)
	}
	late := c.follower()
	f, err := c.nodes[late].Subscribe(t.Context(), broker.Start{Topic: "a", From: broker.FromOldest})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	held := make(chan struct{})
	c.disks[late].mu.Lock()
	c.disks[late].held = held
	c.disks[late].mu.Unlock()
	var want []string
	for i := range 20 {
		publish(t, c.nodes[leader], "a", fmt.Sprint(i))
		want = append(want, fmt.Sprintf("%d:%d", i, i))
	}
	until(t, "the messages on the late node", func() bool {
		s, err := c.nodes[late].Topic(t.Context(), "a", false)
		return err == nil && s.Next == 20
	})
	for len(want) > 1 { // what was indexed before the sync hung is there
		b, err := f.Next(t.Context(), broker.Room{Bytes: 1})
		if err == nil && b.Count > 0 && b.Offset == uint64(20-len(want)) && b.Count < len(want) {
			want = want[b.Count:]
			continue
		}
		if err == nil || status.CodeOf(err) != status.Unavailable {
			t.Errorf("while its disk hangs: %+v, %v", b, err)
		}
		break
	}
	close(held)
	if got := next(t, f, len(want)); !slices.Equal(got, want) {
		t.Errorf("afterwards: %v", got)
	}
}

// TestSnapshot: a node that is behind the oldest entry that is kept gets the state, and
// then all messages that are left. (hb-D10)
func TestSnapshot(t *testing.T) {
	skipShort(t)
	c := newCluster(t, 3)
	leader := c.settled()
	create(t, c.nodes[leader], broker.Topic{Name: "a", RetentionBytes: 200 << 10})
	create(t, c.nodes[leader], broker.Topic{Name: "b"})
	producer, err := c.nodes[leader].OpenProducer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	late := c.follower()
	c.halt(late)
	pad := strings.Repeat("x", 8<<10)
	for i := range 200 {
		c.insist("a", producer, uint64(i+1), pad)
	}
	sent := uint64(200)
	until(t, "the oldest segments to be gone", func() bool {
		// A segment is looked at when a later one is sealed: there has to be one.
		sent++
		c.insist("a", producer, sent, pad)
		names, err := c.fs[c.settled()].List("/hermes")
		return err == nil && !slices.ContainsFunc(names, func(n string) bool {
			return strings.HasPrefix(n, "0000000000000001.") && strings.HasSuffix(n, ".log")
		})
	})
	for i := range 10 {
		c.insist("b", producer, uint64(i+1), fmt.Sprint(i))
	}
	c.restart(late)
	var want []string
	for i := range 10 {
		want = append(want, fmt.Sprintf("%d:%d", i, i))
	}
	if got := history(t, c.nodes[late], "b", 10); !slices.Equal(got, want) {
		t.Errorf("the late node has %v", got)
	}
	s, err := c.nodes[late].Topic(t.Context(), "a", true)
	if err != nil || s.First == 0 || s.Next != sent {
		t.Fatal(s, err)
	}
	if got := history(t, c.nodes[late], "a", int(s.Next-s.First)); len(got) != int(s.Next-s.First) {
		t.Errorf("%d messages of %+v", len(got), s)
	}

	// A new node begins with the same.
	l := c.listen("127.0.0.1:0")
	c.members = append(c.members, broker.Member{ID: 4, Name: "node-4", Peer: l.Addr().String()})
	c.fs[4], c.disks[4] = c.disk()
	c.start(4, l, nil, []string{c.members[0].Peer})
	if got := history(t, c.nodes[4], "b", 10); !slices.Equal(got, want) {
		t.Errorf("the new node has %v", got)
	}
	until(t, "a fourth voter", func() bool {
		s, err := c.nodes[4].Status(t.Context())
		return err == nil && len(s.Members) == 4 && !s.Members[3].Learner && s.Members[0].Peer != ""
	})
}

// TestChaos: publishers, a group and subscribers over kills and partitions: what was
// acknowledged is there, once, where it was said to be, on all nodes, and the group got
// it at least once. (hb-D01, hb-D07, hb-D08, hb-D13, hb-D16, hb-D20)
func TestChaos(t *testing.T) {
	skipShort(t)
	seed := uint64(time.Now().UnixNano())
	t.Log("seed", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	c := newCluster(t, 3)
	create(t, c.nodes[c.settled()], broker.Topic{Name: "a"})
	w := &work{c: c, acked: map[uint64]string{}, seen: map[string]bool{}}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for p := range 3 {
		producer, err := c.nodes[c.settled()].OpenProducer(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() { w.publish(ctx, p, producer) })
	}
	members, leave := context.WithCancel(t.Context())
	var mg sync.WaitGroup
	for i := range 2 {
		mg.Go(func() { w.consume(members, i) })
	}
	for range 6 {
		before := w.count()
		until(t, "progress", func() bool { return w.count() > before+20 })
		id := uint64(random.IntN(3) + 1)
		if random.IntN(2) == 0 {
			c.isolate(id, true)
			before = w.count()
			until(t, "progress without a node", func() bool { return w.count() > before+20 })
			c.isolate(id, false)
			continue
		}
		w.swap(func() { c.kill(id) })
		before = w.count()
		until(t, "progress without a node", func() bool { return w.count() > before+20 })
		w.swap(func() { c.restart(id) })
	}
	cancel()
	wg.Wait()
	until(t, "the group to have all", w.consumed)
	leave()
	mg.Wait()
	w.check(t)
}

// work is what clients did and were told.
type work struct {
	c *cluster

	nodes sync.RWMutex // held while the cluster's nodes change

	mu    sync.Mutex // guards all below
	acked map[uint64]string
	seen  map[string]bool
}

func (w *work) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.acked)
}

func (w *work) swap(do func()) {
	w.nodes.Lock()
	defer w.nodes.Unlock()
	do()
}

// node is one that runs.
func (w *work) node(i int) broker.Broker {
	w.nodes.RLock()
	defer w.nodes.RUnlock()
	for id := range uint64(3) {
		if n := w.c.nodes[(id+uint64(i))%3+1]; n != nil {
			return n
		}
	}
	return nil
}

func (w *work) publish(ctx context.Context, p int, producer uint64) {
	at := p
	for sequence := uint64(1); ctx.Err() == nil; {
		payload := fmt.Sprintf("%d/%d", p, sequence)
		call, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		v := brokertest.Publish(call, w.node(at),
			broker.Run{
				Topic: "a", Messages: brokertest.Messages(payload), Count: 1,
				Producer: producer, Sequence: sequence,
			})
		cancel()
		if v.Err != nil {
			at++ // elsewhere, the same again
			continue
		}
		w.mu.Lock()
		if other, ok := w.acked[v.Offset]; ok {
			w.c.Errorf("offset %d was said to be %s's and %s's", v.Offset, other, payload)
		}
		w.acked[v.Offset] = payload
		w.mu.Unlock()
		sequence++
	}
}

func (w *work) consume(ctx context.Context, at int) {
	for ctx.Err() == nil {
		at++
		f, err := w.node(at).Subscribe(ctx, broker.Start{Topic: "a", From: broker.FromGroup, Group: "g", InFlight: 50})
		if err != nil {
			continue
		}
		for {
			b, err := f.Next(ctx, broker.Room{Bytes: 4 << 10})
			if err != nil {
				break
			}
			payloads, err := brokertest.Payloads(b.Messages)
			if err != nil {
				w.c.Error(err)
			}
			w.mu.Lock()
			for _, p := range payloads {
				w.seen[p] = true
			}
			w.mu.Unlock()
			if f.Ack(ctx, []broker.Range{{First: b.Offset, Last: b.Offset + uint64(b.Count) - 1}}) != nil {
				break // it comes again, unless the ack was stored
			}
		}
		f.Close()
	}
}

func (w *work) consumed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.acked {
		if !w.seen[p] {
			return false
		}
	}
	return true
}

func (w *work) check(t *testing.T) {
	t.Helper()
	leader := w.c.nodes[w.c.settled()]
	s, err := leader.Topic(t.Context(), "a", true)
	if err != nil {
		t.Fatal(err)
	}
	var first []string
	for id, n := range w.c.nodes {
		got := history(t, n, "a", int(s.Next))
		if first == nil {
			first = got
		}
		if !slices.Equal(got, first) {
			t.Errorf("node %d has another history", id)
		}
	}
	for offset, p := range w.acked {
		if offset >= s.Next || first[offset] != fmt.Sprintf("%d:%s", offset, p) {
			t.Errorf("%s was acknowledged at %d and is not there", p, offset)
		}
	}
	once := map[string]bool{}
	for _, m := range first {
		_, p, _ := strings.Cut(m, ":")
		if once[p] {
			t.Errorf("%s is stored twice", p)
		}
		once[p] = true
	}
	t.Logf("%d messages acknowledged, %d stored", len(w.acked), s.Next)
}
