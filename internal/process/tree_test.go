package process_test

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"wirelab/internal/process"
)

// shell is a shell that runs a script and answers lines with lines.
type shell struct {
	*exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

func startShell(t *testing.T, script string) *shell {
	t.Helper()
	s := &shell{Cmd: exec.CommandContext(t.Context(), "sh", "-c", script)}
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
	return s
}

// ask sends a line and returns the answer.
func (s *shell) ask(t *testing.T, line string) string {
	t.Helper()
	if _, err := io.WriteString(s.in, line+"\n"); err != nil {
		t.Fatal(err)
	}
	return s.answer(t)
}

func (s *shell) answer(t *testing.T) string {
	t.Helper()
	if !s.out.Scan() {
		t.Fatal("the shell said nothing:", s.out.Err())
	}
	return s.out.Text()
}

// end closes the shell's input, and returns what it and its children used, as the kernel reports it to the parent.
func (s *shell) end(t *testing.T) time.Duration {
	t.Helper()
	s.in.Close()
	if err := s.Wait(); err != nil {
		t.Fatal(err)
	}
	return s.ProcessState.UserTime() + s.ProcessState.SystemTime()
}

// burn is work for a shell that takes some tens of milliseconds.
const burn = `i=0; while [ $i -lt 40000 ]; do i=$((i+1)); done`

// Children and grandchildren that started and ended between two readings are included in the tree's use (grb-M13: the
// published benchmark did not observe the database).
func TestTreeKeepsThoseThatEnded(t *testing.T) {
	t.Parallel()
	s := startShell(t, `while read line; do sh -c '`+burn+`; sh -c "`+strings.ReplaceAll(burn, "$",
		`\$`)+`"; true'; echo done; done; true`)
	tree, err := process.NewTree(s.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	readings := []time.Duration{}
	for range 4 {
		used, err := tree.Read()
		if err != nil {
			t.Fatal(err)
		}
		if len(used.Living) != 1 || used.Living[0].PID != s.Process.Pid {
			t.Errorf("living are %v, want only the shell %d", used.Living, s.Process.Pid)
		}
		readings = append(readings, used.CPU)
		s.ask(t, "burn")
	}
	last, err := tree.Read()
	if err != nil {
		t.Fatal(err)
	}
	total := s.end(t)
	// Two clocks of the parent are rounded to ticks of 10 ms. The shell's own end comes after the last reading.
	const ticks = 20 * time.Millisecond
	if last.CPU > total+time.Millisecond || total-last.CPU > ticks+10*time.Millisecond {
		t.Errorf("the tree used %v, by its last reading %v", total, last.CPU)
	}
	if first := readings[0]; first > total/4 {
		t.Errorf("before any work %v of %v were used", first, total)
	}
	for i := 1; i < len(readings); i++ {
		if readings[i] <= readings[i-1] {
			t.Errorf("reading %d is %v, after %v and the same work again", i, readings[i], readings[i-1])
		}
	}
}

// When a child that was seen alive ends, the tree's use does not decrease, however little of it ticks show.
func TestTreeNeverFalls(t *testing.T) {
	t.Parallel()
	s := startShell(t,
		`while read line; do sh -c 'i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done; echo ready; read go'; echo done; done`)
	tree, err := process.NewTree(s.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	before, fell := time.Duration(0), time.Duration(0)
	for range 10 {
		s.ask(t, "begin")
		alive, err := tree.Read()
		if err != nil {
			t.Fatal(err)
		}
		if len(alive.Living) != 2 {
			t.Fatalf("living are %v, want the shell and its child", alive.Living)
		}
		s.ask(t, "go")
		over, err := tree.Read()
		if err != nil {
			t.Fatal(err)
		}
		fell = max(fell, before-alive.CPU, alive.CPU-over.CPU)
		before = over.CPU
	}
	if fell > 0 {
		t.Errorf("what the tree used fell by %v when a child ended", fell)
	}
	s.end(t)
}

// The error for a tree without a living root says so, both for a root that ended and for one that never existed.
func TestTreeThatIsGone(t *testing.T) {
	t.Parallel()
	s := startShell(t, `read line`)
	tree, err := process.NewTree(s.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	s.in.Close()
	_ = s.Wait() // read fails at the end of its input
	if _, err := tree.Read(); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("for a tree that is gone, Read returns %v, want %v", err, os.ErrProcessDone)
	}
	// The highest possible id; no process has it.
	if _, err := process.NewTree(1<<22 - 1); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("for a process that never existed, NewTree returns %v, want %v", err, os.ErrProcessDone)
	}
}

// The wall clock tells when a process began.
func TestTreeTellsWhenAProcessBegan(t *testing.T) {
	t.Parallel()
	before := time.Now()
	s := startShell(t, `read line; true`)
	after := time.Now()
	tree, err := process.NewTree(s.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	used, err := tree.Read()
	if err != nil {
		t.Fatal(err)
	}
	const near = 50 * time.Millisecond // for ticks, and two clocks that are read one after the other
	var at time.Time
	for range 100 { // a machine may pause between the two clocks, but not each time
		if at, err = process.StartedAt(used.Living[0].Began); err != nil {
			t.Fatal(err)
		}
		if !at.Before(before.Add(-near)) && !at.After(after.Add(near)) {
			break
		}
	}
	if at.Before(before.Add(-near)) || at.After(after.Add(near)) {
		t.Errorf("the shell began at %v, it was started between %v and %v", at, before, after)
	}
	if cores, err := tree.Cores(); err != nil || len(cores) == 0 {
		t.Errorf("the shell may run on %v: %v", cores, err)
	}
	s.end(t)
}

// The CPU clock runs while a process works, by no more than the time that
// passed on all its cores, and stands nearly still while it waits.
func TestCPUCountsWork(t *testing.T) {
	began := time.Now()
	before, err := process.CPU(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	sum := 0
	for time.Since(began) < 50*time.Millisecond {
		for i := range 10_000 {
			sum += i
		}
	}
	runtime.KeepAlive(sum)
	after, err := process.CPU(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	used, limit := after-before, time.Since(began)*time.Duration(runtime.NumCPU())
	if used <= 0 || used > limit {
		t.Errorf("%v of CPU used, want more than 0 and at most %v", used, limit)
	}
	if _, err := process.CPU(1<<22 - 1); err == nil { // the highest id there can be; none is near it
		t.Error("a process that is not there has a CPU clock")
	}
}
