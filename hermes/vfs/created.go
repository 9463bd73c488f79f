package vfs

import (
	"fmt"
	"sync/atomic"
)

// Dater is what a file system may be besides: Born tells when a file was made, so that a copy of it can be
// told from it, whatever times the copy was given. It is the same for as long as the file exists, under
// any name. The error is errors.ErrUnsupported where the system does not know.
type Dater interface {
	Created(name string) (string, error)
}

var (
	_ Dater = OS{}
	_ Dater = (*Memory)(nil)
)

// Created implements [Dater].
func (OS) Created(name string) (string, error) { return created(name) }

// creations counts the files that were asked when they were created, of all file systems in memory.
var creations atomic.Uint64

// Created implements [Dater].
func (m *Memory) Created(name string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, _, f, err := m.find("stat", name)
	if err != nil {
		return "", err
	}
	if f.created == 0 {
		f.created = creations.Add(1)
	}
	return fmt.Sprint(f.created), nil
}

// Copy is a file system with copies of all files, as a backup program makes them: the seen state, all of it on
// disk.
func (m *Memory) Copy() *Memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := NewMemory()
	c.capacity = m.capacity
	for name, d := range m.dirs {
		to := newDirectory()
		for base, f := range d.seen {
			one := &inode{seen: append([]byte(nil), f.seen...), safe: append([]byte(nil), f.seen...)}
			to.seen[base], to.safe[base] = one, one
		}
		c.dirs[name] = to
	}
	return c
}
