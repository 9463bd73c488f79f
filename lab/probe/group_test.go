package probe_test

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"wirelab/internal/process"
	"wirelab/lab/probe"
)

// startGroup starts a shell as the first process of a group. The group ends with the test.
func startGroup(t *testing.T, script string) *shell {
	t.Helper()
	s := &shell{Cmd: exec.Command("sh", "-c", script)}
	s.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	var err error
	if s.in, err = s.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := s.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.out = bufio.NewScanner(out)
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-s.Process.Pid, syscall.SIGKILL)
		_ = s.Wait()
	})
	return s
}

// askPID asks for a process that prints its id.
func (s *shell) askPID(t *testing.T, line string) int {
	t.Helper()
	pid, err := strconv.Atoi(s.ask(t, line))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// dead waits until a process that is not our child has ended.
func dead(t *testing.T, group, pid int) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		living, err := process.InGroup(group)
		if err != nil || time.Now().After(end) {
			t.Fatalf("process %d of group %d does not end: %v", pid, group, err)
		}
		if !slices.Contains(living, pid) {
			return
		}
	}
}

// holds does the work of [burn] in a process that then prints its id and lives until it is killed.
var holds = strings.ReplaceAll(burn, "$", `\$`) + `; echo \$\$; exec sleep 3600`

// No counter decreases, whichever process of a group ends: an orphan, which a tree does not include, a worker that
// was waited for, or a process with its own group and a parent in this one.
func TestGroupNeverFalls(t *testing.T) {
	t.Parallel()
	s := startGroup(t, `while read what; do case $what in
		orphan) sh -c '(sh -c "`+holds+`") &' ;;
		worker) sh -c '`+burn+`'; echo 0 ;;
		apart) setsid sh -c "`+holds+`" & ;;
		esac; done`)
	group, err := probe.NewGroup(s.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	var before probe.GroupUse
	read := func(after string, more bool, living int) {
		t.Helper()
		used, err := group.Read()
		if err != nil {
			t.Fatal(err)
		}
		if used.CPU < before.CPU || more && used.CPU < before.CPU+time.Millisecond {
			t.Errorf("after %s the CPU time went from %v to %v", after, before.CPU, used.CPU)
		}
		if u, b := used.Usage, before.Usage; u.VoluntaryWaits < b.VoluntaryWaits || u.Preemptions < b.Preemptions ||
			u.Waited < b.Waited || u.Runs < b.Runs || used.PeakBytes < before.PeakBytes {
			t.Errorf("after %s counts went from %+v to %+v", after, before, used)
		}
		if len(used.Living) != living {
			t.Errorf("after %s there live %v, want %d", after, used.Living, living)
		}
		if used.Usage.ResidentBytes == 0 || used.PeakBytes < used.Usage.ResidentBytes {
			t.Errorf("after %s %d bytes are resident, at most %d", after, used.Usage.ResidentBytes, used.PeakBytes)
		}
		before = used
	}
	read("the start", false, 1)
	orphan := s.askPID(t, "orphan")
	read("an orphan's work", true, 2)
	_ = syscall.Kill(orphan, syscall.SIGKILL)
	dead(t, s.Process.Pid, orphan)
	read("an orphan's end", false, 1)
	s.ask(t, "worker")
	read("a worker that began and ended", true, 1)
	apart := s.askPID(t, "apart")
	if living, err := process.InGroup(s.Process.Pid); err != nil || slices.Contains(living, apart) {
		t.Fatalf("the group has %v (%v), but %d should have left it", living, err, apart)
	}
	read("work in another group", true, 2)
	_ = syscall.Kill(apart, syscall.SIGKILL)
	dead(t, apart, apart) // it leads its own group
	s.ask(t, "worker")
	read("its end", true, 1)
}

// A group ends with its first process, even if others of it still live.
func TestGroupThatIsGone(t *testing.T) {
	t.Parallel()
	s := startGroup(t, `(sh -c 'echo ready; exec sleep 3600') & read line`)
	group, err := probe.NewGroup(s.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	s.answer(t)
	living, err := process.InGroup(s.Process.Pid)
	if err != nil || len(living) != 2 {
		t.Errorf("there live %v: %v", living, err)
	}
	s.in.Close()
	dead(t, s.Process.Pid, s.Process.Pid)
	if living, err = process.InGroup(s.Process.Pid); err != nil || len(living) != 1 {
		t.Errorf("after the first there live %v: %v", living, err)
	}
	// The process was not waited for yet, but counts as gone.
	if _, err := group.Read(); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("of a group whose first process is gone Read says %v, want %v", err, os.ErrProcessDone)
	}
}
