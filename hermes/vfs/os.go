package vfs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// OS is the operating system's file system.
type OS struct{}

var (
	_ FS       = OS{}
	_ Reserver = OS{}
)

// zeros is what Create fills a file with, a piece at a time.
var zeros [1 << 20]byte

// MkdirAll makes a directory and those above it, and makes their names safe.
func (OS) MkdirAll(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return OS{}.SyncDir(filepath.Dir(filepath.Clean(dir)))
}

// Create writes the zeros and syncs them, piece by piece, rather than reserve room with fallocate: a write into
// a block that was only reserved makes the next fdatasync write the file system's journal too. Measured here
// with 2 KB appends, each synced: zeros 0.129 ms, fallocate 0.166 ms, a growing file 0.182 ms. The pieces keep
// the disk's queue short for others that sync in the meantime.
func (OS) Create(name string, size int64) (File, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for at := int64(0); at < size; at += int64(len(zeros)) {
		if _, err = f.WriteAt(zeros[:min(size-at, int64(len(zeros)))], at); err != nil {
			break
		}
		if err = dataSync(f); err != nil {
			break
		}
	}
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		_ = f.Close() // the first failure is the one to tell
		_ = os.Remove(name)
		return nil, err
	}
	return osFile{f}, nil
}

// Reserve has the file system set the room aside, and fails over to Create where it cannot.
func (OS) Reserve(name string, size int64) (File, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = reserve(f, size)
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		return osFile{f}, nil
	}
	_ = f.Close() // the first failure is the one to tell
	_ = os.Remove(name)
	if errors.Is(err, errors.ErrUnsupported) {
		return OS{}.Create(name, size)
	}
	return nil, err
}

// Open opens a file to read and write.
func (OS) Open(name string) (File, error) {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

// OpenRead opens a file to read.
func (OS) OpenRead(name string) (File, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

// Remove removes a file.
func (OS) Remove(name string) error { return os.Remove(name) }

// Rename gives a file another name, in place of the file of that name if there is one.
func (OS) Rename(from, to string) error { return os.Rename(from, to) }

// List gives the names in a directory, sorted.
func (OS) List(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	slices.Sort(names)
	return names, nil
}

// SyncDir makes the names in a directory safe.
func (OS) SyncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = f.Sync()
	if closing := f.Close(); err == nil {
		err = closing
	}
	return err
}

// Free tells how many bytes an ordinary user may still write.
func (OS) Free(dir string) (uint64, error) { return free(dir) }

// Lock holds a file named LOCK in the directory. The system lets go of it when the
// process ends, however it ends.
func (OS) Lock(dir string) (io.Closer, error) {
	f, err := os.OpenFile(filepath.Join(dir, "LOCK"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lock(f); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("directory %s is %w: %w", dir, ErrLocked, err)
	}
	open, err := os.Open(dir)
	if err != nil {
		_ = f.Close() // the first failure is the one to tell
		return nil, err
	}
	return osLock{f, open}, nil
}

// osLock is a locked directory. It is kept open, so that its names can be made safe when no
// more files can be opened.
type osLock struct{ file, dir *os.File }

var _ Syncer = osLock{}

func (l osLock) Sync() error { return l.dir.Sync() }

func (l osLock) Close() error { return errors.Join(l.dir.Close(), l.file.Close()) }

type osFile struct{ *os.File }

func (f osFile) Sync() error { return dataSync(f.File) }

func (f osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
