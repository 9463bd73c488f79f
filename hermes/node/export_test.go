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

// ErrBehind is what a reader is told whose node's disk is late.
var ErrBehind = errBehind

// Level is the level that a node has applied.
func Level(n *Node) uint32 { return n.level.reached.Load() }
