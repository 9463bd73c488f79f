package daemon_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"wirelab/internal/affinity"
	"wirelab/internal/daemon"
	"wirelab/internal/process"
	"wirelab/wire/status"
)

// A lock is held as long as any process has its file open, a child too, and a
// wait for it ends with the last of them or with who waits.
func TestLock(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "lock")
	if is, err := daemon.Held(name); is || err != nil {
		t.Errorf("a lock that was never taken is held: %v, %v", is, err)
	}
	f, err := daemon.Lock(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := daemon.Lock(name); !errors.Is(err, daemon.ErrHeld) || status.CodeOf(err) != status.Conflict {
		t.Errorf("taken twice: %v", err)
	}
	child := exec.Command("cat") // until its input ends
	input, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	child.ExtraFiles = []*os.File{f}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if is, err := daemon.Held(name); !is || err != nil {
		t.Errorf("a child has the file open, and the lock is free: %v", err)
	}
	over, stop := context.WithCancel(t.Context())
	stop()
	if err := daemon.Released(over, name); !errors.Is(err, context.Canceled) {
		t.Errorf("who waits gave up: %v", err)
	}
	if err := input.Close(); err != nil {
		t.Fatal(err)
	}
	if err := daemon.Released(t.Context(), name); err != nil {
		t.Error(err)
	}
	if err := child.Wait(); err != nil {
		t.Error(err)
	}
}

// Only an old directory whose lock is free is removed, and only if nothing of
// its server is left.
func TestReclaim(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name            string
		old, held, gone bool
		stays           bool
	}{
		{"left behind", true, false, true, false},
		{"a process may be about to take the lock", false, false, true, true},
		{"its owner is there", true, true, true, true},
		{"some of its processes are there", true, false, false, true},
	} {
		parent := t.TempDir()
		at, owned, err := daemon.Make(parent, "server-", nil)
		if err != nil {
			t.Fatal(err)
		}
		if about, err := os.Stat(at); err != nil || about.Mode().Perm() != 0o700 {
			t.Errorf("others may look into it: %v, %v", about, err)
		}
		if c.old {
			then := time.Now().Add(-time.Hour)
			if err := os.Chtimes(daemon.Owned(at), then, then); err != nil {
				t.Fatal(err)
			}
		}
		if !c.held {
			if err := owned.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if left := daemon.Left(parent, "other-", time.Now()); left != nil {
			t.Errorf("%s: another's prefix finds %v", c.name, left)
		}
		reclaim := func() (stays bool) {
			for _, left := range daemon.Left(parent, "server-", time.Now()) {
				daemon.Reclaim(left, func() bool {
					if is, err := daemon.Held(daemon.Owned(left)); !is || err != nil {
						t.Errorf("%s: asked without the lock: %v", c.name, err)
					}
					return c.gone
				})
			}
			_, err := os.Stat(at)
			return !errors.Is(err, os.ErrNotExist)
		}
		// A process that another test forks has our lock until it becomes its own program, so the lock can outlive
		// what we close. Who finds it held leaves the directory to the next.
		stays := reclaim()
		for deadline := time.Now().Add(time.Minute); stays && !c.stays &&
			time.Now().Before(deadline); stays = reclaim() {
			time.Sleep(time.Millisecond)
		}
		if stays != c.stays {
			t.Errorf("%s: it stays %v, want %v", c.name, stays, c.stays)
		}
		_ = owned.Close() // it may be closed already
	}
}

// What a child is started with: never root, in its own group, dying with us or not, and nothing of our
// environment.
func TestIdentity(t *testing.T) {
	t.Parallel()
	as, err := daemon.Choose("A server", "no-such-user")
	if err != nil {
		t.Fatal(err)
	}
	if root := os.Geteuid() == 0; root != (as != nil) || root && as.Called() != "nobody" {
		t.Errorf("it runs as %s", as.Called())
	}
	bound, loose := as.Bound(syscall.SIGQUIT), as.Loose()
	if bound.Pdeathsig != syscall.SIGQUIT || !bound.Setpgid || bound.Setsid {
		t.Errorf("bound to us: %+v", bound)
	}
	if loose.Pdeathsig != 0 || !loose.Setsid {
		t.Errorf("outliving us: %+v", loose)
	}
	for _, a := range []*syscall.SysProcAttr{bound, loose} {
		if (a.Credential != nil) != (as != nil) || as != nil && a.Credential.Uid == 0 {
			t.Errorf("credential %+v", a.Credential)
		}
	}
	var names []string
	for _, variable := range daemon.Environment("/home") {
		name, _, _ := strings.Cut(variable, "=")
		names = append(names, name)
	}
	if want := []string{"PATH", "HOME", "LC_ALL", "TZ"}; !slices.Equal(names, want) {
		t.Errorf("a child sees %v, want %v", names, want)
	}
}

// A port is below those of clients, which could take it during a restart.
func TestFreePort(t *testing.T) {
	t.Parallel()
	for range 20 {
		if port, err := daemon.FreePort(); err != nil || port < 20000 || port >= 32000 {
			t.Errorf("port %d, %v", port, err)
		}
	}
}

// A wait for a server ends when it takes connections, when it ends, and when the
// limit does; an error says which, with the server's last words.
func TestReady(t *testing.T) {
	t.Parallel()
	bad := status.Errorf(status.Internal, "closing went wrong")
	for _, c := range []struct {
		name, does string
		limit      time.Duration
		after      int // tries until it takes one; 0: never
		try        error
		code       status.Code
		want       string
	}{
		{name: "it takes the third", does: "cat", limit: time.Hour, after: 3},
		{
			name: "the try fails though taken", does: "cat", limit: time.Hour, after: 1, try: bad,
			code: status.Internal,
			want: "closing went wrong",
		},
		{name: "it ends", does: "exit 3", limit: time.Hour, want: "it ended: exit status 3; words"},
		{
			name: "it ends well", does: "exit 0", limit: time.Hour, code: status.Unavailable,
			want: "it ended by itself before it took connections; words",
		},
		{
			name: "it is silent", does: "cat", limit: time.Millisecond, code: status.Unavailable,
			want: "it took no connections within 1ms; words",
		},
	} {
		command := exec.Command("sh", "-c", c.does)
		input, err := command.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		p, err := process.Run(command, affinity.Place{})
		if err != nil {
			t.Fatal(err)
		}
		tries := 0
		err = daemon.Ready(t.Context(), p, daemon.Waiting{
			Limit: c.limit, Every: time.Microsecond, Words: func() string { return "; words" },
			Try: func(context.Context) (bool, error) {
				tries++
				if tries == c.after {
					return true, c.try
				}
				return false, bad
			},
		})
		switch {
		case c.want == "":
			if err != nil || tries != c.after {
				t.Errorf("%s: %v after %d tries", c.name, err, tries)
			}
		case err == nil || !strings.Contains(err.Error(), c.want) || status.CodeOf(err) != c.code:
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		_ = input.Close() // it may have ended
		<-p.Done()
	}
}
