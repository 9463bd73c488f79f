package sim

import (
	"time"

	"go.etcd.io/raft/v3/raftpb"
)

// network carries messages between nodes, late, out of order, twice or not at all.
type network struct {
	world *World
	// cut[from][to]: messages that way are lost, and no one is notified.
	cut [][]bool
	// epoch[a][b] counts the breaks of the connection: what was under way at one is lost.
	epoch [][]int
	loss  float64
	slow  time.Duration // added to every message
}

func newNetwork(w *World) network {
	all := w.options.Nodes + w.options.Spare + 1
	n := network{world: w, loss: w.options.Loss}
	for range all {
		n.cut = append(n.cut, make([]bool, all))
		n.epoch = append(n.epoch, make([]int, all))
	}
	return n
}

// send carries a message, or does not.
func (n *network) send(from, to uint64, m *raftpb.Message) {
	w := n.world
	if to == 0 || int(to) >= len(n.cut) || n.cut[from][to] || w.chance(n.loss) {
		return
	}
	copies, sender := 1, w.nodes[from-1]
	life, stands, since := sender.life, sender.replica.Standing(), sender.since
	if w.chance(n.loss / 2) {
		copies = 2
	}
	for range copies {
		epoch := n.epoch[from][to]
		delay := n.slow + w.between(100*time.Microsecond, 600*time.Microsecond)
		if w.chance(0.02) {
			delay += w.between(0, 40*time.Millisecond) // it overtakes and is overtaken
		}
		w.after(delay, func() {
			if !n.cut[from][to] && epoch == n.epoch[from][to] {
				w.nodes[to-1].receive(hello{sender, life, stands, since}, m)
			}
		})
	}
}

// cutOff makes everything sent from one to another vanish.
func (n *network) cutOff(from, to uint64, off bool) { n.cut[from][to] = off }

// flap breaks the connections between two nodes; both are notified, and new ones stand
// at once.
func (n *network) flap(a, b uint64) {
	n.world.trace("flap %d-%d", a, b)
	n.drop(a, b)
	n.world.nodes[a-1].hears(b)
	n.world.nodes[b-1].hears(a)
}

// drop loses work under way between two nodes.
func (n *network) drop(a, b uint64) {
	n.epoch[a][b]++
	n.epoch[b][a]++
}

// gone tells the peers of a node that it refuses connections: those that can reach it.
func (n *network) gone(id uint64) {
	w := n.world
	for _, peer := range w.nodes {
		if peer.id == id {
			continue
		}
		n.drop(peer.id, id)
		if n.cut[peer.id][id] || n.cut[id][peer.id] || w.chance(0.1) {
			continue // it will find out by the silence
		}
		w.after(w.between(100*time.Microsecond, 2*time.Millisecond), func() { peer.hears(id) })
	}
}

// heal lets everything through again.
func (n *network) heal() {
	for i := range n.cut {
		clear(n.cut[i])
	}
	n.loss, n.slow = 0, 0
}
