package target_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"wirelab/internal/process"
	"wirelab/lab/control"
	"wirelab/lab/result"
	"wirelab/lab/target"
)

// The test binary is its own child: with this variable set it plays a part.
const part = "WIRELAB_TEST_PART"

func TestMain(m *testing.M) {
	if name := os.Getenv(part); name != "" {
		play(name)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// play is what the child does. All parts but mute begin with being ready.
func play(name string) {
	if name == "mute" {
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	}
	if name == "stillborn" {
		fmt.Fprintln(os.Stderr, "no address is left")
		os.Exit(4)
	}
	if name == "broken" {
		fmt.Println("this is no control line")
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	}
	_ = process.WriteLine(os.Stdout, control.Reply{Ready: &control.Ready{Address: "here:1"}})
	orders := process.NewReader[control.Order](os.Stdin)
	for {
		if _, err := orders.Read(); err != nil {
			break
		}
		switch name {
		case "good":
			var mask unix.CPUSet
			_ = unix.SchedGetaffinity(0, &mask)
			_ = process.WriteLine(os.Stdout, control.Reply{Usage: &result.Usage{Allocations: new(uint64(mask.Count()))}})
		case "refuses":
			_ = process.WriteLine(os.Stdout, control.Reply{Error: "not today"})
		case "dies":
			fmt.Fprintln(os.Stderr, "out of luck")
			os.Exit(3)
		case "hangs":
			// Says nothing; stops when told.
		}
	}
	switch name {
	case "stubborn":
		time.Sleep(time.Hour) // a child that does not stop
	case "sour":
		fmt.Fprintln(os.Stderr, "a lock was held")
		os.Exit(4)
	}
}

func start(t *testing.T, name string, cpus ...int) (*target.Process, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	return target.Start(ctx, process.Command{
		Name: "child", Path: os.Args[0], Args: []string{"-test.run=^$"}, Env: []string{part + "=" + name}, CPUs: cpus,
	})
}

func ask(ctx context.Context, p *target.Process) (control.Reply, error) {
	return p.Ask(ctx, control.Order{Usage: &struct{}{}})
}

// gone reports whether no such process is left: not even as a zombie.
func gone(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

func TestChildObeysAndStops(t *testing.T) {
	t.Parallel()
	p, err := start(t, "good")
	if err != nil {
		t.Fatal(err)
	}
	if p.Ready().Address != "here:1" {
		t.Errorf("ready %+v", p.Ready())
	}
	for range 3 {
		if r, err := ask(t.Context(), p); err != nil || r.Usage == nil {
			t.Fatalf("reply %+v, error %v", r, err)
		}
	}
	if err := p.Stop(); err != nil {
		t.Errorf("stopped with %v", err)
	}
	if err := p.Stop(); err != nil {
		t.Errorf("a second stop gave %v", err)
	}
	if !gone(p.PID()) {
		t.Error("the process is still there")
	}
}

// A child started on given cores has those cores and no others.
func TestChildRunsOnItsCores(t *testing.T) {
	t.Parallel()
	p, err := start(t, "good", firstCore(t))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stop()
	r, err := ask(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if *r.Usage.Allocations != 1 {
		t.Errorf("the child may run on %d cores, want 1", *r.Usage.Allocations)
	}
}

func firstCore(t *testing.T) int {
	t.Helper()
	var mask unix.CPUSet
	if err := unix.SchedGetaffinity(0, &mask); err != nil {
		t.Fatal(err)
	}
	for cpu := range 1024 {
		if mask.IsSet(cpu) {
			return cpu
		}
	}
	t.Fatal("this process may run nowhere")
	return 0
}

// Whatever a child does, the parent gets an error that says it, and no
// process stays behind.
func TestChildrenThatFail(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, atStart, atAsk, atStop string }{
		{"refuses", "", "not today", ""},
		{"dies", "", "out of luck", "exit status 3"},
		{"sour", "", "", "a lock was held"},
		{"broken", "control line", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p, err := start(t, c.name)
			if c.atStart != "" {
				wantError(t, "start", err, c.atStart)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if c.atAsk != "" {
				_, err = ask(t.Context(), p)
				wantError(t, "ask", err, c.atAsk)
			}
			err = p.Stop()
			if c.atStop != "" {
				wantError(t, "stop", err, c.atStop)
			} else if err != nil {
				t.Errorf("stop: %v", err)
			}
			if !gone(p.PID()) {
				t.Error("the process is still there")
			}
		})
	}
}

func wantError(t *testing.T, when string, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: error %v, want one with %q", when, err, want)
	}
}

// A child that never is ready is given up when the time is over.
func TestChildThatIsNeverReady(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := target.Start(ctx, process.Command{
		Name: "child", Path: os.Args[0], Args: []string{"-test.run=^$"}, Env: []string{part + "=mute"},
	})
	wantError(t, "start", err, "deadline exceeded")
}

// A child that dies before it is ready is told with its last words, once.
func TestChildThatDiesAtOnce(t *testing.T) {
	t.Parallel()
	_, err := start(t, "stillborn")
	wantError(t, "start", err, "died: exit status 4; its last words: no address is left")
	if err != nil && strings.Count(err.Error(), "no address") != 1 {
		t.Errorf("told more than once: %v", err)
	}
}

// An order that gets no reply ends with the caller's context.
func TestOrderWithoutReply(t *testing.T) {
	t.Parallel()
	p, err := start(t, "hangs")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = ask(ctx, p)
	wantError(t, "ask", err, "deadline exceeded")
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
}

// A child that does not stop is killed, and the error says so.
func TestStubbornChildIsKilled(t *testing.T) {
	t.Parallel()
	p, err := target.Start(t.Context(), process.Command{
		Name: "child", Path: os.Args[0], Args: []string{"-test.run=^$"}, Env: []string{part + "=stubborn"},
		Grace: 100 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	wantError(t, "stop", p.Stop(), "was killed")
	if !gone(p.PID()) {
		t.Error("the process is still there")
	}
}

func TestKilledChild(t *testing.T) {
	t.Parallel()
	p, err := start(t, "good")
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.Done():
		t.Error("it is over before it was killed")
	default:
	}
	p.Kill()
	<-p.Done() // whoever only waits hears of it
	_, err = ask(t.Context(), p)
	wantError(t, "ask", err, "killed")
	wantError(t, "stop", p.Stop(), "killed")
}

func TestProgramThatIsNotThere(t *testing.T) {
	t.Parallel()
	_, err := target.Start(t.Context(), process.Command{Name: "child", Path: "/no/such/program"})
	wantError(t, "start", err, "no such file")
}

// A parent that dies by kill -9 leaves no child behind.
func TestNoChildOutlivesItsParent(t *testing.T) {
	t.Parallel()
	parent := exec.Command(os.Args[0], "-test.run=^TestParentForTheKill$")
	parent.Env = append(os.Environ(), "WIRELAB_TEST_PARENT=1")
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	pid := 0
	lines := bufio.NewScanner(out)
	for pid == 0 && lines.Scan() {
		if text, ok := strings.CutPrefix(lines.Text(), "child "); ok {
			pid, _ = strconv.Atoi(text)
		}
	}
	if pid == 0 {
		t.Fatal("the parent did not tell its child's id")
	}
	_ = parent.Process.Kill()
	_ = parent.Wait()
	for deadline := time.Now().Add(time.Minute); !reaped(pid); {
		if time.Now().After(deadline) {
			t.Fatalf("child %d outlived its parent by a minute", pid)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// reaped reports whether a process that is not our child has ended: it is
// gone, or a zombie that its new parent has not collected.
func reaped(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(after, "Z")
}

// TestParentForTheKill is the parent of the test above, in a process of its own.
func TestParentForTheKill(t *testing.T) {
	if os.Getenv("WIRELAB_TEST_PARENT") == "" {
		return // nothing to do in the ordinary run
	}
	p, err := start(t, "stubborn")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("child %d\n", p.PID())
	select {}
}
