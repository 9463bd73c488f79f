package node

// Waiting is how many proposals have no final verdict yet.
func Waiting(n *Node) int {
	count := make(chan int, 1)
	if !n.loop.call(func(l *loop) {
		if l == nil {
			count <- 0
			return
		}
		count <- len(l.pending)
	}) {
		return 0
	}
	return <-count
}

// Scrub reads the whole log of a node in search of damage, at once.
func (n *Node) Scrub() error {
	for after := uint64(0); ; {
		did, more, err := n.scrubber.next(after, 1<<50)
		if err != nil || !more {
			return err
		}
		after = did.Number
	}
}

// ErrBehind is the error of a reader whose node's disk is late.
var ErrBehind = errBehind

// Level is the level that a node has applied.
func Level(n *Node) uint32 { return n.level.reached.Load() }

// KnowsRoom is of how many other nodes one knows that they have room.
func KnowsRoom(n *Node) (known int) {
	n.rooms.mu.Lock()
	defer n.rooms.mu.Unlock()
	for _, has := range n.rooms.has {
		if has {
			known++
		}
	}
	return known
}

// Ticks is how often a node's loop has ticked.
func Ticks(n *Node) uint64 {
	ticks := make(chan uint64, 1)
	if !n.loop.call(func(l *loop) {
		if l == nil {
			ticks <- 0
			return
		}
		ticks <- l.ticks
	}) {
		return 0
	}
	return <-ticks
}
