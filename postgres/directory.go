package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"wirelab"
)

// prefix begins the names of the directories that servers of ours live in.
const prefix = "wirelab-pg-"

// directory is where a server lives: its data, its socket, its log, and two
// locks. A lock belongs to the processes that have its file open, the server's
// own among them, and so it is free exactly when all of those are gone: a
// process id in a file can mean another process by now, this cannot.
type directory string

// data, log and the locks are what lies in a directory.
func (d directory) data() string  { return filepath.Join(string(d), "data") }
func (d directory) log() string   { return filepath.Join(string(d), "server.log") }
func (d directory) owned() string { return filepath.Join(string(d), "owned.lock") } // held by who started it, too
func (d directory) alive() string { return filepath.Join(string(d), "alive.lock") } // held by the server's processes alone

// postmaster is the server's own file with its process id.
func (d directory) postmaster() string { return filepath.Join(d.data(), "postmaster.pid") }

// clear removes the files by which servers keep others away.
func (d directory) clear() error {
	names, err := filepath.Glob(filepath.Join(string(d), ".s.PGSQL.*"))
	if err != nil {
		return err
	}
	for _, name := range append(names, d.postmaster()) {
		if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// socket is the folder of the Unix socket, or "" where its name would be
// longer than the system takes: 107 bytes with the socket's.
func (d directory) socket() string {
	if len(d)+len("/.s.PGSQL.65535") > 107 {
		return ""
	}
	return string(d)
}

// makeDirectory makes a directory for one server in parent and returns it with
// its first lock held.
func makeDirectory(parent string, as *identity) (directory, *os.File, error) {
	name, err := os.MkdirTemp(parent, prefix)
	if err != nil {
		return "", nil, err
	}
	d := directory(name)
	owned, err := lock(d.owned())
	if err == nil {
		err = as.chown(name)
	}
	if err != nil {
		if owned != nil {
			err = errors.Join(err, owned.Close())
		}
		return "", nil, errors.Join(err, os.RemoveAll(name))
	}
	return d, owned, nil
}

// errHeld is that some process holds a lock.
var errHeld = wirelab.Errorf(wirelab.Conflict, "the lock is held")

// lock takes a lock, or returns errHeld. It is given back when every process
// that has the file open has closed it.
func lock(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = errHeld
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// held reports whether a process holds a lock; no file, no lock.
func held(name string) (bool, error) {
	if _, err := os.Stat(name); errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	f, err := lock(name)
	if errors.Is(err, errHeld) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return false, f.Close()
}

// pause is how long is waited between two looks at what the system cannot be
// asked to tell of.
const pause = 5 * time.Millisecond

// released waits until a lock is free.
func released(ctx context.Context, name string) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-timer.C:
		}
		if is, err := held(name); err != nil || !is {
			return err
		}
		timer.Reset(pause)
	}
}

// staleAge is how old a directory must be to be swept: in a younger one a
// process may be about to take the lock.
const staleAge = time.Minute

// sweep removes the directories of servers whose processes are gone: killed
// with those who started them, nobody else would. What cannot be removed is
// another user's, and stays.
func sweep(parent string, now time.Time) {
	names, err := filepath.Glob(filepath.Join(parent, prefix+"*"))
	if err != nil {
		return // parent holds a character with a meaning of its own: nothing is swept
	}
	for _, name := range names {
		d := directory(name)
		about, err := os.Stat(d.owned())
		if err != nil || now.Sub(about.ModTime()) < staleAge {
			continue
		}
		if kept, err := os.Stat(filepath.Join(name, keptName)); err == nil && !kept.IsDir() {
			continue
		}
		owned, err := lock(d.owned())
		if err != nil {
			continue
		}
		if alive, err := held(d.alive()); err == nil && !alive {
			_ = os.RemoveAll(name)
		}
		_ = owned.Close() // it was only held
	}
}

// keptName is the file that says that a directory is to stay without a server.
const keptName = "kept"

// pid reads the process id that the server wrote into its data directory.
func (d directory) pid() (int, error) {
	text, err := os.ReadFile(d.postmaster())
	if err != nil {
		return 0, err
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(first))
	if err != nil || pid < 2 {
		return 0, fmt.Errorf("%s does not begin with a process id", d.postmaster())
	}
	return pid, nil
}

// words returns the last lines of the server's log, to be put at the end of a
// message. The log holds no statements and no passwords; see [settings].
func (d directory) words() string {
	text, err := os.ReadFile(d.log())
	if err != nil || len(text) == 0 {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) > 4 {
		lines = lines[len(lines)-4:]
	}
	return "; its last words: " + strings.Join(lines, " | ")
}
