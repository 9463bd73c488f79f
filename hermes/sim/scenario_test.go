package sim

import (
	"slices"
	"testing"
	"time"

	"wirelab/hermes/replica"
	"wirelab/wire/status"
)

// worlds are how many seeds a scenario runs with; few are enough to see that it works.
func worlds(n uint64) uint64 {
	if testing.Short() {
		return 1
	}
	return n
}

// ready is a world with a leader, topics and working clients.
func ready(t *testing.T, o Options) *World {
	t.Helper()
	w := New(o)
	if err := w.Prepare(); err != nil {
		t.Fatal(err)
	}
	w.Work()
	run(t, w, time.Second)
	return w
}

func run(t *testing.T, w *World, d time.Duration) {
	t.Helper()
	if err := w.Run(d); err != nil {
		t.Fatal(err)
	}
}

func settle(t *testing.T, w *World) {
	t.Helper()
	if err := w.Settle(); err != nil {
		t.Fatal(err)
	}
}

// A seed is worth nothing if it does not repeat its run.
func TestSameSeedSameRun(t *testing.T) {
	for s := uint64(1); s <= worlds(6); s++ {
		first, err := Simulate(world(s))
		if err != nil {
			t.Fatal(err)
		}
		again, err := Simulate(world(s))
		if err != nil {
			t.Fatal(err)
		}
		if first != again {
			t.Errorf("seed %d ran as %+v and then as %+v", s, first, again)
		}
	}
}

// A checker that never fails checks nothing. Each broken promise is one that the
// origin broke.
func TestSabotageIsNoticed(t *testing.T) {
	for _, c := range []struct {
		what   string
		broken Sabotage
		most   uint64 // seeds until it must have been noticed
	}{
		{"hb-D05: acknowledged entries are not synced", NoSync, 1},
		{"hb-D12: a repeated publish is stored again", NoDedup, 10},
		{"hb-D06: acknowledged before it is in the log", EarlyAck, 10},
		{"a read that asks no other node", LocalRead, 10},
		{"hb-D08: offsets are each node's own", Unordered, 1},
		{"hb-D01: a count of acknowledgements stands for an offset", Count, 1},
		{"hb-D01: an acknowledgement of before a seek moves the group", StaleAck, 10},
		{"what a member had that left counts as tried", Blame, 10},
		{"a clock that is off is believed", OwnClock, 30},
		{"a disk that was put back to an older copy is trusted", Trusting, 200},
	} {
		t.Run(c.what, func(t *testing.T) {
			for s := uint64(1); s <= c.most; s++ {
				o := world(s)
				o.Nodes, o.Sabotage = 3, c.broken
				if c.broken == Trusting {
					o.Faults.Restore = 30 // of the few that forget, fewer forget what the rest lacks
				}
				if _, err := Simulate(o); err != nil {
					t.Logf("noticed: %v", err)
					return
				}
			}
			t.Errorf("%d worlds passed", c.most)
		})
	}
}

// A link that breaks and stands again, however often, costs no live leader its
// place: only the node at its other end asks, and the others still hear of the leader.
func TestFlappingLinkDeposesNobody(t *testing.T) {
	for s := uint64(1); s <= worlds(4); s++ {
		w := ready(t, Options{Seed: s, Nodes: 3 + 2*int(s%2)})
		leader, term := w.Leader()
		other := leader%uint64(len(w.nodes)) + 1
		for range 100 {
			w.network.flap(leader, other)
			run(t, w, w.between(time.Millisecond, 150*time.Millisecond))
		}
		if now, at := w.Leader(); now != leader || at != term {
			t.Fatalf("seed %d: node %d led in term %d, and after its link to %d flapped node %d in term %d", s, leader,
				term,
				other, now, at)
		}
		settle(t, w)
	}
}

// Links that flap in turn, one at a time, depose no leader either.
func TestFlappingInTurnDeposesNobody(t *testing.T) {
	for s := uint64(1); s <= worlds(4); s++ {
		w := ready(t, Options{Seed: s, Nodes: 3 + 2*int(s%2)})
		leader, term := w.Leader()
		for range 60 {
			w.network.flap(w.pair())
			// A heartbeat has come again before the next: two at once are a leader that
			// a quorum has lost.
			run(t, w, w.between(2*tick, 4*tick))
		}
		if now, at := w.Leader(); now != leader || at != term {
			t.Fatalf("seed %d: node %d led in term %d, and now node %d in term %d", s, leader, term, now, at)
		}
		settle(t, w)
	}
}

// A leader whose process ends is replaced as soon as its connections are refused,
// not after the election timeout. A fifth of the worlds take that long all the same, as a node of
// them does not learn of the refusal, so that it needs many of them to know the median.
func TestDeadLeaderIsReplacedAtOnce(t *testing.T) {
	var took []time.Duration
	for s := uint64(1); s <= max(worlds(60), 21); s++ {
		w := ready(t, Options{Seed: s})
		dead, _ := w.Leader()
		since := w.now
		w.nodes[dead-1].stop(true)
		for id := uint64(0); id == 0; id, _ = w.Leader() {
			run(t, w, time.Millisecond)
		}
		took = append(took, w.now-since)
		w.nodes[dead-1].start()
		settle(t, w)
	}
	slices.Sort(took)
	t.Logf("median %v, worst %v of simulated time", took[len(took)/2], took[len(took)-1])
	if median := took[len(took)/2]; median > tick/2 {
		t.Errorf("half of the dead leaders were replaced only after %v; the election timeout is %v", median, 10*tick)
	}
}

// A leader that was stopped for a while (SIGSTOP) finds itself deposed: it
// acknowledges nothing and answers no read in between, and its callers are notified.
func TestPausedLeader(t *testing.T) {
	for s := uint64(1); s <= worlds(4); s++ {
		w := ready(t, Options{Seed: s})
		old, term := w.Leader()
		n := w.nodes[old-1]
		n.pause(3 * time.Second)
		verdicts := map[uint64]replica.Verdict{}
		var read, write uint64
		n.happen(func() { // the first thing it does when it continues
			note := func(v replica.Verdict) { verdicts[v.Ticket] = v }
			one := w.clients[2].make()
			write = n.replica.Propose(one.items, 1, n.time(), true)
			read = n.replica.ReadIndex()
			n.asked[write], n.asked[read] = note, note
		})
		run(t, w, 2*time.Second)
		if now, at := w.Leader(); now == old || at <= term {
			t.Fatalf("seed %d: no node took over from a leader that stands still", s)
		}
		run(t, w, 5*time.Second)
		if v := verdicts[write]; v.Err == nil || status.CodeOf(v.Err) != status.Unavailable {
			t.Errorf("seed %d: a leader deposed in its sleep answered %+v", s, v)
		}
		if v := verdicts[read]; v.Ticket == 0 || v.Err == nil && v.Term <= term {
			t.Errorf("seed %d: it answered a read with %+v", s, v)
		}
		settle(t, w)
	}
}

// A leader that is cut off acknowledges nothing, answers no read by the lease that
// it believes in, and gives up within two election timeouts. (hb-D21)
func TestCutOffLeader(t *testing.T) {
	for s := uint64(1); s <= worlds(8); s++ {
		w := ready(t, Options{Seed: s})
		id, _ := w.Leader()
		n := w.nodes[id-1]
		for _, other := range w.nodes {
			w.network.cutOff(id, other.id, other != n)
			if s%2 == 0 { // it is heard no more, and hears
				w.network.cutOff(other.id, id, other != n)
			}
		}
		run(t, w, 50*time.Millisecond) // what was answered by then was true
		verdicts := map[uint64]replica.Verdict{}
		n.happen(func() {
			note := func(v replica.Verdict) { verdicts[v.Ticket] = v }
			n.asked[n.replica.Propose(w.clients[2].make().items, 1, n.time(), false)] = note
			n.asked[n.replica.ReadIndex()] = note
		})
		run(t, w, 2*10*tick+200*time.Millisecond)
		for ticket, v := range verdicts {
			if v.Err == nil && n.leader == id {
				t.Errorf("seed %d: a leader that is cut off answered %d with %+v", s, ticket, v)
			}
		}
		if n.replica.Status().Lead == id {
			t.Errorf("seed %d: a leader that no node hears still leads", s)
		}
		settle(t, w)
	}
}

// One disk that takes 20 ms to sync delays no other while the others are quick, not even the leader's.
func TestSlowDiskDelaysNobody(t *testing.T) {
	for s := uint64(1); s <= worlds(3); s++ {
		w := ready(t, Options{Seed: s})
		leader, _ := w.Leader()
		slow := (leader-1+s)%3 + 1 // the leader's in a third of the worlds
		w.nodes[slow-1].slow = 20 * time.Millisecond
		from := len(w.judge.acks)
		run(t, w, 5*time.Second)
		var took []time.Duration
		for _, a := range w.judge.acks[from:] {
			took = append(took, a.at-a.one.begun)
		}
		slices.Sort(took)
		if len(took) < 100 || took[len(took)/2] > 12*time.Millisecond {
			t.Errorf("seed %d: with a slow disk on node %d (leader %d) %d publishes took %v by the median", s, slow,
				leader,
				len(took), took[len(took)/2])
		}
		settle(t, w)
	}
}

// Power is cut on all nodes at once: nothing acknowledged is lost. (hb-D05)
func TestBlackout(t *testing.T) {
	for s := uint64(1); s <= worlds(3); s++ {
		w := ready(t, Options{Seed: s})
		for range 2 {
			w.blackout()
			run(t, w, 4*time.Second)
		}
		settle(t, w)
		if r := w.report(); r.Acknowledged < 50 {
			t.Errorf("seed %d: only %d publishes were acknowledged", s, r.Acknowledged)
		}
	}
}

// Without faults nothing is repeated, lost or left provisional.
func TestQuietWorld(t *testing.T) {
	r, err := Simulate(Options{Seed: 1, Duration: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if r.Elections != 2 || r.Duplicates != 0 || r.Provisional == 0 || r.Reads == 0 || r.Snapshots != 0 {
		t.Errorf("a quiet world is not quiet: %+v", r)
	}
}

// A node that joins when the beginning of the log is gone gets the state from then,
// and the entries behind it. (hb-D10: it joined with nothing, and no error.)
func TestJoinAfterTheBeginningIsGone(t *testing.T) {
	for s := uint64(1); s <= worlds(4); s++ {
		w := ready(t, Options{Seed: s, Spare: 1})
		run(t, w, 2*time.Second)
		for _, n := range w.nodes[:3] {
			n.compact()
		}
		run(t, w, time.Second)
		joined := func(voter bool) func() bool {
			return func() bool {
				w.member()
				spare := w.nodes[3]
				if spare.replica == nil {
					return false
				}
				list := spare.replica.Conf().GetLearners()
				if voter {
					list = spare.replica.Conf().GetVoters()
				}
				return slices.Contains(list, 4)
			}
		}
		if err := w.until(5*time.Second, "the spare node is a learner or a voter", func() bool {
			return joined(false)() || joined(true)()
		}); err != nil {
			t.Fatal(err)
		}
		if w.judge.report.Snapshots == 0 {
			t.Errorf("seed %d: it joined without a snapshot", s)
		}
		settle(t, w)
	}
}

// A node whose disk is put back to an older copy while the one that could tell is away elects no node: what was
// acknowledged stays so. When the other is back the node catches up, or is refused.
func TestPutBackWhileTheOtherNodeIsAway(t *testing.T) {
	for s := uint64(1); s <= worlds(12); s++ {
		w := ready(t, Options{Seed: s, Disk: DiskKind(s % 2)})
		id, _ := w.Leader()
		leader, forgetful, away := w.nodes[id-1], w.nodes[id%3], w.nodes[(id+1)%3]
		forgetful.image()
		away.stop(true)
		run(t, w, 2*time.Second)
		id, term := w.Leader()
		if id != leader.id {
			t.Fatalf("seed %d: node %d leads, and not %d any more", s, id, leader.id)
		}
		acknowledged := len(w.judge.acks)
		if s%3 == 0 { // the witness goes first, and takes along what it did not write
			leader.stop(false)
		}
		forgetful.putBack()
		leader.stop(true)
		away.start()
		forgetful.start()
		run(t, w, 5*time.Second)
		if now, at := w.Leader(); now != 0 && at > term {
			t.Fatalf("seed %d: node %d leads without what was acknowledged", s, now)
		}
		leader.start()
		settle(t, w)
		if len(w.judge.acks) <= acknowledged || acknowledged < 20 {
			t.Errorf("seed %d: %d publishes were acknowledged before, %d in all", s, acknowledged, len(w.judge.acks))
		}
		if forgetful.tainted && !forgetful.refused {
			t.Errorf("seed %d: a node that was put back was neither refused nor has it caught up", s)
		}
	}
}
