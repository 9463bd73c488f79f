package process

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// InGroup returns the living processes of a process group, in no order. A zombie is none:
// it waits for who started it, does nothing, and cannot be ended.
func InGroup(group int) ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var all []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		// One that cannot be read has ended, or is another user's and hidden from us.
		if one, err := ReadLineage(pid); err == nil && one.Group == group && !one.Zombie {
			all = append(all, pid)
		}
	}
	return all, nil
}

// tick is the unit of times in /proc: USER_HZ is 100 on every Linux that Go runs on.
const tick = time.Second / 100

// Lineage is the part of /proc/PID/stat that says where a process belongs.
type Lineage struct {
	Parent int
	Group  int
	Began  uint64        // in ticks since the host started
	Reaped time.Duration // CPU time of children that were waited for, cut to ticks twice
	Zombie bool          // it has ended and was not waited for
}

// ReadLineage reads where a process belongs. It is [os.ErrProcessDone] where
// there is no such process.
func ReadLineage(pid int) (Lineage, error) {
	text, err := os.ReadFile(path.Join("/proc", strconv.Itoa(pid), "stat"))
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		err = os.ErrProcessDone
	}
	if err != nil {
		return Lineage{}, fmt.Errorf("process %d: %w", pid, err)
	}
	one, ok := lineageOf(string(text))
	if !ok {
		return Lineage{}, fmt.Errorf("process %d: /proc tells %q", pid, text)
	}
	return one, nil
}

// lineageOf reads a line of /proc/PID/stat: the state is its third field, then
// come parent and process group; the times of ended children are the 16th and
// 17th, the number of threads the 20th, when it began the 22nd. The second, the
// name, may hold anything, brackets too, so it ends at the last one.
func lineageOf(line string) (Lineage, bool) {
	fields := strings.Fields(line[strings.LastIndex(line, ")")+1:])
	if len(fields) < 20 {
		return Lineage{}, false
	}
	parent, err := strconv.Atoi(fields[1])
	group, errGroup := strconv.Atoi(fields[2])
	began, errBegan := strconv.ParseUint(fields[19], 10, 64)
	own, errOwn := strconv.ParseUint(fields[13], 10, 63)
	system, errSystem := strconv.ParseUint(fields[14], 10, 63)
	return Lineage{
		Parent: parent, Group: group, Began: began, Reaped: time.Duration(own+system) * tick,
		// A program whose first thread has ended looks like a zombie, and lives by its others.
		Zombie: fields[0] == "Z" && fields[17] == "1",
	}, errors.Join(err, errGroup, errBegan, errOwn, errSystem) == nil
}
