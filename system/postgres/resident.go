package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"wirelab"
	"wirelab/internal/daemon"
)

// Resident is a server of ours that stays when the command that started it is over, until it is stopped. One
// user has at most one.
type Resident struct {
	Version string    `json:"version"`
	Started time.Time `json:"started"`
	// Directory is where it lives. It stays when the server is killed, with
	// all that was committed.
	Directory string    `json:"directory"`
	Settings  []Setting `json:"settings"`
	PID       int       `json:"-"` // of its first process; 0: it does not run
	// Source is its connection string, which holds its password.
	Source string `json:"source"`
}

// Running finds the resident server; false if there is none or it does not run.
func Running(getenv func(string) string) (Resident, bool, error) {
	r, ok, err := Residing(getenv)
	return r, ok && r.PID != 0, err
}

// Residing finds the resident server or, with PID 0, what it left: it was
// stopped and its data kept, or it died.
func Residing(getenv func(string) string) (Resident, bool, error) {
	path, err := StatePath(getenv)
	if err != nil {
		return Resident{}, false, err
	}
	return readState(path)
}

// Reside returns the resident server, started if it does not run: on the data
// that it left, if it did. False if it ran already.
func Reside(ctx context.Context, o Options) (Resident, bool, error) {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	path, free, err := takeState(ctx, o.Getenv)
	if err != nil {
		return Resident{}, false, err
	}
	defer free()
	r, ok, err := readState(path)
	if err != nil || ok && r.PID != 0 {
		return r, false, err
	}
	var s *Server
	if ok {
		s, err = revive(ctx, o, r)
	} else {
		s, err = start(ctx, o, true)
	}
	if err != nil {
		return Resident{}, false, err
	}
	r = Resident{
		Version: s.Version(), Started: time.Now().UTC(), Directory: s.Directory(), Settings: s.Settings(), PID: s.PID(),
		Source: s.DSN(),
	}
	err = os.WriteFile(filepath.Join(r.Directory, keptName), nil, 0o600)
	if err == nil {
		err = writeState(path, r)
	}
	if err != nil {
		return Resident{}, false, errors.Join(err, s.Stop(context.WithoutCancel(ctx)))
	}
	return r, true, s.owned.Close() // from here on its own processes hold it
}

// revive starts a server on what another left, at the same address if that is
// still free.
func revive(ctx context.Context, o Options, r Resident) (*Server, error) {
	found, err := Find(ctx, o.Getenv)
	if err != nil {
		return nil, err
	}
	as, err := daemon.Choose("PostgreSQL", "postgres")
	if err != nil {
		return nil, err
	}
	config, err := parse(r.Source)
	if err != nil {
		return nil, err
	}
	s := &Server{
		found: found, as: as, at: directory(r.Directory), port: int(config.Port), password: config.Password,
		settings: r.Settings, cpus: o.CPUs, outlive: true,
	}
	if l, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", s.port)); err == nil {
		err = l.Close()
		if err != nil {
			return nil, err
		}
	} else if s.port, err = daemon.FreePort(); err != nil {
		return nil, err
	}
	s.settings = merge(s.settings, []Setting{{"port", fmt.Sprint(s.port)}})
	// The processes of one that was just killed take a moment to notice.
	waiting, cancel := context.WithTimeout(ctx, stopLimit)
	defer cancel()
	err = daemon.Released(waiting, s.at.owned())
	if err == nil {
		s.owned, err = daemon.Lock(s.at.owned())
	}
	if err != nil {
		return nil, fmt.Errorf("the server of before in %s: %w", r.Directory, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.run(ctx, database); err != nil {
		err = fmt.Errorf("start PostgreSQL %s on the data in %s (wirelab db stop --discard removes it): %w",
			found.Version,
			r.Directory, err)
		return nil, errors.Join(err, s.halt(context.WithoutCancel(ctx), syscall.SIGINT), s.owned.Close())
	}
	return s, nil
}

// Dismiss stops the resident server and, unless its data are to be kept, removes
// it with all it holds. False if there is none.
func Dismiss(ctx context.Context, getenv func(string) string, keep bool) (Resident, bool, error) {
	path, free, err := takeState(ctx, getenv)
	if err != nil {
		return Resident{}, false, err
	}
	defer free()
	r, ok, err := readState(path)
	if err != nil || !ok {
		return r, false, err
	}
	if err := end(ctx, directory(r.Directory)); err != nil || keep {
		return r, true, err
	}
	if err := os.RemoveAll(r.Directory); err != nil {
		return r, true, err
	}
	return r, true, os.Remove(path)
}

// end stops the server in a directory, no matter who started it.
func end(ctx context.Context, d directory) error {
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGKILL} {
		pid, err := d.running()
		if err != nil {
			return err
		}
		if pid != 0 {
			if err := syscall.Kill(pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("stop PostgreSQL with process id %d: %w", pid, err)
			}
		}
		waiting, cancel := context.WithTimeout(ctx, stopLimit)
		err = daemon.Released(waiting, d.alive())
		cancel()
		if err == nil || ctx.Err() != nil {
			return err
		}
	}
	return wirelab.Errorf(wirelab.Unavailable, "PostgreSQL in %s did not end", d)
}

// running returns the process id of the server in a directory, 0 if it does not
// run. The file that holds it may be of a server that was killed, and the
// number another process's by now: so the process must work in the directory.
func (d directory) running() (int, error) {
	is, err := daemon.Held(d.alive())
	if err != nil || !is {
		return 0, err
	}
	pid, err := d.pid()
	if err != nil {
		return 0, nil //nolint:nilerr // it is on its way up or down: the file comes and goes
	}
	where, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
	if err != nil || where != d.data() {
		return 0, nil //nolint:nilerr // gone, or not ours
	}
	return pid, nil
}

// StatePath returns where it is written down that there is a resident server, with its connection string, for
// the user's eyes alone: next to the results, which have a place for each user.
func StatePath(getenv func(string) string) (string, error) {
	if path := getenv("WIRELAB_STORE"); path != "" && !strings.Contains(path, "://") {
		return strings.TrimSuffix(path, filepath.Ext(path)) + "-postgres.json", nil
	}
	data := getenv("XDG_DATA_HOME")
	if !filepath.IsAbs(data) {
		home := getenv("HOME")
		if home == "" {
			return "", wirelab.Errorf(wirelab.InvalidArgument,
				"no place to note the running server: neither WIRELAB_STORE nor HOME is set; set WIRELAB_STORE "+
					"to a file")
		}
		data = filepath.Join(home, ".local", "share")
	}
	return filepath.Join(data, "wirelab", "results-postgres.json"), nil
}

// takeState returns the path of the state with the right to change it, which
// free gives back.
func takeState(ctx context.Context, getenv func(string) string) (path string, free func(), err error) {
	path, err = StatePath(getenv)
	if err != nil {
		return "", nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", nil, err
	}
	waiting, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for {
		f, err := daemon.Lock(path + ".lock")
		if err == nil {
			return path, func() { _ = f.Close() }, nil // it was only held
		}
		if !errors.Is(err, daemon.ErrHeld) {
			return "", nil, err
		}
		if daemon.Released(waiting, path+".lock") != nil {
			if ctx.Err() != nil {
				return "", nil, context.Cause(ctx)
			}
			return "", nil, wirelab.Errorf(wirelab.Unavailable, "another wirelab db command has been at work for %v",
				startLimit)
		}
	}
}

// readState reads the notes and looks whether it still is so.
func readState(path string) (Resident, bool, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return Resident{}, false, nil
	}
	if err != nil {
		return Resident{}, false, err
	}
	var r Resident
	if err := json.Unmarshal(text, &r); err != nil || r.Directory == "" {
		return Resident{}, false, wirelab.Errorf(wirelab.InvalidArgument, "%s cannot be read: remove it", path)
	}
	if _, err := os.Stat(directory(r.Directory).data()); errors.Is(err, os.ErrNotExist) {
		return Resident{}, false, nil // someone cleaned up
	}
	r.PID, err = directory(r.Directory).running()
	return r, true, err
}

// writeState writes it down, whole or not at all, for the owner's eyes.
func writeState(path string, r Resident) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // with mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
