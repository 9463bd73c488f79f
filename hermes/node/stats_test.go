package node_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/hermes/broker/brokertest"
	"wirelab/hermes/vfs"
)

// seen is an observer that counts.
type seen struct {
	mu               sync.Mutex
	syncs, committed int
	negative         bool
}

func (s *seen) Synced(took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.syncs++
	s.negative = s.negative || took < 0
}

func (s *seen) Committed(took time.Duration, proposals int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.committed += proposals
	s.negative = s.negative || took < 0
}

// The statistics of a node are correct, and each proposal is timed once, even one that is
// answered before it is committed.
func TestStats(t *testing.T) {
	t.Parallel()
	var o seen
	with := options(vfs.NewMemory())
	with.Observer = &o
	n := open(t, with)
	create(t, n, broker.Topic{Name: "a"})
	for range 10 {
		publish(t, n, "a", "one", "two")
	}
	eventual := broker.Run{Topic: "a", Messages: brokertest.Messages("three"), Count: 1, Mode: hermes.Eventual}
	if v := brokertest.Publish(t.Context(), n, eventual); v.Err != nil {
		t.Fatal(v.Err)
	}
	if _, err := n.CreateGroup(t.Context(), broker.Group{Topic: "a", Name: "g"},
		broker.Start{From: broker.FromOldest}); err != nil {
		t.Fatal(err)
	}
	s, err := n.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if s.Node != 1 || s.Leader != 1 || s.Term == 0 || s.Applied == 0 || s.Elections != 1 || s.Segments == 0 ||
		s.LogBytes == 0 || s.InHandBytes != 0 || s.Full {
		t.Errorf("%+v", s)
	}
	if len(s.Groups) != 1 || s.Groups[0].Lag != 21 {
		t.Errorf("groups are %+v", s.Groups)
	}
	found := false
	for _, topic := range s.Topics {
		found = found || topic.Name == "a" && topic.Next == 21 && topic.Bytes > 0
	}
	if !found {
		t.Errorf("topics are %+v", s.Topics)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.committed < 13 || o.committed > 16 || o.syncs == 0 || o.negative { // the node's own come too
		t.Errorf("observed %d proposals and %d syncs", o.committed, o.syncs)
	}
}

// says asserts that an error is there and tells something.
func says(t *testing.T, err error, what string) {
	t.Helper()
	if !tells(err, what) {
		t.Errorf("%v, want %q", err, what)
	}
}

func tells(err error, what string) bool { return err != nil && strings.Contains(err.Error(), what) }

// A disk that is full is a reason to send callers elsewhere, none to kill the node; and a node
// that has stopped is not ready. (hb-D33)
func TestReadyAlone(t *testing.T) {
	t.Parallel()
	o := options(vfs.NewMemory())
	n := start(t, o)
	until(t, "ready", func() bool { return n.Ready(t.Context()) == nil })
	stop(t, n)
	says(t, n.Ready(t.Context()), "stopping")
	o.FreeBytes = 1 << 62
	full := open(t, o)
	until(t, "full", func() bool { return full.Ready(t.Context()) != nil })
	until(t, "a reason", func() bool { return strings.Contains(full.Ready(t.Context()).Error(), "nearly full") })
	if err := full.Live(); err != nil {
		t.Error(err)
	}
}

// A disk that hangs longer than it may is shown by Live, and no more once it continues.
func TestLive(t *testing.T) {
	t.Parallel()
	disk := &slow{FS: vfs.NewMemory()}
	o := options(disk)
	o.StuckLimit = 300 * time.Millisecond
	n := open(t, o)
	if err := n.Live(); err != nil {
		t.Fatal(err)
	}
	create(t, n, broker.Topic{Name: "a"})
	held := make(chan struct{})
	disk.mu.Lock()
	disk.held = held
	disk.mu.Unlock()
	n.Publish(t.Context(), broker.Run{Topic: "a", Messages: brokertest.Messages("x"), Count: 1},
		func(broker.Verdict) {})
	// On a machine that has no time for the loop either, the loop is what Live tells first, for a while.
	until(t, "stuck", func() bool { return tells(n.Live(), "the disk does not finish") })
	until(t, "not ready for it", func() bool { return tells(n.Ready(t.Context()), "the disk does not finish") })
	close(held)
	disk.mu.Lock()
	disk.held = nil
	disk.mu.Unlock()
	until(t, "alive again", func() bool { return n.Live() == nil })
}

// A node that is cut off is not ready, the others are, and it is again when it is back.
func TestReadyOfThree(t *testing.T) {
	skipShort(t)
	c := newCluster(t, 3)
	id := c.follower()
	c.isolate(id, true)
	until(t, "not ready", func() bool { return c.nodes[id].Ready(t.Context()) != nil })
	for other, n := range c.nodes {
		if other != id {
			until(t, "the others ready", func() bool { return n.Ready(t.Context()) == nil })
		}
	}
	c.isolate(id, false)
	until(t, "ready again", func() bool { return c.nodes[id].Ready(t.Context()) == nil })
}
