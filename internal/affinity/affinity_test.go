package affinity_test

import (
	"errors"
	"net"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"wirelab/internal/affinity"
	"wirelab/internal/prereq"
)

// A function runs at its place, and the thread is put back, whatever comes of it.
func TestDo(t *testing.T) {
	t.Parallel()
	var before, inside unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		t.Fatal(err)
	}
	cpu := 0
	for !before.IsSet(cpu) {
		cpu++
	}
	failed := errors.New("no")
	if err := (affinity.Place{CPUs: []int{cpu}}).Do(func() error {
		return errors.Join(failed, unix.SchedGetaffinity(0, &inside))
	}); !errors.Is(err, failed) {
		t.Errorf("the error is %v", err)
	}
	if inside.Count() != 1 || !inside.IsSet(cpu) {
		t.Errorf("it ran on %d cores", inside.Count())
	}
	if err := (affinity.Place{CPUs: []int{1023}}).Do(func() error { return nil }); err == nil {
		t.Error("a core that is not there passed")
	}
}

// A namespace is empty but for its loopback, and a child that is started in it is in it.
func TestNamespace(t *testing.T) {
	t.Parallel()
	space, err := affinity.NewNamespace()
	if prereq.Denied(err) {
		prereq.Namespaces.Need(t, err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = space.Close() }()
	here := affinity.Place{Namespace: space}
	var names []string
	if err := here.Do(func() error {
		all, err := net.Interfaces()
		for _, i := range all {
			names = append(names, i.Name)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(strings.Join(names, " "), "eth") || !strings.Contains(strings.Join(names, " "), "lo") {
		t.Errorf("a new namespace has %v", names)
	}
	var said strings.Builder
	command := exec.Command("cat", "/proc/net/dev")
	command.Stdout = &said
	if err := here.Start(command); err != nil {
		t.Fatal(err)
	}
	if err := command.Wait(); err != nil || strings.Contains(said.String(), "eth") {
		t.Errorf("the child saw %v\n%s", err, said.String())
	}
}

// Children outlive whatever is done elsewhere: the thread that started one does not end.
func TestChildrenOutliveWhatIsDone(t *testing.T) {
	t.Parallel()
	child := exec.Command("sleep", "60")
	child.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := (affinity.Place{CPUs: []int{0}}).Start(child); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- child.Wait() }()
	var all sync.WaitGroup
	for range 200 {
		all.Go(func() { _ = affinity.Place{CPUs: []int{0}}.Do(func() error { return nil }) })
	}
	all.Wait()
	select {
	case err := <-ended:
		t.Errorf("the child ended: %v", err)
	case <-time.After(200 * time.Millisecond):
		_ = child.Process.Kill()
		<-ended
	}
}
