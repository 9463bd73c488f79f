package peer_test

import (
	"strings"
	"sync/atomic"
	"testing"

	"wirelab/hermes/peer"
	"wirelab/internal/porttest"
	"wirelab/wire/status"
)

// A node that is not where it should be is looked for elsewhere, and another node that is there is not taken
// for it. A later report of its address leaves a connection that stands at that address unchanged.
func TestElsewhere(t *testing.T) {
	a, b, c := start(t, 1, memory(t)), start(t, 2, memory(t)), start(t, 3, memory(t))
	a.SetPeer(2, porttest.Refusing(t), c.Addr().String(), b.Addr().String())
	reach(t, a, 2)
	a.SetPeer(2, b.Addr().String())
	if !a.Reached(2) {
		t.Error("a connection ended, though it stood at the address that was told")
	}
	a.SetPeer(2, porttest.Refusing(t))
	if a.Reached(2) {
		t.Error("a connection continues at an address where the node is not to be any more")
	}
}

// Nodes tell each other at once whether they have room, and those that say nothing of it are reported as nothing.
func TestRoom(t *testing.T) {
	var full atomic.Bool
	type said struct {
		id   uint64
		full bool
	}
	heard := make(chan said, 100)
	a := start(t, 1, memory(t), func(o *peer.Options) {
		o.IdentityCheck.Heard = func(id uint64, full bool) { heard <- said{id, full} }
	})
	b := start(t, 2, memory(t), func(o *peer.Options) { o.IdentityCheck.Full = full.Load })
	c := start(t, 3, memory(t))
	for _, n := range []*node{b, c} {
		n.SetPeer(1, a.Addr().String())
		reach(t, n, 1)
	}
	c.Tell()
	b.Tell()
	if got := <-heard; got != (said{2, false}) {
		t.Errorf("with room: %+v", got)
	}
	full.Store(true)
	b.Tell()
	for got := range heard {
		if got.id != 2 {
			t.Fatalf("who says nothing of it is reported as %+v", got)
		}
		if got.full {
			break
		}
	}
}

// Nodes of two lineages refuse each other, no matter who dials; who told none is asked about as one that has
// none.
func TestLineage(t *testing.T) {
	of := func(own uint64) func(*peer.Options) {
		return func(o *peer.Options) {
			o.IdentityCheck.Lineage = func() uint64 { return own }
			o.IdentityCheck.Related = func(id, lineage uint64) error {
				if lineage != own {
					return status.Errorf(status.Conflict, "node %d is of lineage %d, not %d", id, lineage, own)
				}
				return nil
			}
		}
	}
	b := start(t, 2, memory(t), of(5))
	for name, c := range map[string]struct {
		lineage func(*peer.Options)
		says    string
	}{
		"another lineage":  {of(4), "node 1 is of lineage 4, not 5"},
		"a former version": {func(*peer.Options) {}, "node 1 is of lineage 0, not 5"},
	} {
		t.Run(name, func(t *testing.T) {
			a := start(t, 1, memory(t), c.lineage)
			a.SetPeer(2, b.Addr().String())
			if _, err := a.Broker(2).Status(t.Context()); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("the dialler gets %v", err)
			}
			back := start(t, 3, memory(t), of(5))
			back.SetPeer(1, a.Addr().String())
			if _, err := back.Broker(1).Status(t.Context()); err == nil ||
				!strings.Contains(err.Error(), "is of lineage ") {
				t.Errorf("the one that dials it gets %v", err)
			}
		})
	}
	a := start(t, 1, memory(t), of(5))
	a.SetPeer(2, b.Addr().String())
	reach(t, a, 2)
}
