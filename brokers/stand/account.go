package stand

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"wirelab/probe"
)

// meter is what a node's processes used, over its restarts too.
type meter struct {
	name string
	node node

	mu   sync.Mutex // guards all below
	tree *probe.Tree
	now  probe.TreeUse // as read last, of tree
	past probe.TreeUse // of trees that ended
}

// read returns what was used so far. What a node used between the last reading and
// its end by itself is lost; whoever ends one reads before.
func (a *meter) read() (probe.TreeUse, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if pid := a.node.PID(); a.tree == nil || a.tree.Root() != pid {
		a.past, a.now, a.tree = sum(a.past, a.now), probe.TreeUse{}, nil
		if pid != 0 {
			tree, err := probe.NewTree(pid)
			if err != nil && !errors.Is(err, os.ErrProcessDone) {
				return a.past, err
			}
			a.tree = tree
		}
	}
	if a.tree != nil {
		switch used, err := a.tree.Read(); {
		case errors.Is(err, os.ErrProcessDone): // the last reading stands
			a.now.Living = nil
		case err != nil:
			return a.past, err
		default:
			a.now = used
		}
	}
	all := sum(a.past, a.now)
	all.Living = a.now.Living
	return all, nil
}

func sum(a, b probe.TreeUse) probe.TreeUse {
	return probe.TreeUse{CPU: a.CPU + b.CPU, Read: a.Read + b.Read, Written: a.Written + b.Written}
}

// signal sends one to every process of the node.
func (a *meter) signal(s syscall.Signal) error {
	used, err := a.read()
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
func (s *Stand) CPU() (map[string]time.Duration, error) {
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

// memory is what a process holds in memory now, in bytes; 0 of one that is gone.
func memory(pid int) uint64 {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "statm"))
	if err != nil {
		return 0
	}
	words := strings.Fields(string(text))
	if len(words) < 2 {
		return 0
	}
	pages, err := strconv.ParseUint(words[1], 10, 64)
	if err != nil {
		return 0
	}
	return pages * uint64(os.Getpagesize())
}

// onDisk is what the files below a directory take on the disk now, in bytes. Files
// that go meanwhile are left out.
func onDisk(dir string) (all uint64) {
	_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return nil //nolint:nilerr // it is gone
		}
		if info, err := entry.Info(); err == nil {
			if of, ok := info.Sys().(*syscall.Stat_t); ok {
				all += uint64(of.Blocks) * 512
			}
		}
		return nil
	})
	return all
}

// written is how many bytes were written so far to the device that holds a directory,
// as the device counts them, whoever wrote; 0 where there is none. What the kernel
// counts for a process will not do: it counts a page cache's folio for each write into
// it, which said 77 kB for a message of 100 bytes.
func written(dir string) uint64 {
	var at unix.Stat_t
	if err := unix.Stat(dir, &at); err != nil {
		return 0
	}
	text, err := os.ReadFile(fmt.Sprintf("/sys/dev/block/%d:%d/stat", unix.Major(at.Dev), unix.Minor(at.Dev)))
	if err != nil {
		return 0
	}
	const sectorsWritten, sector = 6, 512 // Documentation/block/stat.rst
	words := strings.Fields(string(text))
	if len(words) <= sectorsWritten {
		return 0
	}
	n, _ := strconv.ParseUint(words[sectorsWritten], 10, 64) // 0 of what is no number
	return n * sector
}

// loopback is how many bytes went over the loopback so far.
func loopback() uint64 {
	text, err := os.ReadFile("/proc/net/dev")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		name, counts, _ := strings.Cut(line, ":")
		if words := strings.Fields(counts); strings.TrimSpace(name) == "lo" && len(words) > 8 {
			n, _ := strconv.ParseUint(words[8], 10, 64) // 0 of what is no number
			return n
		}
	}
	return 0
}
