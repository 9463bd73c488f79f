package replica_test

import "testing"

// The leader is gone and both others know. Who is first among them campaigns at once.
func TestBrokenLeader(t *testing.T) {
	for _, c := range []struct {
		what   string
		order  []uint64 // who hears of it first
		behind bool     // node 2 lacks an entry, so node 3 has to lead
		leader uint64
		ticks  int // at most
	}{
		{"the first in rank hears first", []uint64{2, 3}, false, 2, 0},
		{"the first in rank hears last", []uint64{3, 2}, false, 2, 0},
		{"the first in rank may not lead", []uint64{2, 3}, true, 3, 2},
		{"the first in rank may not lead and hears last", []uint64{3, 2}, true, 3, 2},
	} {
		t.Run(c.what, func(t *testing.T) {
			w := start(t, 3)
			n := w.elect(1)
			w.cut[2] = c.behind
			n.Propose(items("a"), 1, 1, false)
			w.settle()
			w.cut = map[uint64]bool{1: true}
			for _, id := range c.order {
				w.tell(id, 1)
			}
			for ticks := 0; w.nodes[c.leader].leader != c.leader; ticks++ {
				if ticks == c.ticks {
					t.Fatalf("after %d ticks node 2 follows %d and node 3 %d", ticks, w.nodes[2].leader, w.nodes[3].leader)
				}
				w.nodes[2].Tick()
				w.nodes[3].Tick()
				w.settle()
			}
		})
	}
}

// A link that breaks is no dead leader: the node at its end asks, is refused by
// those who hear of the leader, and follows again. Asking is rate-limited.
func TestBrokenLink(t *testing.T) {
	c := start(t, 3)
	n := c.elect(1)
	term := n.Status().GetTerm()
	for range 50 {
		c.tell(2, 1)
		c.tell(1, 2) // to the leader it only says that messages were lost
		c.tell(3, 2) // and to others nothing
		c.tick(1)
	}
	if n.leader != 1 || c.nodes[2].leader != 1 || n.Status().GetTerm() != term {
		t.Errorf("term %d became %d, leader %d", term, n.Status().GetTerm(), n.leader)
	}
	c.tell(2, 1) // more often than once in an election timeout it does not even ask
	c.tell(2, 1)
	ticket := n.Propose(items("a"), 1, 1, false)
	c.settle()
	if v := n.one(t, ticket); v.Err != nil {
		t.Errorf("%+v", v)
	}
}
