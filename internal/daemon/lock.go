package daemon

import (
	"context"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"wirelab/wire/status"
)

// ErrHeld is that some process holds a lock.
var ErrHeld = status.Errorf(status.Conflict, "the lock is held")

// Lock takes a lock, or returns ErrHeld. It is given back when every process
// that has the file open has closed it: a child that inherits the file holds the
// lock too. So it is free exactly when all of those are gone. A process id in a
// file can mean another process by now, this cannot.
func Lock(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = ErrHeld
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Held reports whether a process holds a lock; no file, no lock.
func Held(name string) (bool, error) {
	if _, err := os.Stat(name); errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	f, err := Lock(name)
	if errors.Is(err, ErrHeld) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return false, f.Close()
}

// pause is how long is waited between two looks at a lock, which tells no one that it is free.
const pause = 5 * time.Millisecond

// Released waits until a lock is free, and takes it no longer than a look does.
func Released(ctx context.Context, name string) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-timer.C:
		}
		if is, err := Held(name); err != nil || !is {
			return err
		}
		timer.Reset(pause)
	}
}
