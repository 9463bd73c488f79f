package node_test

import (
	"testing"

	"wirelab/hermes/broker"
	"wirelab/hermes/node"
	"wirelab/hermes/vfs"
	"wirelab/wire/status"
)

// TestAckOverSeek: what was handed out before a seek and is acknowledged behind it in the log
// settles nothing, and comes again. (hb-D01)
func TestAckOverSeek(t *testing.T) {
	disk := &slow{FS: vfs.NewMemory()}
	n := open(t, options(disk))
	create(t, n, broker.Topic{Name: "a"})
	publish(t, n, "a", "0", "1", "2")
	if _, err := n.CreateGroup(t.Context(), broker.Group{Topic: "a", Name: "g"},
		broker.Start{From: broker.FromOldest}); err != nil {
		t.Fatal(err)
	}
	f, err := n.Subscribe(t.Context(), broker.Start{Topic: "a", From: broker.FromGroup, Group: "g"})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	next(t, f, 3)
	held := make(chan struct{})
	disk.mu.Lock()
	disk.held = held
	disk.mu.Unlock()
	sought := make(chan error, 1)
	go func() {
		_, err := n.SeekGroup(t.Context(), "a", "g", broker.Start{From: broker.FromOldest})
		sought <- err
	}()
	until(t, "the seek is in the log", func() bool { return node.Waiting(n) > 0 })
	acked := make(chan error, 1)
	go func() { acked <- f.Ack(t.Context(), []broker.Range{{First: 0, Last: 1}}) }()
	until(t, "the acknowledgement is behind it", func() bool { return node.Waiting(n) > 1 })
	disk.mu.Lock()
	disk.held = nil
	disk.mu.Unlock()
	close(held)
	if err := <-sought; err != nil {
		t.Fatal(err)
	}
	if err := <-acked; err == nil || status.CodeOf(err) != status.Conflict {
		t.Errorf("an acknowledgement of before the seek: %v", err)
	}
	if g, err := n.Group(t.Context(), "a", "g"); err != nil || g.Floor != 0 || len(g.Acked) > 0 {
		t.Errorf("%+v, %v", g, err)
	}
	if got := next(t, f, 3); got[0] != "0:0" {
		t.Errorf("%v", got)
	}
	if err := f.Ack(t.Context(), []broker.Range{{First: 0, Last: 2}}); err != nil {
		t.Error(err)
	}
}
