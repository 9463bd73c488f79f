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
					t.Fatalf("after %d ticks node 2 follows %d and node 3 %d", ticks, w.nodes[2].leader,
						w.nodes[3].leader)
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

// Leaders that die one after the other are each replaced at once: that the first was given up is no
// reason to wait with the second.
func TestBrokenLeadersInARow(t *testing.T) {
	c := start(t, 5)
	c.elect(1)
	for dead := uint64(1); dead <= 2; dead++ {
		c.cut[dead] = true
		for id := dead + 1; id <= 5; id++ {
			c.tell(id, dead)
		}
		c.order = c.order[1:]
		// who is not first among the voters that are left, the dead included, waits a tick for each
		c.tick(int(dead) - 1)
		if n := c.nodes[dead+1]; n.leader != n.id {
			t.Fatalf("node %d died, and node %d follows %d", dead, n.id, n.leader)
		}
	}
}

// Where all links to the node that leads break all the time, leaders are not deposed faster than one an
// election timeout, but for the first few.
func TestEveryLinkBreaks(t *testing.T) {
	c := start(t, 3)
	term := c.elect(1).Status().GetTerm()
	const timeouts = 20
	for range timeouts * 10 { // ticks
		for _, id := range c.order {
			if n := c.nodes[id]; n.leader != 0 && n.leader != id {
				c.tell(id, n.leader)
			}
		}
		c.tick(1)
	}
	var newest uint64
	for _, id := range c.order {
		newest = max(newest, c.nodes[id].Status().GetTerm())
	}
	if terms := newest - term; terms > timeouts+3 {
		t.Errorf("%d terms in %d election timeouts", terms, timeouts)
	} else {
		t.Logf("%d terms in %d election timeouts", terms, timeouts)
	}
}
