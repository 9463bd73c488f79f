package launch_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"wirelab"
	"wirelab/control"
	"wirelab/experiment"
	"wirelab/launch"
)

// Both kinds of server can stand in an experiment.
var (
	_ experiment.Child = (*launch.Process)(nil)
	_ experiment.Child = (*launch.Attached)(nil)
)

// cores are those that a process may run on.
func cores(t *testing.T, pid int) (all []int) {
	t.Helper()
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(pid, &set); err != nil {
		t.Fatal(err)
	}
	for cpu := range 1024 {
		if set.IsSet(cpu) {
			all = append(all, cpu)
		}
	}
	return all
}

// A server that someone else started is accounted for and pinned, is let go as it was, and its end is told.
func TestAttached(t *testing.T) {
	t.Parallel()
	server := begin(t, spec("http"))
	before := cores(t, server.PID())
	a, err := launch.Attach(launch.Running{
		Name: "server of shop", Address: server.Ready().Address, PID: server.PID(), CPUs: before[:1],
	})
	if err != nil {
		t.Fatal(err)
	}
	if a.Ready().Address != server.Ready().Address || a.PID() != server.PID() {
		t.Errorf("it is %+v, process %d", a.Ready(), a.PID())
	}
	if got := cores(t, server.PID()); !slices.Equal(got, before[:1]) {
		t.Errorf("it runs on %v", got)
	}
	reply, err := a.Ask(t.Context(), control.Order{Usage: &struct{}{}})
	if err != nil || reply.Usage == nil || time.Duration(reply.Usage.CPU) <= 0 || reply.Usage.ResidentBytes == 0 {
		t.Errorf("it used %+v, %v", reply.Usage, err)
	}
	if _, err := a.Ask(t.Context(), control.Order{Leave: &struct{}{}}); wirelab.CodeOf(err) != wirelab.Unimplemented {
		t.Errorf("an order that it does not know: %v", err)
	}
	a.Kill()
	if err := a.Stop(); err != nil {
		t.Errorf("let go: %v", err)
	}
	if got := cores(t, server.PID()); !slices.Equal(got, before) {
		t.Errorf("let go, it runs on %v, and did on %v", got, before)
	}
	get(t, server, "/told") // it lives
	again, err := launch.Attach(launch.Running{Name: "server of shop", PID: server.PID()})
	if err != nil {
		t.Fatal(err)
	}
	stopped(t, server, nil)
	if err := again.Stop(); err == nil || !strings.Contains(err.Error(), "ended while it was measured") {
		t.Errorf("of a server that has ended: %v", err)
	}
	for pid, code := range map[int]wirelab.Code{
		server.PID(): wirelab.NotFound, 0: wirelab.InvalidArgument, -1: wirelab.InvalidArgument, 1: wirelab.InvalidArgument,
		os.Getpid(): wirelab.InvalidArgument, os.Getppid(): wirelab.InvalidArgument,
	} {
		if _, err := launch.Attach(launch.Running{PID: pid}); err == nil || wirelab.CodeOf(err) != code {
			t.Errorf("process %d: %v", pid, err)
		}
	}
}
