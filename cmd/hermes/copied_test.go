package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"wirelab/hermes/vfs"
	"wirelab/internal/porttest"
)

// machine is a node as a process, with a directory that outlives it.
type machine struct {
	*testing.T
	id    int
	grpc  string
	dir   string
	args  []string
	said  *safeBuffer
	run   *exec.Cmd
	ended chan error
}

// machines are the nodes of a cluster that is not begun yet.
func machines(t *testing.T, n int) (all []*machine) {
	t.Helper()
	var members []string
	dir := t.TempDir()
	for id := 1; id <= n; id++ {
		peer, grpc, http := porttest.Held(t), porttest.Held(t), porttest.Held(t)
		members = append(members, "--member", fmt.Sprintf("%d@%s,%s,%s", id, peer, grpc, http))
		all = append(all, &machine{T: t, id: id, grpc: grpc, dir: filepath.Join(dir, fmt.Sprint("n", id))})
	}
	for _, m := range all {
		m.args = append([]string{
			"server", "--id", fmt.Sprint(m.id), "--data-dir", m.dir, "--free-bytes", "1MiB", "--segment-bytes", "1MiB",
			"--tick",
			"20ms",
		}, members...)
	}
	return all
}

func (m *machine) start() {
	m.Helper()
	m.said, m.ended = new(safeBuffer), make(chan error, 1)
	m.run = exec.Command(os.Args[0], m.args...)
	m.run.Stdout, m.run.Stderr = m.said, m.said
	if err := m.run.Start(); err != nil {
		m.Fatal(err)
	}
	run, ended := m.run, m.ended
	go func() { ended <- run.Wait() }()
	m.Cleanup(m.kill)
}

// kill ends the process as a power cut does, but for what its machine had not written.
func (m *machine) kill() {
	if m.run == nil {
		return
	}
	_ = m.run.Process.Kill() // it may have ended
	<-m.ended
	m.run = nil
}

// over reports whether the process ended by itself.
func (m *machine) over() bool {
	select {
	case err := <-m.ended:
		m.ended <- err
		return true
	default:
		return false
	}
}

func (m *machine) at() map[string]string { return map[string]string{serverVariable: m.grpc} }

// soon waits for something.
func soon(t *testing.T, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !so(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it never came to this: %s", what)
		}
	}
}

// copyDir copies a directory as a backup does.
func copyDir(t *testing.T, from, to string) {
	t.Helper()
	if err := os.RemoveAll(to); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cp", "-a", from, to).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// A node comes back with an older copy of its directory, while the only node that knows what it had is away. The
// two that are there are a majority by number, and must acknowledge nothing: an offset would mean two messages.
func TestOlderCopyOfADirectory(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	t.Setenv(playHermes, "yes")
	all := machines(t, 3)
	one, two, three := all[0], all[1], all[2]
	for _, m := range all {
		m.start()
	}
	if _, err := (vfs.OS{}).Created(os.Args[0]); errors.Is(err, errors.ErrUnsupported) {
		t.Skip("the file system keeps no times of birth, by which a copy is known")
	}
	must(t, one.at(), "", "topic", "create", "t", "--timeout", "30s")
	must(t, one.at(), "", "cluster", "transfer", "1", "--timeout", "30s")
	var want []string
	more := func(n int) {
		for range n {
			want = append(want, fmt.Sprint("B", len(want)))
		}
		must(t, one.at(), "", append([]string{"pub", "t"}, want[len(want)-n:]...)...)
	}
	more(30)
	soon(t, "node 3 has a mark and all messages", func() bool {
		_, err := os.Stat(filepath.Join(three.dir, "birthmark"))
		_, out, _ := tried(t, three.at(), "", "topic", "show", "t")
		return err == nil && strings.Contains(out, "30")
	})
	older := three.dir + ".old"
	copyDir(t, three.dir, older)
	two.kill()
	more(30)
	three.kill()
	one.kill()
	copyDir(t, older, three.dir)
	two.start()
	three.start()
	soon(t, "node 3 says that its directory is a copy", func() bool {
		return strings.Contains(three.said.String(), "this directory is a copy")
	})
	if code, out, _ := tried(t, two.at(), "", "pub", "t", "C", "--timeout", "3s"); code == exitOK {
		t.Fatalf("two of three nodes say %q, and neither has what was acknowledged before", out)
	}
	one.start()
	soon(t, "the cluster works again", func() bool {
		code, _, _ := tried(t, one.at(), "", "pub", "t", "D", "--timeout", "1s")
		return code == exitOK
	})
	soon(t, "node 3 has been refused, or has caught up", func() bool {
		return three.over() || strings.Contains(three.said.String(), "has caught up on its copied directory")
	})
	left := []*machine{one, two}
	if !three.over() {
		left = append(left, three)
	}
	for _, m := range left {
		out := must(t, m.at(), "", "sub", "t", "--from", "oldest", "--count", fmt.Sprint(len(want)+1))
		if got := strings.Fields(out); !slices.Equal(got, append(slices.Clone(want), "D")) {
			t.Errorf("node %d has %v", m.id, got)
		}
	}
}
