package probe

import (
	"wirelab/internal/process"
	"wirelab/lab/plan"
	"wirelab/lab/result"
)

// Group tells what a process, all of its process group and all that descend from
// these have used: a server of any kind with its workers, whichever way it starts
// them. It is for one goroutine at a time.
//
// It counts what a [Tree] does, and orphans as long as they stay in the group. What an
// orphan used between the last reading and its end is lost; of a worker whose parent
// waits for it nothing is. What has left both, a daemon in a session of its own whose
// parent ended, is no longer seen.
type Group struct {
	tree    *Tree
	threads counted[groupThread]
	peak    uint64
}

// groupThread is a thread of a group, over ids that are used again.
type groupThread struct {
	pid   int
	began uint64 // of the process
	id    string
}

// GroupUse is what a group has used so far.
type GroupUse struct {
	TreeUse
	// Usage has the CPU time of the tree, and what threads waited and how often. Allocations
	// and the collector's work are not in it: the kernel does not know of them. Its
	// ResidentBytes are the sum over the living processes; memory that several share is
	// counted for each.
	Usage result.Usage
	// PeakBytes is the most that was resident so far. Between readings only each process's
	// own peak is known, and theirs are added: it may be too high, and never too low.
	PeakBytes uint64
}

// NewGroup returns the group that a living process is the first of. The error is
// [os.ErrProcessDone] where there is none.
func NewGroup(pid int) (*Group, error) {
	tree, err := NewTree(pid)
	if err != nil {
		return nil, err
	}
	tree.group = true
	return &Group{tree: tree}, nil
}

// Read returns what the group has used so far; no count is lower than at the reading
// before. The error is [os.ErrProcessDone] where the first process has ended.
func (g *Group) Read() (GroupUse, error) {
	used, err := g.tree.Read()
	if err != nil {
		return GroupUse{}, err
	}
	now := map[groupThread]thread{}
	resident, peak := uint64(0), uint64(0)
	for _, p := range used.Living {
		threads, err := readThreads(p.PID)
		if ended(err) {
			continue // meanwhile
		}
		if err != nil {
			return GroupUse{}, err
		}
		of := thread{} // the process
		for id, t := range threads {
			of.add(t)
			now[groupThread{p.PID, p.Began, id}] = t
		}
		resident, peak = resident+of.resident, peak+of.peak
	}
	g.peak = max(g.peak, peak)
	all := GroupUse{TreeUse: used, PeakBytes: g.peak}
	sum := g.threads.sum(now)
	sum.tell(&all.Usage)
	all.Usage.CPU, all.Usage.ResidentBytes = plan.Duration(used.CPU), resident
	return all, nil
}

// CPU is the clocks' part of [Group.Read], for who reads it close to what is measured.
func (g *Group) CPU() (TreeUse, error) { return g.tree.Read() }

// Lives reports whether a process that was seen lives, and is no other of the same id.
func (p TreeProcess) Lives() bool {
	one, err := process.ReadLineage(p.PID)
	return err == nil && one.Began == p.Began && !one.Zombie
}
