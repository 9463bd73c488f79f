package experiment_test

import (
	"context"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"wirelab/internal/process"
	"wirelab/lab/agent"
	"wirelab/lab/experiment"
	"wirelab/lab/plan"
	"wirelab/lab/probe"
	"wirelab/lab/result"
	"wirelab/lab/result/consistency"
)

// targeted is a plan with an arm of wirelab's and an arm with a target: the address of a server in this process. The
// plan names pid as its process.
func targeted(t *testing.T, pid int, address string) *experiment.Runner {
	t.Helper()
	c := runner(t, newBench(), 1, "a", "b")
	c.Plan.Arms[1].Target, c.Plan.Arms[1].PID = address, pid
	return c
}

// outside starts a toy server that is not a child process, and stops it with the test.
func outside(t *testing.T) (address string) {
	t.Helper()
	cell := toyOver("b", doubler{})
	at, ready, err := agent.Listen(cell, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() { over <- cell.Serve(ctx, at) }()
	t.Cleanup(func() {
		stop()
		<-over
	})
	return ready.Address
}

// sleeper is a process that uses nothing, and can be killed.
func sleeper(t *testing.T) *exec.Cmd {
	t.Helper()
	c := exec.Command("sleep", "1000")
	if err := c.Start(); err != nil {
		t.Skip("no program sleep: ", err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill() // it may have ended
		_ = c.Wait()
	})
	return c
}

// The CPU time of a target is known, and is that of the process that the plan names and of no other.
func TestTargetWithItsProcess(t *testing.T) {
	t.Parallel()
	server := sleeper(t)
	c := targeted(t, server.Process.Pid, outside(t))
	r, err := c.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p := r.Arms[1].Process
	if !r.Arms[1].Here || p == nil || len(p.PIDs) != 1 || p.PIDs[0] != server.Process.Pid || p.ByPort {
		t.Errorf("process %+v", p)
	}
	for _, trial := range r.Rounds[0].Trials {
		if trial.Server == nil {
			t.Fatalf("the server of arm %d was not measured", trial.Arm)
		}
		if trial.Arm != 1 {
			continue
		}
		if used := time.Duration(trial.Server.CPU); used != 0 || trial.Server.Allocations != nil ||
			trial.Server.ResidentBytes == 0 {
			t.Errorf("a process that sleeps used %v, allocated %v and holds %d bytes", used, trial.Server.Allocations,
				trial.Server.ResidentBytes)
		}
	}
	if found := consistency.Flaws(r); len(found) > 0 {
		t.Errorf("inconsistent: %v", found)
	}
}

// If the process does not exist, or ends, the error says so and what to do.
func TestTargetWithoutItsProcess(t *testing.T) {
	t.Parallel()
	gone := sleeper(t)
	_ = gone.Process.Kill()
	_ = gone.Wait()
	_, err := targeted(t, gone.Process.Pid, outside(t)).Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "there is no process "+strconv.Itoa(gone.Process.Pid)) {
		t.Errorf("a process that had ended: %v", err)
	}
	ends := sleeper(t)
	c := targeted(t, ends.Process.Pid, outside(t))
	c.Observe = func(e experiment.Event) {
		if e.Phase == experiment.Measuring && ends.ProcessState == nil {
			_ = ends.Process.Kill()
			_ = ends.Wait()
		}
	}
	r, err := c.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if f := r.Rounds[0].Failures; len(f) != 1 || f[0].Arm != 1 ||
		!strings.Contains(f[0].Why, "ended while it was measured") {
		t.Errorf("a process that ended in a round: %+v", f)
	}
}

// A server that listens on this machine is found by its port, but not if it is this process.
func TestTargetFoundByItsPort(t *testing.T) {
	t.Parallel()
	r, err := targeted(t, 0, outside(t)).Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if arm := r.Arms[1]; !arm.Here || arm.Process != nil {
		t.Errorf("wirelab itself was taken for the server: %+v", arm.Process)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	file, err := l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	holder := exec.Command("sleep", "1000")
	holder.ExtraFiles = append(holder.ExtraFiles, file)
	if err := holder.Start(); err != nil {
		t.Skip("no program sleep: ", err)
	}
	defer func() {
		_ = holder.Process.Kill()
		_ = holder.Wait()
	}()
	all := probe.Listeners(t.Context(), "tcp", l.Addr().String())
	if len(all) != 1 || !probe.Descends(holder.Process.Pid, all[0]) {
		t.Errorf("found %v, want this process, from which %d descends", all, holder.Process.Pid)
	}
	file.Close()
	l.Close()
	if all = probe.Listeners(t.Context(), "tcp", l.Addr().String()); len(all) != 1 || all[0] != holder.Process.Pid {
		t.Errorf("found %v, want %d", all, holder.Process.Pid)
	}
}

// A target's process is pinned to the servers' cores while it is measured, and restored afterwards.
func TestTargetIsPinnedAndPutBack(t *testing.T) {
	t.Parallel()
	server := sleeper(t)
	tree, err := process.NewTree(server.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	before, err := tree.Cores()
	if err != nil || len(before) < 2 {
		t.Skip("one core, or none known: ", err)
	}
	last := before[len(before)-1:]
	b := &placedBench{newBench(), result.Placement{ServerCPUs: last, DriverCPUs: before[:1]}}
	c := targeted(t, server.Process.Pid, outside(t))
	c.Bench = b
	meanwhile := 0
	c.Observe = func(e experiment.Event) {
		if e.Phase == experiment.Measuring {
			if now, err := tree.Cores(); err == nil && len(now) == 1 && now[0] == last[0] {
				meanwhile++
			}
		}
	}
	r, err := c.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if p := r.Arms[1].Process; meanwhile == 0 || len(p.CPUs) != 1 || p.Unpinned != "" {
		t.Errorf("pinned in %d slices, and said to be on %v, %s", meanwhile, p.CPUs, p.Unpinned)
	}
	if after, err := tree.Cores(); err != nil || len(after) != len(before) {
		t.Errorf("it may run on %v afterwards, before on %v: %v", after, before, err)
	}
}

type placedBench struct {
	*bench
	place result.Placement
}

func (b *placedBench) Placement() result.Placement { return b.place }

// One process that serves two arms is counted once.
func TestTwoArmsOfOneProcess(t *testing.T) {
	t.Parallel()
	server, address := sleeper(t), outside(t)
	c := targeted(t, server.Process.Pid, address)
	c.Plan.Arms[0] = plan.Arm{
		Name: c.Plan.Arms[0].Name, Protocol: c.Plan.Arms[0].Protocol, Target: address,
		PID: server.Process.Pid,
	}
	r, err := c.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Rounds[0].Failures) > 0 || r.Arms[0].Process == nil || r.Arms[1].Process == nil {
		t.Errorf("failures %v", r.Rounds[0].Failures)
	}
}

// A process that cannot be pinned to the servers' cores is measured where it runs, and the result says so.
func TestTargetThatMayNotBePinned(t *testing.T) {
	t.Parallel()
	const none = 1000 // no CPU of a machine that runs tests
	server := sleeper(t)
	c := targeted(t, server.Process.Pid, outside(t))
	c.Bench = &placedBench{newBench(), result.Placement{ServerCPUs: []int{none}, DriverCPUs: []int{0}}}
	r, err := c.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if p := r.Arms[1].Process; p == nil || p.CPUs != nil || !strings.Contains(p.Unpinned, "pin process") {
		t.Errorf("%+v", p)
	}
	if len(r.Rounds[0].Failures) > 0 || r.Rounds[0].Trials[0].Server == nil {
		t.Errorf("not measured: %v", r.Rounds[0].Failures)
	}
}
