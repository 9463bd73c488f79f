package cluster

import (
	"context"
	"errors"
	"os"
	"sync"
	"syscall"

	"wirelab/internal/process"
)

// Node is a server with what its processes used, over its restarts too.
type Node struct {
	Server
	Name string // for people: "node 2"

	mu   sync.Mutex // guards all below
	tree *process.Tree
	now  process.TreeUse // as read last, of tree
	past process.TreeUse // of trees that ended
}

// NewNode returns a server as a node.
func NewNode(name string, s Server) *Node { return &Node{Server: s, Name: name} }

// Used returns what was used so far. What a node used between the last reading and
// its end is lost, so it is read before a node is ended.
func (n *Node) Used() (process.TreeUse, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if pid := n.PID(); n.tree == nil || n.tree.Root() != pid {
		n.past, n.now, n.tree = sum(n.past, n.now), process.TreeUse{}, nil
		if pid != 0 {
			tree, err := process.NewTree(pid)
			if err != nil && !errors.Is(err, os.ErrProcessDone) {
				return n.past, err
			}
			n.tree = tree
		}
	}
	if n.tree != nil {
		switch used, err := n.tree.Read(); {
		case errors.Is(err, os.ErrProcessDone): // the last reading stands
			n.now.Living = nil
		case err != nil:
			return n.past, err
		default:
			n.now = used
		}
	}
	all := sum(n.past, n.now)
	all.Living = n.now.Living
	return all, nil
}

func sum(a, b process.TreeUse) process.TreeUse {
	return process.TreeUse{CPU: a.CPU + b.CPU, Read: a.Read + b.Read, Written: a.Written + b.Written}
}

// Pause stops every process of the node, as a machine that hangs does; Resume lets them run again.
func (n *Node) Pause() error { return n.signal(syscall.SIGSTOP) }

// Resume is the end of Pause.
func (n *Node) Resume() error { return n.signal(syscall.SIGCONT) }

// signal sends a signal to every process of the node.
func (n *Node) signal(s syscall.Signal) error {
	used, err := n.Used()
	if err != nil {
		return err
	}
	for _, p := range used.Living {
		if err := syscall.Kill(p.PID, s); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
	}
	return nil
}

// Heal makes the node work again after its disk was full: by a restart, unless the server is a [Healer].
func (n *Node) Heal(ctx context.Context) error {
	if h, ok := n.Server.(Healer); ok {
		return h.Heal(ctx)
	}
	return n.Restart(ctx)
}
