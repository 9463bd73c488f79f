package stack_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"wirelab"
	"wirelab/broker/workqueue"
	"wirelab/hermes/local"
	"wirelab/pipeline/stack"
)

// Hermes is a broker as the others are: started first, accounted for, told to all who
// need it, killed and started again at the same address, and gone at the end.
func TestHermes(t *testing.T) {
	t.Setenv(endings, filepath.Join(t.TempDir(), "endings"))
	o := options(t, "a file")
	t.Setenv("TMPDIR", t.TempDir())
	o.Brokers = []stack.Broker{{Kind: stack.Hermes, Queue: workqueue.Options{Prefetch: 7}, Direct: true}}
	var said []string
	o.Say = func(p stack.Part) { said = append(said, p.Name) }
	s, err := stack.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	stopped := false
	defer func() {
		if !stopped {
			_ = s.Stop(context.WithoutCancel(t.Context()))
		}
	}()
	if want := []string{"hermes", "logger", "listener-hermes", "listener-hermes-direct", "gateway"}; !slices.Equal(said,
		want) {
		t.Errorf("started %v, want %v", said, want)
	}
	broker := part(t, s, stack.Hermes)
	url := "hermes://" + broker.Endpoints[stack.EndpointGRPC]
	if !strings.HasPrefix(broker.About, "Hermes ") || len(broker.Endpoints) != 1 {
		t.Errorf("the broker is %+v", broker)
	}
	if q := configOf(t, part(t, s, "listener-hermes").Endpoints["watch"]).Listener.Queue; q.Broker != stack.Hermes ||
		q.URL != url || q.Options.Prefetch != 7 {
		t.Errorf("the listener is told %+v", q)
	}
	g := configOf(t, part(t, s, "gateway").Endpoints["http"]).Gateway
	if len(g.Queues) != 2 || g.Queues["log-hermes"].URL != url ||
		g.Queues["log-hermes-direct"].Options.Name != stack.QueueName+"-direct" {
		t.Errorf("the gateway is told %+v", g.Queues)
	}
	if used, err := s.CPU(); err != nil || used[stack.Hermes] <= 0 || len(used) != 5 {
		t.Errorf("the parts used %v, %v", used, err)
	}
	if err := s.Kill(t.Context(), stack.Hermes); err != nil || alive(broker.PID) {
		t.Errorf("killed, %v, and alive: %v", err, alive(broker.PID))
	}
	if err := s.Restart(t.Context(), stack.Hermes); err != nil {
		t.Fatal(err)
	}
	after := part(t, s, stack.Hermes)
	if after.PID == broker.PID || after.Endpoints[stack.EndpointGRPC] != broker.Endpoints[stack.EndpointGRPC] {
		t.Errorf("started again: %+v, was %+v", after, broker)
	}
	if err := syscall.Kill(after.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if death := <-s.Died(); death.Name != stack.Hermes || !strings.Contains(death.Err.Error(), "killed") {
		t.Errorf("told %v", death)
	}
	stopped = true
	if err := s.Stop(t.Context()); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("stop: %v, want how the broker ended", err)
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("left in the folder for temporary files: %v, %v", left, err)
	}
}

// Where the program is not, that is said, with what to do, before any part is started.
func TestHermesIsNotThere(t *testing.T) {
	t.Parallel()
	o := options(t, "a file")
	o.Getenv = func(string) string { return "" }
	o.Brokers = []stack.Broker{{Kind: stack.Hermes}}
	o.Say = func(p stack.Part) { t.Errorf("%s was started", p.Name) }
	s, err := stack.Start(t.Context(), o)
	if err == nil || wirelab.CodeOf(err) != wirelab.NotFound || !strings.Contains(err.Error(), local.ProgramVariable) {
		t.Errorf("%v, %v", s, err)
	}
}
