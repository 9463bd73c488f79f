package cluster

import (
	"errors"
	"os"
	"sync"
	"syscall"
	"time"

	"wirelab/lab/probe"
	"wirelab/system/cluster"
)

// meter is what a node's processes used, over its restarts too.
type meter struct {
	name   string
	server cluster.Server

	mu   sync.Mutex // guards all below
	tree *probe.Tree
	now  probe.TreeUse // as read last, of tree
	past probe.TreeUse // of trees that ended
}

// read returns what was used so far. What a node used between the last reading and
// its end by itself is lost; whoever ends one reads before.
func (m *meter) read() (probe.TreeUse, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if pid := m.server.PID(); m.tree == nil || m.tree.Root() != pid {
		m.past, m.now, m.tree = sum(m.past, m.now), probe.TreeUse{}, nil
		if pid != 0 {
			tree, err := probe.NewTree(pid)
			if err != nil && !errors.Is(err, os.ErrProcessDone) {
				return m.past, err
			}
			m.tree = tree
		}
	}
	if m.tree != nil {
		switch used, err := m.tree.Read(); {
		case errors.Is(err, os.ErrProcessDone): // the last reading stands
			m.now.Living = nil
		case err != nil:
			return m.past, err
		default:
			m.now = used
		}
	}
	all := sum(m.past, m.now)
	all.Living = m.now.Living
	return all, nil
}

func sum(a, b probe.TreeUse) probe.TreeUse {
	return probe.TreeUse{CPU: a.CPU + b.CPU, Read: a.Read + b.Read, Written: a.Written + b.Written}
}

// signal sends one to every process of the node.
func (m *meter) signal(s syscall.Signal) error {
	used, err := m.read()
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

// CPU is what each node's processes used so far, by name.
func (s *Cluster) CPU() (map[string]time.Duration, error) {
	all := map[string]time.Duration{}
	for _, a := range s.meters {
		used, err := a.read()
		if err != nil {
			return nil, err
		}
		all[a.name] = used.CPU
	}
	return all, nil
}
