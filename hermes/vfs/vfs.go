// Package vfs is the file system interface of the log, with two implementations: the operating system's, and
// one in memory that loses unsynced data, tears writes, fills up and fails.
package vfs

import (
	"errors"
	"io"
	"syscall"
)

// ErrLocked is in the error of Lock where another process holds the directory.
var ErrLocked = errors.New("in use by another process")

// Full reports whether something was not written for want of room, or of quota.
func Full(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// Exhausted reports whether a file was not opened since the process, or the system, has as many open
// as it may have.
func Exhausted(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// FS is a file system. Paths are slash-separated, as of package path/filepath.
type FS interface {
	MkdirAll(dir string) error
	// Create makes a file with that many bytes of zeros allocated for it; one that exists is an error.
	Create(name string, size int64) (File, error)
	Open(name string) (File, error)     // to read and write
	OpenRead(name string) (File, error) // to read
	Remove(name string) error
	Rename(from, to string) error
	List(dir string) ([]string, error) // names, sorted
	SyncDir(dir string) error
	Free(dir string) (bytes uint64, err error)
	// Lock keeps every other process, and this one, from locking the directory. What it gives
	// may be a Syncer besides.
	Lock(dir string) (io.Closer, error)
}

// Syncer is a directory that is locked: Sync is SyncDir, and needs no file to be opened.
type Syncer interface {
	Sync() error
}

// Reserver is what a file system may be besides: Reserve is Create but that the zeros
// need not be written, which is quicker to make and slower to sync.
type Reserver interface {
	Reserve(name string, size int64) (File, error)
}

// File is a file. Sync is fdatasync: data, and the metadata to read it.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Sync() error
	Truncate(size int64) error
	Size() (int64, error)
}
