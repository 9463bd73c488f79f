package probe_test

import (
	"bufio"
	"io"
	"os/exec"
	"testing"
)

// shell is a shell that runs a script and answers lines with lines.
type shell struct {
	*exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
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

// burn is work for a shell, of some tens of milliseconds.
const burn = `i=0; while [ $i -lt 40000 ]; do i=$((i+1)); done`
