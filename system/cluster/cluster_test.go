package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"wirelab/internal/affinity"
	"wirelab/internal/daemon"
	"wirelab/internal/process"
	"wirelab/system/cluster"
)

// fake is a server that writes down each call.
type fake struct {
	name  string
	did   *[]string
	began chan<- struct{} // of Stop; nil: it waits for no other
	meet  <-chan struct{}
	fails error
}

func (f *fake) do(what string) error {
	*f.did = append(*f.did, what+" "+f.name)
	return f.fails
}

func (*fake) PID() int                        { return 1 }
func (*fake) Done() <-chan struct{}           { return nil }
func (*fake) Err() error                      { return nil }
func (f *fake) URL() string                   { return "at " + f.name }
func (f *fake) Directory() string             { return f.name }
func (f *fake) Kill(context.Context) error    { return f.do("kill") }
func (f *fake) Restart(context.Context) error { return f.do("restart") }

func (f *fake) Stop(context.Context) error {
	if f.began != nil {
		f.began <- struct{}{}
		<-f.meet
		return f.fails
	}
	return f.do("stop")
}

// healer needs no restart.
type healer struct{ *fake }

func (h healer) Heal(context.Context) error { return h.do("heal") }

// Servers are stopped from the last to the first, and all of them, whichever fails.
func TestLastFirst(t *testing.T) {
	t.Parallel()
	var did []string
	full := errors.New("the disk is full")
	c := cluster.New(cluster.LastFirst,
		&fake{name: "a", did: &did, fails: full}, &fake{name: "b", did: &did, fails: full})
	c.Add(&fake{name: "c", did: &did})
	if got := c.URLs(); !slices.Equal(got, []string{"at a", "at b", "at c"}) || len(c.Nodes()) != 3 {
		t.Errorf("%d nodes at %v", len(c.Nodes()), got)
	}
	c.Kill(t.Context())
	if err := c.Stop(t.Context()); !errors.Is(err, full) {
		t.Errorf("stopped with %v", err)
	}
	if want := []string{"kill a", "kill b", "kill c", "stop c", "stop b", "stop a"}; !slices.Equal(did, want) {
		t.Errorf("did %v, want %v", did, want)
	}
}

// Servers that are stopped together do not wait for each other: here each ends only when all were told.
func TestTogether(t *testing.T) {
	t.Parallel()
	began, meet := make(chan struct{}), make(chan struct{})
	var did []string
	failed := errors.New("it was busy")
	c := cluster.New(cluster.Together,
		&fake{name: "a", did: &did, began: began, meet: meet, fails: failed},
		&fake{name: "b", did: &did, began: began, meet: meet})
	go func() {
		<-began
		<-began
		close(meet)
	}()
	if err := c.Stop(t.Context()); !errors.Is(err, failed) {
		t.Errorf("stopped with %v", err)
	}
}

// A server is healed as it needs it, and by a restart where it does not say.
func TestHeal(t *testing.T) {
	t.Parallel()
	var did []string
	for _, s := range []cluster.Server{&fake{name: "a", did: &did}, healer{&fake{name: "b", did: &did}}} {
		if err := cluster.NewNode("node", s).Heal(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if want := []string{"restart a", "heal b"}; !slices.Equal(did, want) {
		t.Errorf("did %v, want %v", did, want)
	}
}

// one is a server that is a real process, another one after each restart.
type one struct {
	fake
	daemon.Run[*process.Process]
}

func (o *one) PID() int              { return o.Run.PID() }
func (o *one) Done() <-chan struct{} { return o.Run.Done() }
func (o *one) Err() error            { return o.Run.Err("one", daemon.NoWords) }

func (o *one) Kill(context.Context) error {
	if p := o.Take(); p != nil {
		p.Signal(syscall.SIGKILL)
		_ = p.Wait() // it was killed
	}
	return nil
}

// Restart starts a shell that works a little, and then waits.
func (o *one) Restart(ctx context.Context) error {
	if err := o.Kill(ctx); err != nil {
		return err
	}
	command := exec.Command("sh", "-c", `i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo; read line`)
	if _, err := command.StdinPipe(); err != nil {
		return err
	}
	output, end, err := os.Pipe()
	if err != nil {
		return err
	}
	defer output.Close()
	command.Stdout = end
	p, err := process.Run(command, affinity.Place{})
	if err := errors.Join(err, end.Close()); err != nil {
		return err
	}
	o.Begin(p)
	_, err = output.Read(make([]byte, 1))
	return err
}

// What a node used is added up over its restarts, and never falls; and a paused node runs again.
func TestNode(t *testing.T) {
	t.Parallel()
	n := cluster.NewNode("node 1", &one{})
	defer func() { _ = n.Kill(context.WithoutCancel(t.Context())) }() // killed already, unless the test failed
	if used, err := n.Used(); err != nil || used.CPU != 0 {
		t.Errorf("before it was started it used %v, %v", used.CPU, err)
	}
	last := time.Duration(0)
	for range 2 {
		if err := n.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		used, err := n.Used()
		if err != nil || used.CPU <= last || len(used.Living) != 1 {
			t.Errorf("it used %v after %v, with %d processes: %v", used.CPU, last, len(used.Living), err)
		}
		last = used.CPU
	}
	for _, c := range []struct {
		do   func() error
		want string
	}{{n.Pause, "T"}, {n.Resume, "S"}} {
		if err := c.do(); err != nil {
			t.Error(err)
		}
		for state := ""; state != c.want; time.Sleep(time.Millisecond) {
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", n.PID()))
			if err != nil {
				t.Fatal(err)
			}
			state = strings.Fields(string(text))[2]
		}
	}
	if err := n.Kill(t.Context()); err != nil {
		t.Error(err)
	}
	if used, err := n.Used(); err != nil || used.CPU < last || len(used.Living) != 0 || n.PID() != 0 {
		t.Errorf("after its end it used %v, want %v, with %d processes: %v", used.CPU, last, len(used.Living), err)
	}
}
