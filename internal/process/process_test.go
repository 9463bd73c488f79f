package process_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"wirelab/internal/affinity"
	"wirelab/internal/process"
)

// start starts a script and waits for the line that it begins with.
func start(t *testing.T, script string) (p *process.Process, first string, words *process.Words) {
	t.Helper()
	command := exec.Command("sh", "-c", script)
	words = &process.Words{}
	command.Stderr = words
	command.WaitDelay = time.Second
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if p, err = process.Start(command, affinity.Place{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Signal(syscall.SIGKILL)
		_ = p.Wait()
	})
	first, err = bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return p, strings.TrimSpace(first), words
}

// empty fails where a process of a group lives.
func empty(t *testing.T, p *process.Process) {
	t.Helper()
	if left, err := process.InGroup(p.PID()); err != nil || len(left) > 0 {
		t.Errorf("of the group %d there live %v: %v", p.PID(), left, err)
	}
}

// Nothing of a group lives after its end, whatever it makes of the signal; and it is
// killed only if it must be.
func TestEnd(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, script string
		grace        time.Duration
		killed       bool
		want         string
	}{
		{"it ends by the signal", `echo ready; exec sleep 3600`, time.Hour, false, "signal: terminated"},
		{"it ends well", `trap 'exit 0' TERM; echo ready; while :; do sleep 0.01; done`, time.Hour, false, ""},
		{
			"children end too", `(exec sleep 3600) & (exec sleep 3600) & echo ready; wait`,
			time.Hour, false, "signal: terminated",
		},
		{
			"it ignores the signal", `trap '' TERM; echo ready; exec sleep 3600`, time.Millisecond, true,
			"signal: killed",
		},
		{
			"an orphan ignores it", `(trap '' TERM; (echo ready; exec sleep 3600) &); exec sleep 3600`,
			time.Millisecond, true, "",
		},
		{"it is stopped", `echo ready; kill -STOP $$`, time.Hour, false, "signal: terminated"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p, _, _ := start(t, c.script)
			killed, err := p.End(syscall.SIGTERM, c.grace)
			if err != nil || killed != c.killed {
				t.Errorf("killed %v, %v", killed, err)
			}
			empty(t, p)
			// The orphan's parent may have ended by either signal.
			if err := p.Wait(); c.want != "" && (err == nil || err.Error() != c.want) {
				t.Errorf("it ended with %v, want %s", err, c.want)
			}
		})
	}
}

// Who waits for the first process waits for no other, and leaves none.
func TestWaitLeavesNothing(t *testing.T) {
	t.Parallel()
	p, first, _ := start(t, `trap '' TERM; (exec sleep 3600) & echo $!; exit 3`)
	if _, err := strconv.Atoi(first); err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	for range 2 {
		if err := p.Wait(); err == nil || err.Error() != "exit status 3" {
			t.Errorf("it ended with %v", err)
		}
	}
	empty(t, p)
	p.Signal(syscall.SIGKILL) // reaches no one
}

// The end of what was written is kept, cut to what fits into a message.
func TestWords(t *testing.T) {
	t.Parallel()
	var also bytes.Buffer
	w := &process.Words{Also: &also}
	if w.Last() != "" || w.Lines(3) != nil {
		t.Errorf("before any: %q", w.Last())
	}
	for _, text := range []string{"one\ntw", "o\nthree\nfo", "ur\n\n"} {
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.Last(); got != "; its last words: two | three | four" {
		t.Errorf("last words %q", got)
	}
	if got := strings.Join(w.Lines(9), ","); got != "one,two,three,four" {
		t.Errorf("lines %q", got)
	}
	if also.String() != "one\ntwo\nthree\nfour\n\n" {
		t.Errorf("told on: %q", also.String())
	}
	long := strings.Repeat("é", 1<<20)
	if n, err := io.WriteString(w, long); n != len(long) || err != nil {
		t.Errorf("wrote %d: %v", n, err)
	}
	if got := w.Last(); len(got) > 5000 || !strings.HasSuffix(got, "é") {
		t.Errorf("of a long line %d bytes are reported", len(got))
	}
}

// How a process ended is reported, and whether that was by SIGKILL; one that is gone is signalled in vain.
func TestRun(t *testing.T) {
	t.Parallel()
	var none *process.Process
	if none.PID() != 0 {
		t.Error("no process has an id")
	}
	for signal, killed := range map[syscall.Signal]bool{syscall.SIGKILL: true, syscall.SIGTERM: false} {
		command := exec.Command("cat")
		if _, err := command.StdinPipe(); err != nil {
			t.Fatal(err)
		}
		p, err := process.Run(command, affinity.Place{CPUs: []int{0}})
		if err != nil {
			t.Fatal(err)
		}
		status, err := os.ReadFile("/proc/" + strconv.Itoa(p.PID()) + "/status")
		if err != nil || !strings.Contains(string(status), "Cpus_allowed_list:\t0\n") {
			t.Errorf("it may run elsewhere than on core 0: %v", err)
		}
		if err := p.Err(); err != nil {
			t.Errorf("it runs, and has ended with %v", err)
		}
		p.Signal(signal)
		<-p.Done()
		if p.Err() == nil || p.Killed() != killed {
			t.Errorf("after %v: %v, killed %v", signal, p.Err(), p.Killed())
		}
		p.Signal(signal)
		p.SignalFirst(signal)
	}
	if _, err := process.Run(exec.Command("/no/such/program"), affinity.Place{}); err == nil {
		t.Error("a program that is not there runs")
	}
}

// A server that ends by itself leaves no zombie, and a signal to the first process alone reaches no other of its
// group.
func TestRunLeavesNoZombie(t *testing.T) {
	t.Parallel()
	command := exec.Command("sh", "-c", `trap 'exit 7' TERM
		(trap 'echo signalled; exit' TERM; echo helper; while :; do sleep 0.01; done) & wait`)
	output, end, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer output.Close()
	command.Stdout = end
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // kept: such a process is the first of a group too
	p, err := process.Run(command, affinity.Place{})
	if err := errors.Join(err, end.Close()); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(output)
	if first, err := lines.ReadString('\n'); err != nil || first != "helper\n" {
		t.Fatalf("the helper said %q: %v", first, err)
	}
	if err := p.Err(); err != nil {
		t.Errorf("it runs, and has ended with %v", err)
	}
	p.SignalFirst(syscall.SIGTERM)
	<-p.Done()
	if err := p.Err(); err == nil || err.Error() != "exit status 7" {
		t.Errorf("it ended with %v", err)
	}
	if _, err := process.ReadLineage(p.PID()); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("it is still there: %v", err)
	}
	empty(t, p)
	if rest, err := io.ReadAll(lines); err != nil || len(rest) > 0 {
		t.Errorf("the helper said %q: %v", rest, err)
	}
}
