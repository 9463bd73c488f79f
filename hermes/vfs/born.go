package vfs

import (
	"fmt"
	"sync/atomic"
)

// Dater is what a file system may be besides: Born tells when a file was made, so that a copy of it can be
// told from it, whatever times the copy was given. It is the same for as long as the file exists, under
// any name. The error is errors.ErrUnsupported where the system does not know.
type Dater interface {
	Born(name string) (string, error)
}

var (
	_ Dater = OS{}
	_ Dater = (*Memory)(nil)
)

// Born implements [Dater].
func (OS) Born(name string) (string, error) { return born(name) }

// births counts the files that were asked for their birth, of all file systems in memory.
var births atomic.Uint64

// Born implements [Dater].
func (m *Memory) Born(name string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, _, f, err := m.find("stat", name)
	if err != nil {
		return "", err
	}
	if f.born == 0 {
		f.born = births.Add(1)
	}
	return fmt.Sprint(f.born), nil
}

// Copy is a file system with copies of all files, as a backup program makes them: what is seen, all of it on disk.
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
