package cluster_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"wirelab/system/cluster"
)

// fake is a server that writes down what is done to it.
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
		if err := cluster.Heal(t.Context(), s); err != nil {
			t.Error(err)
		}
	}
	if want := []string{"restart a", "heal b"}; !slices.Equal(did, want) {
		t.Errorf("did %v, want %v", did, want)
	}
}
