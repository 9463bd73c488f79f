package vfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// ErrCut is what everything gets that was opened before a power cut or a kill.
var ErrCut = errors.New("the process was ended by the test")

// Memory is a file system in memory, for tests and simulation. It keeps apart what processes see and what the
// disk has: a write reaches the disk with Sync of its file, a name with SyncDir of its directory. Work between
// the two is at the mercy of [Memory.Cut]. Directories are made safe at once. It does the same in the same
// order whenever it is asked the same.
type Memory struct {
	mu       sync.Mutex // guards all below and in its files
	dirs     map[string]*directory
	locks    map[string]bool
	life     int // raised by every cut; a handle of an earlier one is dead
	capacity uint64
	plan     Plan
	count    Counts
}

// directory is names, as seen, and the changes of them that the disk has not.
type directory struct {
	seen, safe map[string]*inode
	pending    []change
}

// change is a name that is given to a file, or taken away (nil). A rename is two
// that go together, as a journalling file system does it.
type change []struct {
	name string
	file *inode
}

// inode is a file's bytes, as seen and as on disk, and the writes between.
type inode struct {
	seen, safe []byte
	pending    []write
	created    uint64 // 0: it was not asked for
}

// write is one that was not synced. At -1 it is a truncation to size.
type write struct {
	at   int64
	data []byte
	size int64
}

// Op is the next operation.
type Op uint8

// The operations a plan is asked about: all that change something, and reads and opens.
const (
	Create Op = iota
	Write
	Sync
	Truncate
	Remove
	Rename
	SyncDir
	Read
	Open // of a file that is there
)

// Call is an operation that a plan may let fail. Number counts the changing ones from 1.
type Call struct {
	Op     Op
	Name   string
	At     int64 // Write, Read
	Bytes  int   // Write, Read
	Number int   // Read, Open: 0
}

// Plan says how a call fails: not (nil), or with an error, before which a Write may
// have done some of its bytes. It is called with the file system locked.
type Plan func(Call) (done int, err error)

// Counts are what was asked of the file system since it was made.
type Counts struct {
	Calls    int // that change something
	Syncs    int
	SyncDirs int
	Written  int64 // bytes, without Create's zeros
	Read     int64 // bytes
	Open     int   // files that are open now
}

// NewMemory is an empty file system that holds any amount.
func NewMemory() *Memory {
	return &Memory{
		dirs: map[string]*directory{"/": newDirectory(), ".": newDirectory()}, locks: map[string]bool{},
		capacity: 1 << 62,
	}
}

func newDirectory() *directory {
	return &directory{seen: map[string]*inode{}, safe: map[string]*inode{}}
}

var _ FS = (*Memory)(nil)

// Fail sets the plan by which calls fail; nil: none does. Errors are to be those of
// the system, syscall.EIO or syscall.ENOSPC. What a Sync that failed did not write
// is never written, though later Syncs succeed: so does Linux.
func (m *Memory) Fail(plan Plan) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.plan = plan
}

// SetCapacity bounds the bytes of all files: beyond it is ENOSPC.
func (m *Memory) SetCapacity(bytes uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.capacity = bytes
}

// Counts tells what was asked so far.
func (m *Memory) Counts() Counts {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.count
}

// ask counts a call and asks the plan.
func (m *Memory) ask(c Call) (done int, err error) {
	if c.Op != Read && c.Op != Open {
		m.count.Calls++
		c.Number = m.count.Calls
	}
	if m.plan == nil {
		return 0, nil
	}
	return m.plan(c)
}

func (m *Memory) used() (bytes uint64) {
	for _, d := range m.dirs {
		for _, f := range d.seen {
			bytes += uint64(len(f.seen))
		}
	}
	return bytes
}

func (m *Memory) parent(name string) (*directory, string, error) {
	name = path.Clean(name)
	d, ok := m.dirs[path.Dir(name)]
	if !ok {
		return nil, "", &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return d, path.Base(name), nil
}

// find gives the file of a name.
func (m *Memory) find(op, name string) (*directory, string, *inode, error) {
	d, base, err := m.parent(name)
	if err != nil {
		return nil, "", nil, err
	}
	f, ok := d.seen[base]
	if !ok {
		return nil, "", nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
	}
	return d, base, f, nil
}

// MkdirAll makes a directory and those above it.
func (m *Memory) MkdirAll(dir string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for dir = path.Clean(dir); dir != "." && dir != "/"; dir = path.Dir(dir) {
		if m.dirs[dir] == nil {
			m.dirs[dir] = newDirectory()
		}
	}
	return nil
}

// Create makes a file of zeros. They are on disk at once; the name is not.
func (m *Memory) Create(name string, size int64) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	d, base, err := m.parent(name)
	if err != nil {
		return nil, err
	}
	if d.seen[base] != nil {
		return nil, &fs.PathError{Op: "create", Path: name, Err: fs.ErrExist}
	}
	if _, err := m.ask(Call{Op: Create, Name: name}); err != nil {
		return nil, &fs.PathError{Op: "create", Path: name, Err: err}
	}
	if m.used()+uint64(size) > m.capacity {
		return nil, &fs.PathError{Op: "create", Path: name, Err: syscall.ENOSPC}
	}
	f := &inode{seen: make([]byte, size), safe: make([]byte, size)}
	d.change(change{{base, f}})
	m.count.Open++
	return &memoryFile{m: m, name: name, file: f, life: m.life, writable: true}, nil
}

func (d *directory) change(c change) {
	d.pending = append(d.pending, c)
	c.apply(d.seen)
}

func (c change) apply(names map[string]*inode) {
	for _, one := range c {
		if one.file == nil {
			delete(names, one.name)
		} else {
			names[one.name] = one.file
		}
	}
}

// Open opens a file to read and write.
func (m *Memory) Open(name string) (File, error) { return m.open(name, true) }

// OpenRead opens a file to read.
func (m *Memory) OpenRead(name string) (File, error) { return m.open(name, false) }

func (m *Memory) open(name string, writable bool) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, _, f, err := m.find("open", name)
	if err != nil {
		return nil, err
	}
	if _, err := m.ask(Call{Op: Open, Name: name}); err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	m.count.Open++
	return &memoryFile{m: m, name: name, file: f, life: m.life, writable: writable}, nil
}

// Remove removes a file; a process that has it open keeps it.
func (m *Memory) Remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	d, base, _, err := m.find("remove", name)
	if err != nil {
		return err
	}
	if _, err := m.ask(Call{Op: Remove, Name: name}); err != nil {
		return &fs.PathError{Op: "remove", Path: name, Err: err}
	}
	d.change(change{{base, nil}})
	return nil
}

// Rename gives a file another name of the same directory.
func (m *Memory) Rename(from, to string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	d, base, f, err := m.find("rename", from)
	if err != nil {
		return err
	}
	other, target, err := m.parent(to)
	if err != nil {
		return err
	}
	if other != d {
		return &fs.PathError{Op: "rename", Path: from, Err: fmt.Errorf("to %s, another directory: %w", to,
			errors.ErrUnsupported)}
	}
	if _, err := m.ask(Call{Op: Rename, Name: from}); err != nil {
		return &fs.PathError{Op: "rename", Path: from, Err: err}
	}
	d.change(change{{base, nil}, {target, f}})
	return nil
}

// List gives the names in a directory, files and directories, sorted.
func (m *Memory) List(dir string) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir = path.Clean(dir)
	d, ok := m.dirs[dir]
	if !ok {
		return nil, &fs.PathError{Op: "list", Path: dir, Err: fs.ErrNotExist}
	}
	var names []string
	for name := range d.seen {
		names = append(names, name)
	}
	for name := range m.dirs {
		if name != dir && path.Dir(name) == dir {
			names = append(names, path.Base(name))
		}
	}
	slices.Sort(names)
	return names, nil
}

// SyncDir makes the names in a directory safe.
func (m *Memory) SyncDir(dir string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	d, ok := m.dirs[path.Clean(dir)]
	if !ok {
		return &fs.PathError{Op: "sync", Path: dir, Err: fs.ErrNotExist}
	}
	m.count.SyncDirs++
	if _, err := m.ask(Call{Op: SyncDir, Name: dir}); err != nil {
		return &fs.PathError{Op: "sync", Path: dir, Err: err}
	}
	for _, c := range d.pending {
		c.apply(d.safe)
	}
	d.pending = nil
	return nil
}

// Free is the rest of the capacity.
func (m *Memory) Free(string) (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.capacity - min(m.used(), m.capacity), nil
}

// Lock locks a directory until the lock is closed, or a cut.
func (m *Memory) Lock(dir string) (io.Closer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir = path.Clean(dir)
	if m.locks[dir] {
		return nil, fmt.Errorf("directory %s is %w: %w", dir, ErrLocked, syscall.EWOULDBLOCK)
	}
	m.locks[dir] = true
	return &memoryLock{m, dir, m.life}, nil
}

type memoryLock struct {
	m    *Memory
	dir  string
	life int
}

func (l *memoryLock) Close() error {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	if l.life == l.m.life {
		delete(l.m.locks, l.dir)
	}
	return nil
}

// String lists the files and their sizes, for a failing test's log.
func (m *Memory) String() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var lines []string
	for dir, d := range m.dirs {
		for name, f := range d.seen {
			lines = append(lines, fmt.Sprintf("%s %d bytes, %d writes not synced", path.Join(dir, name), len(f.seen),
				len(f.pending)))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
