package postgres

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"wirelab/internal/daemon"
)

// prefix begins the names of the directories that servers of ours live in.
const prefix = "wirelab-pg-"

// directory is where a server lives: its data, its socket, its log, and two
// locks. The server's processes have both files open: see [daemon.Lock].
type directory string

// data, log and the locks are what lies in a directory.
func (d directory) data() string  { return filepath.Join(string(d), "data") }
func (d directory) log() string   { return filepath.Join(string(d), "server.log") }
func (d directory) owned() string { return daemon.Owned(string(d)) } // held by who started it, too
// Held by the server's processes alone.
func (d directory) alive() string { return filepath.Join(string(d), "alive.lock") }

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

// sweep removes the directories of servers whose processes are gone: killed with those who started them, no
// other would. What cannot be removed is another user's, and stays.
func sweep(parent string, now time.Time) {
	for _, name := range daemon.Left(parent, prefix, now) {
		if kept, err := os.Stat(filepath.Join(name, keptName)); err == nil && !kept.IsDir() {
			continue
		}
		daemon.Reclaim(name, func() bool {
			alive, err := daemon.Held(directory(name).alive())
			return err == nil && !alive
		})
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
