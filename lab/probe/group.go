package probe

import (
	"wirelab/internal/process"
	"wirelab/lab/plan"
	"wirelab/lab/result"
)

// Group measures a process, its process group and all their descendants: a server of any kind with its workers,
// however it starts them. It is for one goroutine at a time.
//
// It counts what a [process.Tree] does, and orphans as long as they stay in the group. What an
// orphan used between the last reading and its end is lost; of a worker whose parent
// waits for it nothing is. A process that has left both, such as a daemon in a new
// session whose parent ended, is no longer seen.
type Group struct {
	tree    *process.Tree
	threads counted[groupThread]
	peak    uint64
}

// groupThread identifies a thread of a group. Ids are reused, so the start time of the process is included.
type groupThread struct {
	pid   int
	began uint64 // start of the process
	id    string
}

// GroupUse is the resource use of a group so far.
type GroupUse struct {
	process.TreeUse
	// Usage has the CPU time of the tree, and the waiting times and context switches of threads. Allocations and
	// garbage collection are missing, because the kernel does not know them. ResidentBytes is the sum over the living
	// processes; shared memory is counted in each.
	Usage result.Usage
	// PeakBytes is the maximum of resident memory so far. Between readings only the peak of each process is known,
	// and these are added. So the value may be too high, but never too low.
	PeakBytes uint64
}

// NewGroup returns the group whose first process is pid. The error is [os.ErrProcessDone] if that process does not
// exist.
func NewGroup(pid int) (*Group, error) {
	tree, err := process.NewGroupTree(pid)
	if err != nil {
		return nil, err
	}
	return &Group{tree: tree}, nil
}

// Read returns the resource use of the group so far. No counter is lower than at the previous reading. The error is
// [os.ErrProcessDone] if the first process has ended.
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
			continue // it ended during the reading
		}
		if err != nil {
			return GroupUse{}, err
		}
		of := thread{} // the sum over the process
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

// CPU reads only the clocks of [Group.Read]. It is for readings close to the measured window.
func (g *Group) CPU() (process.TreeUse, error) { return g.tree.Read() }
