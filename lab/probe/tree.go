package probe

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"wirelab/internal/process"
)

// Tree tells what a process and all that descend from it have used: a database
// server, say, that has a process for each connection. Descendants that ended
// are in it, whoever reads and however seldom. It is for one goroutine at a time.
//
// What a process used goes to its parent when that has waited for it, so it is
// lost only with an orphan: one whose parent ended first and that therefore is
// no descendant any more.
type Tree struct {
	root  int
	began uint64 // of the root, in ticks since the host started: process ids are used again
	group bool   // all of the root's process group belong to it as well
	last  map[int]branch
	// known is, for each process, the least that its ended children had used.
	known map[int]time.Duration
	// orphans is what those of the group used that ended as no living member's child.
	orphans time.Duration
}

// TreeUse is what a tree has used so far.
type TreeUse struct {
	// CPU is user and system time of all. That of living processes is exact to
	// the scheduler's accounting; of those that ended since the reading before,
	// up to two ticks of 10 ms may be counted only in a later one.
	CPU time.Duration
	// Read and Written are bytes from and to storage, what only passed through
	// the page cache left out; Storage tells whether they could be read, which
	// takes the same user or a privileged one.
	Read, Written uint64
	Storage       bool
	// Living are the processes there are, in no order.
	Living []TreeProcess
}

// TreeProcess is a living process of a tree.
type TreeProcess struct {
	PID   int
	Began uint64 // in ticks since the host started
	CPU   time.Duration
}

// branch is a process of a tree.
type branch struct {
	process.Lineage
	used time.Duration // by itself and by its children that ended
}

// NewTree returns the tree that begins with a living process. The error is
// [os.ErrProcessDone] where there is none.
func NewTree(pid int) (*Tree, error) {
	root, err := process.ReadLineage(pid)
	if err != nil {
		return nil, err
	}
	return &Tree{root: pid, began: root.Began, last: map[int]branch{}, known: map[int]time.Duration{}}, nil
}

// Root is the process that the tree begins with.
func (t *Tree) Root() int { return t.root }

// Cores are the CPUs that the root may run on; others of the tree may have
// been given fewer.
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

// Pin lets every process of the tree, and what they start, run on these CPUs only.
func (t *Tree) Pin(cpus []int) error {
	var set unix.CPUSet
	for _, cpu := range cpus {
		set.Set(cpu)
	}
	found, err := t.find()
	if err != nil {
		return err
	}
	// The root first, so that what it starts meanwhile is right already.
	all := append([]int{t.root}, slices.Collect(maps.Keys(found))...)
	for _, pid := range all {
		tasks, err := os.ReadDir(path.Join("/proc", strconv.Itoa(pid), "task"))
		if err != nil && !ended(err) {
			return err
		}
		for _, task := range tasks {
			id, err := strconv.Atoi(task.Name())
			if err != nil {
				return err
			}
			if err := unix.SchedSetaffinity(id, &set); err != nil && !ended(err) {
				return fmt.Errorf("pin process %d: %w", pid, err)
			}
		}
	}
	return nil
}

// Known is a process of this host that somebody knows by a number.
type Known struct {
	PID    int
	Parent int
	Began  uint64 // in ticks since the host started; see [StartedAt]
}

// KnownAs returns the processes of this host that know themselves by an id. In
// a container that is another one than here, and several may have the same.
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
			continue // it ended, or is nobody's business
		}
		if known(status, here) != pid {
			continue
		}
		one, err := process.ReadLineage(here)
		if err != nil {
			continue // it ended
		}
		all = append(all, Known{PID: here, Parent: one.Parent, Began: one.Began})
	}
	return all, nil
}

// known is the id by which a process knows itself: the last of those that its
// status gives, from the outermost namespace to its own. A kernel that does not
// tell has none, and then it is the one known here.
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
// meanwhile. A server that ends processes faster than its tree can be read
// does not stand still long enough to be measured.
const treeTries = 20

// Read returns what the tree has used so far. The error is
// [os.ErrProcessDone] where the root has ended.
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
		if !ended(err) {
			return TreeUse{}, err
		}
	}
	return TreeUse{}, fmt.Errorf("process %d: a descendant ended during each of %d readings", t.root, treeTries)
}

// find returns the processes of the tree with what their ended children had
// used. That is read before the clocks: what ends in between has no clock any
// more, and then all is read anew; the other way round it would count twice.
//
// All processes of the host are looked at, since the list of its children that
// a process has in /proc may leave some out while others end.
func (t *Tree) find() (map[int]process.Lineage, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	all := make(map[int]process.Lineage, len(entries))
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if one, err := process.ReadLineage(pid); err == nil {
			all[pid] = one
		} else if !errors.Is(err, os.ErrProcessDone) {
			return nil, err
		}
	}
	if root, ok := all[t.root]; !ok || root.Began != t.began || t.group && root.Zombie {
		return nil, fmt.Errorf("process %d: %w", t.root, os.ErrProcessDone)
	}
	tree := map[int]process.Lineage{}
	for pid := range all {
		// Every step goes to a process that lived when it was looked at; the
		// bound is for parents that changed while all were.
		for at, steps := pid, 0; at > 0 && steps < len(all); at, steps = all[at].Parent, steps+1 {
			if at == t.root || t.group && all[at].Group == t.root {
				tree[pid] = all[pid]
				break
			}
		}
	}
	return tree, nil
}

// add reads the clocks of the processes found, and adds all up.
func (t *Tree) add(found map[int]process.Lineage) (TreeUse, error) {
	sum := TreeUse{Storage: true}
	clocks := make(map[int]time.Duration, len(found))
	for pid := range found {
		cpu, err := CPU(pid)
		if errors.Is(err, unix.EINVAL) {
			err = unix.ESRCH // how the kernel says that there is no such clock
		}
		if err != nil {
			return sum, err
		}
		clocks[pid] = cpu
	}
	for pid := range found {
		switch read, written, err := readStorage(pid); {
		case errors.Is(err, fs.ErrPermission):
			// The kernel refuses it also of a process that is about to end, even to its own user.
			if ending(pid) && !found[pid].Zombie {
				return sum, unix.ESRCH
			}
			// That of a zombie is its parent's when it was waited for.
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

// remember credits the processes that ended since the last reading to the
// nearest ancestor that lives: at least what they had used then is in what the
// kernel counts there in ticks, and in small parts does not show.
func (t *Tree) remember(found map[int]process.Lineage) {
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
			at = t.last[at].Parent // the root lives
		}
		if t.last[at].Began != 0 {
			t.known[at] += was.used
		} else {
			t.orphans += was.used // of the group, and nobody's child in it
		}
		if _, again := found[pid]; !again {
			delete(t.known, pid)
		}
	}
}

// readStorage reads the bytes that a process, and its children that were
// waited for, had from and to storage.
func readStorage(pid int) (read, written uint64, err error) {
	text, err := os.ReadFile(path.Join("/proc", strconv.Itoa(pid), "io"))
	if err != nil {
		return 0, 0, err
	}
	read, written = storageOf(text)
	return read, written, nil
}

// ending reports whether a process has given its memory back, which is among the first that its end does.
func ending(pid int) bool {
	pages, err := os.ReadFile(path.Join("/proc", strconv.Itoa(pid), "statm"))
	return err != nil || strings.HasPrefix(string(pages), "0 ")
}

// storageOf reads /proc/PID/io. What was written and dropped from the page
// cache before it reached storage, as of a file that was deleted, was not written.
func storageOf(text []byte) (read, written uint64) {
	written, dropped := field(text, "write_bytes:"), field(text, "cancelled_write_bytes:")
	return field(text, "read_bytes:"), written - min(written, dropped)
}

// StartedAt is when a process began, by the wall clock as it stands now, to
// 10 ms; steps of that clock since then are not known.
func StartedAt(began uint64) (time.Time, error) {
	var boot unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot); err != nil {
		return time.Time{}, err
	}
	since := time.Duration(began) * (time.Second / ticksPerSecond)
	return time.Now().Add(since - time.Duration(boot.Nano())), nil
}

// affinity is which CPUs each thread of the tree may run on.
func (t *Tree) affinity() (map[int]unix.CPUSet, error) {
	found, err := t.find()
	if err != nil {
		return nil, err
	}
	all := map[int]unix.CPUSet{}
	for pid := range found {
		tasks, err := os.ReadDir(path.Join("/proc", strconv.Itoa(pid), "task"))
		if err != nil && !ended(err) {
			return nil, err
		}
		for _, task := range tasks {
			id, err := strconv.Atoi(task.Name())
			if err != nil {
				return nil, err
			}
			var set unix.CPUSet
			if err := unix.SchedGetaffinity(id, &set); err == nil {
				all[id] = set
			} else if !ended(err) {
				return nil, fmt.Errorf("CPUs of process %d: %w", pid, err)
			}
		}
	}
	return all, nil
}

func setAffinity(task int, set *unix.CPUSet) error {
	if err := unix.SchedSetaffinity(task, set); err != nil && !ended(err) {
		return fmt.Errorf("CPUs of process %d: %w", task, err)
	}
	return nil
}
