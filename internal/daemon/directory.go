package daemon

import (
	"errors"
	"os"
	"path/filepath"
	"time"
)

// Owned is the lock in a server's directory, which who started the server holds
// until it is stopped for good.
func Owned(directory string) string { return filepath.Join(directory, "owned.lock") }

// Make makes a directory for one server in parent, for the eyes of who it runs
// as alone, and returns it with its lock held. Its name begins with prefix, by
// which [Left] finds it.
func Make(parent, prefix string, as *Identity) (directory string, owned *os.File, err error) {
	directory, err = os.MkdirTemp(parent, prefix)
	if err != nil {
		return "", nil, err
	}
	owned, err = Lock(Owned(directory))
	if err == nil {
		err = as.Chown(directory)
	}
	if err != nil {
		if owned != nil {
			err = errors.Join(err, owned.Close())
		}
		return "", nil, errors.Join(err, os.RemoveAll(directory))
	}
	return directory, owned, nil
}

// staleAge is how old a directory must be to be swept: in a younger one a
// process may be about to take the lock.
const staleAge = time.Minute

// Left returns the directories in parent that are old enough to have been left
// behind; whether they were is for [Reclaim] to find out.
func Left(parent, prefix string, now time.Time) []string {
	names, err := filepath.Glob(filepath.Join(parent, prefix+"*"))
	if err != nil {
		return nil // parent holds a character with its own meaning: nothing is swept
	}
	var old []string
	for _, name := range names {
		about, err := os.Stat(Owned(name))
		if err == nil && now.Sub(about.ModTime()) >= staleAge {
			old = append(old, name)
		}
	}
	return old
}

// Reclaim removes the directory of a server that was killed with who started it: no other would. It does
// nothing where someone holds the lock. Gone, asked with the lock held, says whether nothing of the server is
// left to use it. What cannot be removed is another user's, and stays.
func Reclaim(directory string, gone func() bool) {
	owned, err := Lock(Owned(directory))
	if err != nil {
		return
	}
	if gone() {
		_ = os.RemoveAll(directory)
	}
	_ = owned.Close() // it was only held
}
