package torture

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"wirelab/hermes/broker"
	"wirelab/hermes/client"
	"wirelab/hermes/local"
)

// tampered is a cluster one of whose nodes may run under strace, which tampers with its syncs.
type tampered struct {
	*local.Cluster
	id   atomic.Int64 // of the node that does when it is started next; 0: none
	what string       // is done to its fdatasync; set before id
}

func tamper(ctx context.Context, t *testing.T, o local.Options) (*tampered, *client.Client) {
	t.Helper()
	dir := t.TempDir()
	s := &tampered{}
	o.Wrap = func(id int) []string {
		if int64(id) != s.id.Load() {
			return nil
		}
		// -D: the node is our child and strace its, so that signals and exit codes are the node's.
		return []string{
			"strace", "-D", "-f", "-qq", "--seccomp-bpf", "-o", filepath.Join(dir, "trace"),
			"-e", "trace=fdatasync", "-e", "inject=fdatasync:" + s.what,
		}
	}
	var c *client.Client
	s.Cluster, c = begin(ctx, t, o)
	return s, c
}

// again stops a node and starts it, with its syncs tampered with or not.
func (s *tampered) again(ctx context.Context, t *testing.T, id int, what string) {
	t.Helper()
	if err := s.Nodes[id-1].Stop(ctx); err != nil {
		t.Fatal(err)
	}
	s.id.Store(0)
	if what != "" {
		s.what = what
		s.id.Store(int64(id))
	}
	if err := s.Nodes[id-1].Start(ctx); err != nil {
		t.Fatal(err)
	}
}

// lead makes a node the leader.
func lead(ctx context.Context, t *testing.T, c *client.Client, id int) {
	t.Helper()
	for ctx.Err() == nil {
		if leader(ctx, t, c) == uint64(id) {
			return
		}
		if _, err := c.TransferLeadership(ctx, uint64(id)); err != nil {
			t.Logf("hand over to node %d: %v", id, err)
		}
		pause(ctx, 50*time.Millisecond)
	}
	t.Fatalf("node %d does not lead", id)
}

// One node's disk takes 20 ms longer for every sync. A follower's does not matter, since the other two are a
// majority; a leader's costs time and few of the messages published in it. No test can tell how many: no test
// can know what a machine has to give.
func TestSlowDisk(t *testing.T) {
	needs(t, traced)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute+2**span)
	defer cancel()
	s, c := tamper(ctx, t, local.Options{})
	const slow = "delay_exit=20000"
	whileLoadedAt(ctx, t, c, broker.Topic{Name: "slow"}, 20**rate, func(a *account) {
		measure := func() float64 {
			caughtUp(ctx, t, c)
			before, began := a.count(), time.Now()
			pause(ctx, *span)
			return float64(a.count()-before) / time.Since(began).Seconds()
		}
		healthy := measure()
		found.rate(fmt.Sprintf("healthy, of %d that were sent", 20**rate), healthy, healthy)
		id := int(leader(ctx, t, c))
		other := id%3 + 1
		s.again(ctx, t, other, slow)
		found.rate("a follower's disk takes 20 ms longer to sync", measure(), healthy)
		lead(ctx, t, c, other)
		leading := measure()
		stayed := leader(ctx, t, c) == uint64(other)
		found.rate(fmt.Sprintf("the leader's (leading to the end: %v)", stayed), leading, healthy)
	})
}

// One node's disk fails once. The node ends by itself, with code 1 and the reason; the
// others go on; and it comes back once its disk is well. (hb-D07)
func TestFailingDisk(t *testing.T) {
	needs(t, traced)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	s, c := tamper(ctx, t, local.Options{})
	ended := found.does(t, "node whose disk failed ended (EIO; follower, leader)", 2)
	whileLoaded(ctx, t, c, "failing", func(a *account) {
		for _, leading := range []bool{false, true} {
			id := int(leader(ctx, t, c))%3 + 1
			// The count is each thread's own; there are enough of them to get to lead by then.
			s.again(ctx, t, id, "error=EIO:when=250")
			caughtUp(ctx, t, c)
			if leading {
				lead(ctx, t, c, id)
			}
			n := s.Nodes[id-1]
			select {
			case <-n.Done():
			case <-ctx.Done():
				t.Fatal("a node whose disk failed continues")
			}
			ended.cost(t, goesOn(ctx, t, a))
			err := n.Stop(ctx)
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 1 {
				t.Errorf("it ended with %v", err)
			}
			said, err := os.ReadFile(n.Dir + ".log")
			if err != nil || !strings.Contains(string(said), "the node ended by itself") ||
				!strings.Contains(string(said),
					"input/output error") {
				t.Errorf("it does not say why it ended (%v): %s", err, said[max(0, len(said)-500):])
			}
			s.id.Store(0)
			if err := n.Start(ctx); err != nil {
				t.Fatal(err)
			}
			caughtUp(ctx, t, c)
		}
	})
}
