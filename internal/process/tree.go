package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Tree tells what a process and all that descend from it have used: a database
// server, say, that has a process for each connection. Descendants that ended
// are in it, also if it is read seldom. It is for one goroutine at a time.
//
// When a parent waits for a child, the kernel adds the child's use to the parent's. So only the use of an orphan is
// lost: its parent ended first, and it is then no descendant any more.
type Tree struct {
	root  int
	began uint64 // of the root, in ticks since the host started; identifies it, since ids are reused
	group bool   // all of the root's process group is included too
	last  map[int]branch
	// known is, for each process, a lower bound of what its ended children have used.
	known map[int]time.Duration
	// orphans is the use of group members that ended without a living parent in the group.
	orphans time.Duration
}

// TreeUse is the resource use of a tree so far.
type TreeUse struct {
	// CPU is the user and system time of all processes. For living processes it is as exact as the scheduler's
	// accounting. For processes that ended since the previous reading, up to two ticks of 10 ms may only appear in a
	// later reading.
	CPU time.Duration
	// Read and Written are bytes from and to storage, without those that only reached the page cache. Storage reports
	// whether they could be read, which needs the same user or a privileged one.
	Read, Written uint64
	Storage       bool
	// Living are the living processes, in no particular order.
	Living []TreeProcess
}

// TreeProcess is a living process of a tree.
type TreeProcess struct {
	PID   int
	Began uint64 // in ticks since the host started
	CPU   time.Duration
}

// branch is a process of a tree at a reading.
type branch struct {
	Lineage
	used time.Duration // by the process and its ended children
}

// NewTree returns the tree that begins with a living  The error is
// [os.ErrProcessDone] where there is none.
func NewTree(pid int) (*Tree, error) {
	root, err := ReadLineage(pid)
	if err != nil {
		return nil, err
	}
	return &Tree{root: pid, began: root.Began, last: map[int]branch{}, known: map[int]time.Duration{}}, nil
}

// NewGroupTree is NewTree, and all of the process group that the process is the first of belong to the tree as well.
func NewGroupTree(pid int) (*Tree, error) {
	tree, err := NewTree(pid)
	if err == nil {
		tree.group = true
	}
	return tree, err
}

// Root is the process id of the tree's root.
func (t *Tree) Root() int { return t.root }

// Cores are the CPUs that the root may run on. Other processes of the tree may have fewer.
func (t *Tree) Cores() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(t.root, &set); err != nil {
		return nil, fmt.Errorf("CPUs of process %d: %w", t.root, err)
	}
	var all []int
	for cpu := range len(set) * 64 {
		if set.IsSet(cpu) {
			all = append(all, cpu)
		}
	}
	return all, nil
}

// Known is a process of this host that has a number for others.
type Known struct {
	PID    int
	Parent int
	Began  uint64 // in ticks since the host started; see [StartedAt]
}

// KnownAs returns the processes of this host whose own id, as they see it, is pid. In a container that id differs
// from the host's, and several processes may have the same.
func KnownAs(pid int) ([]Known, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var all []Known
	for _, entry := range entries {
		here, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		status, err := os.ReadFile(path.Join("/proc", entry.Name(), "status"))
		if err != nil {
			continue // it ended, or is hidden from us
		}
		if known(status, here) != pid {
			continue
		}
		one, err := ReadLineage(here)
		if err != nil {
			continue // it ended
		}
		all = append(all, Known{PID: here, Parent: one.Parent, Began: one.Began})
	}
	return all, nil
}

// known is the id of a process in its own namespace. Its status lists the ids from the outermost namespace to its
// own, so it is the last one. If the kernel does not list them, it is the id on this host.
func known(status []byte, here int) int {
	for line := range strings.Lines(string(status)) {
		ids, ok := strings.CutPrefix(line, "NSpid:")
		if !ok {
			continue
		}
		words := strings.Fields(ids)
		if len(words) == 0 {
			break
		}
		if n, err := strconv.Atoi(words[len(words)-1]); err == nil {
			return n
		}
	}
	return here
}

// treeTries is how often a tree is read anew because a process of it ended
// during that. A server that ends processes faster than its tree can be read
// does not stand still long enough to be measured.
const treeTries = 20

// Read returns the resource use of the tree so far. The error is [os.ErrProcessDone] if the root has ended.
func (t *Tree) Read() (TreeUse, error) {
	for range treeTries {
		found, err := t.find()
		if err != nil {
			return TreeUse{}, err
		}
		used, err := t.add(found)
		if err == nil {
			return used, nil
		}
		if !gone(err) {
			return TreeUse{}, err
		}
	}
	return TreeUse{}, fmt.Errorf("process %d: a descendant ended during each of %d readings", t.root, treeTries)
}

// find returns the processes of the tree, with what their ended children have used. This is read before the clocks.
// If a process ends in between, its clock is missing, and everything is read again; in the other order it would be
// counted twice.
//
// All processes of the host are read, because the list of children in /proc may miss some while others end.
func (t *Tree) find() (map[int]Lineage, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	all := make(map[int]Lineage, len(entries))
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if one, err := ReadLineage(pid); err == nil {
			all[pid] = one
		} else if !errors.Is(err, os.ErrProcessDone) {
			return nil, err
		}
	}
	if root, ok := all[t.root]; !ok || root.Began != t.began || t.group && root.Zombie {
		return nil, fmt.Errorf("process %d: %w", t.root, os.ErrProcessDone)
	}
	tree := map[int]Lineage{}
	for pid := range all {
		// Each step leads to a process that was alive when it was read. The bound is needed because parents may have
		// changed during the reading.
		for at, steps := pid, 0; at > 0 && steps < len(all); at, steps = all[at].Parent, steps+1 {
			if at == t.root || t.group && all[at].Group == t.root {
				tree[pid] = all[pid]
				break
			}
		}
	}
	return tree, nil
}

// add reads the clocks of the processes and adds everything up.
func (t *Tree) add(found map[int]Lineage) (TreeUse, error) {
	sum := TreeUse{Storage: true}
	clocks := make(map[int]time.Duration, len(found))
	for pid := range found {
		cpu, err := CPU(pid)
		if errors.Is(err, unix.EINVAL) {
			err = unix.ESRCH // how the kernel reports that there is no such clock
		}
		if err != nil {
			return sum, err
		}
		clocks[pid] = cpu
	}
	for pid := range found {
		switch read, written, err := readStorage(pid); {
		case errors.Is(err, fs.ErrPermission):
			// The kernel also refuses this for a process that is about to end, even to the same user.
			if ending(pid) && !found[pid].Zombie {
				return sum, unix.ESRCH
			}
			// The counters of a zombie are added to its parent's when it is waited for.
			sum.Storage = sum.Storage && found[pid].Zombie
		case err != nil:
			return sum, err
		default:
			sum.Read, sum.Written = sum.Read+read, sum.Written+written
		}
	}
	if !sum.Storage {
		sum.Read, sum.Written = 0, 0
	}
	t.remember(found)
	now := make(map[int]branch, len(found))
	for pid, one := range found {
		t.known[pid] = max(t.known[pid], one.Reaped)
		used := clocks[pid] + t.known[pid]
		now[pid] = branch{one, used}
		sum.CPU += used
		if !one.Zombie {
			sum.Living = append(sum.Living, TreeProcess{PID: pid, Began: one.Began, CPU: clocks[pid]})
		}
	}
	sum.CPU += t.orphans
	t.last = now
	return sum, nil
}

// remember adds the use of processes that ended since the last reading to their nearest living ancestor. Their use at
// that reading is a lower bound of what the kernel will count there, since the kernel counts in ticks, and small
// parts may not show.
func (t *Tree) remember(found map[int]Lineage) {
	lives := func(pid int) bool {
		one, ok := found[pid]
		return ok && one.Began == t.last[pid].Began
	}
	for pid, one := range found {
		if was, ok := t.last[pid]; !ok || was.Began != one.Began {
			t.known[pid] = one.Reaped
		}
	}
	for pid, was := range t.last {
		if lives(pid) {
			continue
		}
		at := was.Parent
		for t.last[at].Began != 0 && !lives(at) {
			at = t.last[at].Parent // ends at the root, which is alive
		}
		if t.last[at].Began != 0 {
			t.known[at] += was.used
		} else {
			t.orphans += was.used // of the group, and no member's child
		}
		if _, again := found[pid]; !again {
			delete(t.known, pid)
		}
	}
}

// readStorage reads the bytes from and to storage of a process and its children that were waited for.
func readStorage(pid int) (read, written uint64, err error) {
	text, err := os.ReadFile(path.Join("/proc", strconv.Itoa(pid), "io"))
	if err != nil {
		return 0, 0, err
	}
	read, written = storageOf(text)
	return read, written, nil
}

// ending reports whether a process has released its memory, which is one of the first steps of its end.
func ending(pid int) bool {
	pages, err := os.ReadFile(path.Join("/proc", strconv.Itoa(pid), "statm"))
	return err != nil || strings.HasPrefix(string(pages), "0 ")
}

// storageOf reads /proc/PID/io. Data that was dropped from the page cache before it reached storage, such as that of
// a deleted file, does not count as written.
func storageOf(text []byte) (read, written uint64) {
	written, dropped := field(text, "write_bytes:"), field(text, "cancelled_write_bytes:")
	return field(text, "read_bytes:"), written - min(written, dropped)
}

// StartedAt converts the start of a process to wall time, to 10 ms. It uses the wall clock's current offset, so steps
// of that clock since then make it wrong.
func StartedAt(began uint64) (time.Time, error) {
	var boot unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot); err != nil {
		return time.Time{}, err
	}
	since := time.Duration(began) * tick
	return time.Now().Add(since - time.Duration(boot.Nano())), nil
}

// Lives reports whether a process that was seen lives, and is no other of the same id.
func (p TreeProcess) Lives() bool {
	one, err := ReadLineage(p.PID)
	return err == nil && one.Began == p.Began && !one.Zombie
}

// CPU returns the CPU time that all threads of the process, ended ones
// included, have used so far, in user and kernel mode together, exact to the
// scheduler's accounting (ns). /proc/PID/stat would tell it in ticks of 10 ms,
// a fifth of a slice; so the process's POSIX CPU clock is read instead.
func CPU(pid int) (time.Duration, error) {
	// clock_getcpuclockid(3): the id of a process's clock is ~pid << 3 | CPUCLOCK_SCHED.
	const cpuClockSched = 2
	clock := int32(^pid<<3 | cpuClockSched)
	var ts unix.Timespec
	if err := unix.ClockGettime(clock, &ts); err != nil {
		return 0, fmt.Errorf("CPU clock of process %d: %w", pid, err)
	}
	return time.Duration(ts.Nano()), nil
}

// field returns the number after a line's label, 0 if there is no such line.
func field(text []byte, label string) uint64 {
	for line := range strings.Lines(string(text)) {
		rest, ok := strings.CutPrefix(line, label)
		if !ok {
			continue
		}
		n, err := strconv.ParseUint(strings.TrimSpace(rest), 10, 64)
		if err != nil {
			return 0
		}
		return n
	}
	return 0
}

// gone reports whether an error says that a process or a thread is no longer there.
func gone(err error) bool { return errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) }
