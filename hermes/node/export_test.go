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

// ErrBehind is what a reader is told whose node's disk is late.
var ErrBehind = errBehind
