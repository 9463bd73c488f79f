package process

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

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
	// The root first, so that a process that it starts now is right already.
	all := append([]int{t.root}, slices.Collect(maps.Keys(found))...)
	for _, pid := range all {
		tasks, err := os.ReadDir(path.Join("/proc", strconv.Itoa(pid), "task"))
		if err != nil && !gone(err) {
			return err
		}
		for _, task := range tasks {
			id, err := strconv.Atoi(task.Name())
			if err != nil {
				return err
			}
			if err := unix.SchedSetaffinity(id, &set); err != nil && !gone(err) {
				return fmt.Errorf("pin process %d: %w", pid, err)
			}
		}
	}
	return nil
}

// PinUntil is [Tree.Pin], and returns what gives every process of the tree back the CPUs that
// it might run on before; one that was started in between gets those of the root.
func (t *Tree) PinUntil(cpus []int) (restore func() error, err error) {
	before, err := t.affinity()
	if err != nil {
		return nil, err
	}
	restore = func() error {
		now, err := t.affinity()
		if errors.Is(err, os.ErrProcessDone) {
			return nil
		}
		for task := range now {
			set, known := before[task]
			if !known {
				set = before[t.root]
			}
			err = errors.Join(err, setAffinity(task, &set))
		}
		return err
	}
	if err := t.Pin(cpus); err != nil {
		return nil, errors.Join(err, restore())
	}
	return restore, nil
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
		if err != nil && !gone(err) {
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
			} else if !gone(err) {
				return nil, fmt.Errorf("CPUs of process %d: %w", pid, err)
			}
		}
	}
	return all, nil
}

func setAffinity(task int, set *unix.CPUSet) error {
	if err := unix.SchedSetaffinity(task, set); err != nil && !gone(err) {
		return fmt.Errorf("CPUs of process %d: %w", task, err)
	}
	return nil
}
