package audit_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"wirelab"
	"wirelab/internal/leaktest"
	"wirelab/lab/audit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(leaktest.Patient(m)) }

func TestExecute(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		command, stdout, stderr string
		code                    wirelab.Code // 0 for no error
		say                     string
	}{
		"both outputs": {"echo out; echo err >&2", "out\n", "err\n", 0, ""},
		"a pipe":       {"echo a | tr a b", "b\n", "", 0, ""},
		"fails": {
			"echo half; echo why >&2; exit 3", "half\n", "why\n", wirelab.Unavailable,
			"the tool failed (exit status 3): why",
		},
		"fails quietly": {"exit 1", "", "", wirelab.Unavailable, "it printed nothing"},
		"is not there": {
			"no-such-tool-here -x", "", "no-such", wirelab.NotFound,
			"the program no-such-tool-here is not installed, or not on the PATH; install it",
		},
		"is killed": {"kill -9 $$", "", "", wirelab.Unavailable, "signal: killed"},
	} {
		o, took, err := audit.Execute(t.Context(), c.command)
		if o.Stdout != c.stdout || !strings.Contains(o.Stderr, c.stderr) || took <= 0 {
			t.Errorf("%s: %+v after %v", name, o, took)
		}
		if c.code == 0 && err != nil ||
			c.code != 0 && (wirelab.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.say)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A tool that prints without end neither fills the memory nor blocks.
func TestExecuteBoundsOutput(t *testing.T) {
	t.Parallel()
	o, _, err := audit.Execute(t.Context(), "head -c 67108865 /dev/zero; echo end >&2")
	if wirelab.CodeOf(err) != wirelab.Unavailable || len(o.Stdout) != 64<<20 || o.Stderr != "end\n" {
		t.Errorf("%d bytes, %q, %v", len(o.Stdout), o.Stderr, err)
	}
}

// When a tool is ended, everything that it started ends too, whether or not it obeys the signal. The same holds for
// processes left behind by a tool that ended well.
func TestExecuteEndsTheWholeGroup(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		command string
		cut     bool // by ctx, once both have said who they are
	}{
		"heeds": {"(sh -c 'echo $$ >DIR/a; echo x >DIR/ready; sleep 100') & wait", true},
		"does not": {"trap '' TERM; (sh -c 'trap \"\" TERM; echo $$ >DIR/a; echo x >DIR/ready; while :; do sleep 1; " +
			"done') & wait", true},
		"leaves": {"sh -c 'echo $$ >DIR/a; sleep 100' >/dev/null 2>&1 & while ! [ -s DIR/a ]; do :; done", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			why := errors.New("enough")
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			if c.cut {
				go func() {
					for {
						if text, _ := os.ReadFile(filepath.Join(dir, "ready")); len(text) > 0 || ctx.Err() != nil {
							cancel(why)
							return
						}
						time.Sleep(time.Millisecond)
					}
				}()
			}
			_, _, err := audit.Execute(ctx, strings.ReplaceAll(c.command, "DIR", dir))
			if c.cut != errors.Is(err, why) {
				t.Errorf("%v", err)
			}
			text, err := os.ReadFile(filepath.Join(dir, "a"))
			if err != nil {
				t.Fatal(err)
			}
			pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
			if err != nil {
				t.Fatal(err)
			}
			// A killed process stays a zombie until its new parent reaps it.
			for range 12_000 {
				if dead(pid) {
					return
				}
				time.Sleep(10 * time.Millisecond)
			}
			t.Errorf("process %d stayed behind", pid)
		})
	}
}

// dead reports whether a process is gone, or is a zombie that no process reaps.
func dead(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err != nil || strings.Contains(string(stat), ") Z ")
}
