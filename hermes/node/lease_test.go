package node

import (
	"testing"

	"wirelab/hermes/broker"
	"wirelab/hermes/broker/brokertest"
	"wirelab/hermes/recentlog"
)

// TestLeaseOverSeek: a member that is fetching what it leased when its group is set elsewhere gets
// none of that, and then what the group has now.
func TestLeaseOverSeek(t *testing.T) {
	n := &Node{clock: newClock(nil)}
	n.groups = newGroups(n)
	top := &topic{id: 7, name: "a"}
	top.next.Store(5)
	seeks := 1
	n.recent = recentlog.New(recentlog.Options{Read: func(_ uint32, offset, _ uint64, _ int) ([]broker.Batch, error) {
		if seeks > 0 {
			seeks--
			n.groups.seek(1, 3, 2)
		}
		return []broker.Batch{{Offset: offset, Count: 1, Messages: brokertest.Messages("x")}}, nil
	}})
	f := n.groups.join(t.Context(), top, 1, 1, broker.Group{Name: "g"}, 1, past{})
	defer f.Close()
	if b, ok, err := f.lease(broker.Room{Bytes: 1}); ok || err != nil {
		t.Errorf("%+v, %v", b, err)
	}
	if b, ok, err := f.lease(broker.Room{Bytes: 1}); !ok || err != nil || b.Offset != 3 || b.Attempt != 1 {
		t.Errorf("%+v, %v", b, err)
	}
}
