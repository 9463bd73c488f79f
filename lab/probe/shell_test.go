package probe_test

import (
	"bufio"
	"io"
	"os/exec"
	"testing"
	"time"
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

// ask sends a line and waits for the answer.
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

// end closes the shell's input and returns what it and its children used, as
// the kernel tells the one who waited for it.
func (s *shell) end(t *testing.T) time.Duration {
	t.Helper()
	s.in.Close()
	if err := s.Wait(); err != nil {
		t.Fatal(err)
	}
	return s.ProcessState.UserTime() + s.ProcessState.SystemTime()
}

// burn is work for a shell, of some tens of milliseconds.
const burn = `i=0; while [ $i -lt 40000 ]; do i=$((i+1)); done`
