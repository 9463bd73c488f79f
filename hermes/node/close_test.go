package node_test

import (
	"strings"
	"testing"
	"time"

	"wirelab/hermes/broker"
	"wirelab/hermes/broker/brokertest"
	"wirelab/hermes/node"
	"wirelab/hermes/vfs"
	"wirelab/wire/status"
)

// TestCloseHangs: a disk that never answers does not keep a node from saying so, and who is
// waited for no longer ends by himself, as a whole, when he can.
func TestCloseHangs(t *testing.T) {
	fs := vfs.NewMemory()
	disk := &slow{FS: fs}
	o := options(disk)
	o.CloseLimit = 50 * time.Millisecond
	n := start(t, o)
	create(t, n, broker.Topic{Name: "a"})
	held := make(chan struct{})
	disk.hold(held)
	answered := make(chan broker.Verdict, 1)
	n.Publish(t.Context(), broker.Run{Topic: "a", Messages: brokertest.Messages("x"), Count: 1},
		func(v broker.Verdict) {
			answered <- v
		})
	until(t, "a sync that hangs", func() bool { return disk.waits.Load() > 0 })
	if err := n.Close(t.Context()); status.CodeOf(err) != status.DeadlineExceeded ||
		!strings.Contains(err.Error(), "a sync of the disk hangs") {
		t.Errorf("close: %v", err)
	}
	if v := <-answered; status.CodeOf(v.Err) != status.Unavailable {
		t.Errorf("the publish that waits for the disk: %+v", v)
	}
	if _, err := node.Open(t.Context(), o); err == nil {
		t.Error("its directory is given to another while it may yet write")
	}
	disk.hold(nil)
	close(held)
	until(t, "the end", func() bool { return n.Close(t.Context()) == nil })
	o.CloseLimit = 0
	open(t, o)
}
