package vfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
)

// Overlay is a file system over another one, which it only reads: changes stay in memory, and is forgotten with
// the Overlay. So a log can be opened, and its end repaired, without a change of the directory. It is bounded
// by written data: Create takes no memory for the zeros. Lock is the lock of the file system below, so that it
// is not changed in the meantime.
type Overlay struct {
	below FS

	mu    sync.Mutex        // guards all below
	files map[string]*layer // by name; nil: the file was removed
}

// NewOverlay puts an empty one over a file system.
func NewOverlay(below FS) *Overlay { return &Overlay{below: below, files: map[string]*layer{}} }

var _ FS = (*Overlay)(nil)

// layer is what was changed of a file.
type layer struct {
	mu     sync.Mutex // guards all below
	name   string     // in the file system below; "": the file is not there
	length int64      // -1: as below
	kept   int64      // bytes of the file below that count; -1: all
	writes []write    // in the order they came
}

// MkdirAll makes nothing: the directory is there, or List tells that it is not.
func (o *Overlay) MkdirAll(string) error { return nil }

// Create implements [FS].
func (o *Overlay) Create(name string, size int64) (File, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	l, known := o.files[name]
	if !known {
		f, err := o.below.OpenRead(name)
		if err == nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", name, fs.ErrExist), f.Close())
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	} else if l != nil {
		return nil, fmt.Errorf("%s: %w", name, fs.ErrExist)
	}
	l = &layer{length: size}
	o.files[name] = l
	return layered{layer: l}, nil
}

// Open implements [FS].
func (o *Overlay) Open(name string) (File, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	l, known := o.files[name]
	switch {
	case !known:
		l = &layer{name: name, length: -1, kept: -1}
	case l == nil:
		return nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	case l.name == "":
		return layered{layer: l}, nil
	}
	f, err := o.below.OpenRead(l.name)
	if err != nil {
		return nil, err
	}
	o.files[name] = l
	return layered{layer: l, below: f}, nil
}

// OpenRead implements [FS].
func (o *Overlay) OpenRead(name string) (File, error) {
	f, err := o.Open(name)
	if err != nil {
		return nil, err
	}
	return readOnly{f}, nil
}

// readOnly is a file that was opened to read.
type readOnly struct{ File }

// WriteAt implements [File].
func (readOnly) WriteAt([]byte, int64) (int, error) { return 0, syscall.EBADF }

// Truncate implements [File].
func (readOnly) Truncate(int64) error { return syscall.EBADF }

// Remove implements [FS].
func (o *Overlay) Remove(name string) error {
	f, err := o.Open(name)
	if err != nil {
		return err
	}
	o.mu.Lock()
	o.files[name] = nil
	o.mu.Unlock()
	return f.Close()
}

// Rename implements [FS].
func (o *Overlay) Rename(from, to string) error {
	f, err := o.Open(from)
	if err != nil {
		return err
	}
	o.mu.Lock()
	o.files[to], o.files[from] = o.files[from], nil
	o.mu.Unlock()
	return f.Close()
}

// List implements [FS].
func (o *Overlay) List(dir string) ([]string, error) {
	names, err := o.below.List(dir)
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	dir = filepath.Clean(dir)
	for name, l := range o.files {
		if filepath.Dir(name) != dir {
			continue
		}
		base := filepath.Base(name)
		names = slices.DeleteFunc(names, func(n string) bool { return n == base })
		if l != nil {
			names = append(names, base)
		}
	}
	slices.Sort(names)
	return names, nil
}

// SyncDir does nothing.
func (o *Overlay) SyncDir(string) error { return nil }

// Free is plenty: nothing is written to a disk.
func (o *Overlay) Free(string) (uint64, error) { return 1 << 62, nil }

// Lock implements [FS].
func (o *Overlay) Lock(dir string) (io.Closer, error) { return o.below.Lock(dir) }

// layered is an open file.
type layered struct {
	*layer
	below File // nil: there is none
}

// ReadAt implements [File].
func (f layered) ReadAt(p []byte, at int64) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	size, err := f.bytes()
	if err != nil {
		return 0, err
	}
	if at >= size {
		return 0, io.EOF
	}
	whole := len(p)
	p = p[:min(int64(whole), size-at)]
	clear(p)
	if err := f.readBelow(p, at); err != nil {
		return 0, err
	}
	for _, w := range f.writes {
		from, to := max(at, w.at), min(at+int64(len(p)), w.at+int64(len(w.data)))
		if from < to {
			copy(p[from-at:to-at], w.data[from-w.at:])
		}
	}
	if len(p) < whole {
		return len(p), io.EOF
	}
	return len(p), nil
}

// readBelow fills p with what counts of the file below.
func (f layered) readBelow(p []byte, at int64) error {
	if f.below == nil {
		return nil
	}
	if f.kept >= 0 {
		p = p[:max(0, min(int64(len(p)), f.kept-at))]
	}
	_, err := f.below.ReadAt(p, at)
	if errors.Is(err, io.EOF) {
		return nil // bytes behind its end are zeros
	}
	return err
}

// bytes is the file's size. With mu.
func (f layered) bytes() (int64, error) {
	if f.length >= 0 {
		return f.length, nil
	}
	return f.below.Size()
}

// WriteAt implements [File].
func (f layered) WriteAt(p []byte, at int64) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	size, err := f.bytes()
	if err != nil {
		return 0, err
	}
	f.writes = append(f.writes, write{at: at, data: slices.Clone(p)})
	if end := at + int64(len(p)); end > size {
		f.length = end
	}
	return len(p), nil
}

// Truncate implements [File].
func (f layered) Truncate(size int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.kept < 0 || f.kept > size {
		f.kept = size
	}
	for i, w := range f.writes {
		f.writes[i].data = w.data[:max(0, min(int64(len(w.data)), size-w.at))]
	}
	f.length = size
	return nil
}

// Size implements [File].
func (f layered) Size() (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.bytes()
}

// Sync does nothing.
func (f layered) Sync() error { return nil }

// Close implements [File].
func (f layered) Close() error {
	if f.below == nil {
		return nil
	}
	return f.below.Close()
}
