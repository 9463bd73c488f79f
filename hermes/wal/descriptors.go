package wal

import (
	"sync"

	"wirelab/hermes/vfs"
)

// descriptors are the files that a log has open to read: at most limit of them, whatever the log's size, and
// next to them those that are pinned, which are written. A file is opened when it is read, and closed when
// another one needs its place. Who is in the middle of a file keeps it.
type descriptors struct {
	fs    vfs.FS
	limit int

	mu      sync.Mutex // guards all below and in the handles
	changed sync.Cond  // a place is free, or a file is open
	open    int        // handles that have a place
	pinned  int        // handles that need none
	idle    handle     // a ring of those with a file that is not in use, the longest unused first
}

// handle is a file that is open now and then.
type handle struct {
	of         *descriptors
	name       string
	file       vfs.File // nil: it is not open
	users      int
	opening    bool
	pinned     bool
	prev, next *handle // in idle
}

func newDescriptors(fs vfs.FS, limit int) *descriptors {
	d := &descriptors{fs: fs, limit: limit}
	d.changed.L = &d.mu
	d.idle.prev, d.idle.next = &d.idle, &d.idle
	return d
}

// handle is a file's that is not open yet.
func (d *descriptors) handle(name string) *handle { return &handle{of: d, name: name} }

// pin is a file's that is written: it stays open until unpin or close.
func (d *descriptors) pin(name string, f vfs.File) *handle {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pinned++
	return &handle{of: d, name: name, file: f, users: 1, pinned: true}
}

// unpin tells that the file is only read from now on.
func (h *handle) unpin() {
	d := h.of
	d.mu.Lock()
	defer d.mu.Unlock()
	h.pinned = false
	d.pinned--
	d.open++
	h.leave()
}

// use gives the file, which stays open until done. It waits where all places are in use.
func (h *handle) use() (vfs.File, error) {
	d := h.of
	d.mu.Lock()
	defer d.mu.Unlock()
	for h.file == nil {
		if h.opening || d.open >= d.limit && !d.shed() {
			d.changed.Wait()
			continue
		}
		if err := h.openIt(); err != nil {
			return nil, err
		}
	}
	if h.next != nil {
		h.unlink()
	}
	h.users++
	return h.file, nil
}

// openIt opens the file, without mu in the meantime. Where the process or the system has no descriptor left,
// files that is not in use make room. With mu.
func (h *handle) openIt() error {
	d := h.of
	h.opening = true
	d.open++
	var f vfs.File
	var err error
	for again := true; again; again = vfs.Exhausted(err) && d.shed() {
		d.mu.Unlock()
		f, err = d.fs.OpenRead(h.name)
		d.mu.Lock()
	}
	h.opening = false
	d.changed.Broadcast()
	if err != nil {
		d.open--
		return noRoom(err)
	}
	h.file = f
	d.idle.prev.link(h) // until use takes it
	return nil
}

func (h *handle) done() {
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	h.leave()
}

// leave takes one user away. With mu.
func (h *handle) leave() {
	if h.users--; h.users > 0 {
		return
	}
	d := h.of
	d.idle.prev.link(h)
	if d.open > d.limit {
		d.shed()
	}
	d.changed.Broadcast()
}

// shed closes the file that was unused for longest; false: all are in use. With mu.
func (d *descriptors) shed() bool {
	h := d.idle.next
	if h == &d.idle {
		return false
	}
	h.unlink()
	_ = h.file.Close() // a file that was only read, or that is synced
	h.file = nil
	d.open--
	return true
}

// spare closes a file that is not in use, for one that is to be made; false: there is none.
func (d *descriptors) spare() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.shed()
}

// close closes the file, which is not in use but for who pinned it. It may be opened again.
func (h *handle) close() error {
	d := h.of
	d.mu.Lock()
	defer d.mu.Unlock()
	if h.file == nil {
		return nil
	}
	if h.next != nil {
		h.unlink()
	}
	if h.pinned {
		h.pinned = false
		d.pinned--
	} else {
		d.open--
	}
	err := h.file.Close()
	h.file, h.users = nil, 0
	d.changed.Broadcast()
	return err
}

// ReadAt is the file's.
func (h *handle) ReadAt(b []byte, at int64) (int, error) {
	f, err := h.use()
	if err != nil {
		return 0, err
	}
	defer h.done()
	return f.ReadAt(b, at)
}

// Size is the file's.
func (h *handle) Size() (int64, error) {
	f, err := h.use()
	if err != nil {
		return 0, err
	}
	defer h.done()
	return f.Size()
}

// count is how many are open.
func (d *descriptors) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.open + d.pinned
}

// link puts other behind h. With mu.
func (h *handle) link(other *handle) {
	other.prev, other.next = h, h.next
	h.next.prev, h.next = other, other
}

// unlink takes h out of the ring. With mu.
func (h *handle) unlink() {
	h.prev.next, h.next.prev = h.next, h.prev
	h.prev, h.next = nil, nil
}
