package vfs

import (
	"io"
	"io/fs"
	"slices"
	"syscall"
)

// memoryFile is an open file of a Memory.
type memoryFile struct {
	m        *Memory
	name     string
	file     *inode
	life     int
	writable bool
	closed   bool
}

var _ File = (*memoryFile)(nil)

// usable tells why nothing may be done with the file, or nil.
func (f *memoryFile) usable(op string, writes bool) error {
	var err error
	switch {
	case f.life != f.m.life:
		err = ErrCut
	case f.closed:
		err = fs.ErrClosed
	case writes && !f.writable:
		err = fs.ErrPermission
	default:
		return nil
	}
	return f.failure(op, err)
}

func (f *memoryFile) failure(op string, err error) error {
	return &fs.PathError{Op: op, Path: f.name, Err: err}
}

func (f *memoryFile) ReadAt(p []byte, at int64) (int, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if err := f.usable("read", false); err != nil {
		return 0, err
	}
	if _, err := f.m.ask(Call{Op: Read, Name: f.name, At: at, Bytes: len(p)}); err != nil {
		return 0, f.failure("read", err)
	}
	if at >= int64(len(f.file.seen)) {
		return 0, io.EOF
	}
	n := copy(p, f.file.seen[at:])
	f.m.count.Read += int64(n)
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *memoryFile) WriteAt(p []byte, at int64) (int, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if err := f.usable("write", true); err != nil {
		return 0, err
	}
	done, err := f.m.ask(Call{Op: Write, Name: f.name, At: at, Bytes: len(p)})
	if err == nil {
		done = len(p)
		if grow := at + int64(len(p)) - int64(len(f.file.seen)); grow > 0 && f.m.used()+uint64(grow) > f.m.capacity {
			done, err = 0, syscall.ENOSPC
		}
	}
	if done > 0 {
		w := write{at: at, data: slices.Clone(p[:done])}
		f.file.pending = append(f.file.pending, w)
		w.apply(&f.file.seen)
		f.m.count.Written += int64(done)
	}
	if err != nil {
		return done, f.failure("write", err)
	}
	return done, nil
}

func (w write) apply(to *[]byte) {
	end := w.at + int64(len(w.data))
	if w.at < 0 {
		end = w.size
	}
	if w.at < 0 && end < int64(len(*to)) {
		*to = slices.Clip((*to)[:end])
	}
	if grow := end - int64(len(*to)); grow > 0 {
		*to = append(*to, make([]byte, grow)...)
	}
	if w.at >= 0 {
		copy((*to)[w.at:], w.data)
	}
}

func (f *memoryFile) Sync() error {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if err := f.usable("sync", true); err != nil {
		return err
	}
	f.m.count.Syncs++
	_, err := f.m.ask(Call{Op: Sync, Name: f.name})
	pending := f.file.pending
	f.file.pending = nil
	if err != nil {
		return f.failure("sync", err)
	}
	for _, w := range pending {
		w.apply(&f.file.safe)
	}
	return nil
}

func (f *memoryFile) Truncate(size int64) error {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if err := f.usable("truncate", true); err != nil {
		return err
	}
	if _, err := f.m.ask(Call{Op: Truncate, Name: f.name, At: size}); err != nil {
		return f.failure("truncate", err)
	}
	if grow := size - int64(len(f.file.seen)); grow > 0 && f.m.used()+uint64(grow) > f.m.capacity {
		return f.failure("truncate", syscall.ENOSPC)
	}
	w := write{at: -1, size: size}
	f.file.pending = append(f.file.pending, w)
	w.apply(&f.file.seen)
	return nil
}

func (f *memoryFile) Size() (int64, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if err := f.usable("stat", false); err != nil {
		return 0, err
	}
	return int64(len(f.file.seen)), nil
}

func (f *memoryFile) Close() error {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if err := f.usable("close", false); err != nil {
		return err
	}
	f.closed = true
	f.m.count.Open--
	return nil
}
