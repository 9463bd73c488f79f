package node

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"

	"wirelab/hermes/core"
	"wirelab/hermes/peer"
	"wirelab/wire/status"
)

// bootstrap is a node's first taking part in a cluster that it begins with others. Raft builds on what a voter
// remembers: one that is started with an empty directory under the id of a voter would vote twice in a term,
// and count again towards a majority that holds what it no longer has: two leaders, and acknowledged messages
// lost. The empty directory itself cannot tell whether it is the first. So a directory has an incarnation, a
// node notes in its membership file the incarnation of each it meets, before it hears anything else of it, and
// one with an empty log takes part only once more than half of the others have noted its incarnation: any two
// such halves share a node, which remembers the first and refuses the second.
//
// The price is that of a new cluster of three all nodes must have been up once, together, before it begins.
// Asking fewer, such as those that are there, was refused: with two of three wiped or not started yet no node
// is left that could tell.
type bootstrap struct {
	n     *Node
	begun atomic.Bool // this node takes part
	need  int         // how many others must have noted it

	mu    sync.Mutex // guards all below
	noted map[uint64]bool
	why   error // a node refused this one; nil: none did, or one has welcomed it since
}

// newIncarnation is above all that stands for something.
func newIncarnation() uint64 { return rand.Uint64N(1<<62) + metBefore + 1 }

// begin tells, of a node with its current log, whether it takes part at once. One that was let in does: it is a
// learner, which no majority counts, and was asked for when it joined.
func (d *bootstrap) begin(blank, joined bool) error {
	b := d.n.membership
	if blank && b.stored() {
		return status.Errorf(status.Conflict,
			"the log in %s is gone, and %s is left of the directory: %s", d.n.options.Dir, membershipName,
			replaced(d.n.options.Self.ID))
	}
	others := len(d.n.options.Members) - 1
	if !blank || joined || others <= 0 {
		d.begun.Store(true)
		return nil
	}
	d.need = others/2 + 1
	d.n.logger.Info("this node has an empty directory and takes part once others have noted it", "needed", d.need, "of",
		others)
	return nil
}

// replaced is what to do about a member that lost its directory.
func replaced(id uint64) string {
	return fmt.Sprintf("take the node out (hermes cluster remove %d) and let a new one join under another id (hermes "+
		"server --join)", id)
}

// identityCheck is what the transport asks and tells.
func (d *bootstrap) identityCheck() peer.IdentityCheck {
	return peer.IdentityCheck{
		Incarnation: d.n.membership.incarnation(), Begun: d.begun.Load, Meet: d.n.membership.meet, Welcomed: d.welcomed,
		Refused:  d.refused,
		Standing: d.standing, Recall: d.recall, Knows: core.Level, Known: d.n.level.know,
		Full: d.n.cramped.Load, Heard: d.n.heard,
		Lineage: d.n.membership.lineage, Related: d.n.membership.related,
	}
}

// recall is asked once the node runs, by when custody is known.
func (d *bootstrap) recall(id uint64, s peer.Standing) error { return d.n.custody.recall(id, s) }

// standing is what this node has on disk, once it takes part.
func (d *bootstrap) standing() (peer.Standing, bool) {
	s := d.n.standing.Load()
	if s == nil || !d.begun.Load() {
		return peer.Standing{}, false
	}
	return peer.Standing(*s), true
}

// welcomed takes note of a node that has noted this one.
func (d *bootstrap) welcomed(id uint64) {
	d.mu.Lock()
	d.why = nil
	d.mu.Unlock()
	if d.begun.Load() {
		return
	}
	d.mu.Lock()
	d.noted[id] = true
	enough := len(d.noted) >= d.need
	d.mu.Unlock()
	if enough {
		d.begun.Store(true)
		d.n.logger.Info("enough nodes have noted this one: it takes part")
		d.n.loop.wakeUp()
	}
}

// refused ends a node that has stored nothing yet, or that has forgotten what it had. Any other is refused for the
// sake of one that took its id, or was put in its place, or of a cluster that was recovered without it: it
// does no harm, and says so while it knows no leader.
func (d *bootstrap) refused(id uint64, why error, forgotten bool) {
	d.mu.Lock()
	d.why = status.Errorf(status.Unavailable, "this node knows no leader, and node %d refuses it: %s", id,
		status.Public(why).Message)
	d.mu.Unlock()
	if forgotten || d.n.disk.synced.reached() == 0 {
		d.n.fail(status.Errorf(status.Conflict, "node %d does not take this one in: %s", id,
			status.Public(why).Message))
	}
}

// waits is why the node does not take part; nil: it does.
func (d *bootstrap) waits() error {
	if d.begun.Load() {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return status.Errorf(status.Unavailable,
		"this node began with an empty directory and takes part once %d of the other nodes have noted it; up to "+
			"now: %d",
		d.need, slices.Sorted(maps.Keys(d.noted)))
}

// refusal is why this node may know no leader; nil: it was not refused.
func (d *bootstrap) refusal() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.why
}

func (b *membership) incarnation() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.page.Incarnation
}

func (b *membership) stored() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.page.Stored
}

// keep notes that the log held something, and writes what could not be written before.
func (b *membership) keep() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.page.Stored && !b.late {
		return nil
	}
	b.page.Stored, b.late = true, true
	err := b.write()
	b.late = err != nil
	return err
}

// meet tells what to think of a node with that incarnation, and notes it. One without is of a version that knew
// of no incarnations.
func (b *membership) meet(id, incarnation uint64, begun bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := &b.page
	known, met := p.Met[id]
	_, member := p.Members[id]
	switch {
	case incarnation == 0 || known == incarnation:
		return nil
	case p.Removed[id]:
		if begun {
			return nil // it is on its way in again, or does not know yet
		}
		return status.Errorf(status.Conflict,
			"node %d was removed from this cluster: let a new one join under another id "+
				"(hermes server --join)", id)
	case met && (!begun || known != metBefore):
		return status.Errorf(status.Conflict,
			"node %d has taken part in this cluster with another directory, and what it voted for and "+
				"acknowledged is in "+
				"that one: %s", id, replaced(id))
	case !met && !begun && len(p.Members) > 0 && !member:
		return status.Errorf(status.Conflict,
			"this cluster has begun without node %d: let it join (hermes server --join)",
			id)
	}
	p.Met[id] = incarnation
	if err := b.write(); err != nil {
		delete(p.Met, id)
		if met {
			p.Met[id] = known
		}
		return status.Errorf(status.Unavailable, "node %d cannot be noted now: %v", id, err)
	}
	return nil
}
