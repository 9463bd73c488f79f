package torture

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"wirelab/hermes/broker"
	"wirelab/hermes/client"
	"wirelab/hermes/local"
)

var (
	real   = flag.Bool("real", false, "run; the tests need root, and a machine that does nothing else")
	kills  = flag.Int("kills", 4, "how often the leader is killed")
	pauses = flag.Int("pauses", 1, "how often the leader is paused")
	rounds = flag.Int("rounds", 1, "how often everything else is done")
	span   = flag.Duration("span", time.Second, "how long a rate is measured")
	rate   = flag.Int("rate", 2000, "messages a second meanwhile")
)

// program is Hermes, built for the tests of this package.
var program string

func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() || !*real {
		os.Exit(m.Run()) // all are skipped
	}
	reclaim()
	dir, err := os.MkdirTemp("", "hermes-program-")
	if err == nil {
		program = filepath.Join(dir, "hermes")
		command := exec.Command("go", "build", "-o", program, "wirelab/cmd/hermes")
		command.Stderr = os.Stderr
		err = command.Run()
	}
	code := 1
	if err != nil {
		fmt.Fprintln(os.Stderr, "build Hermes:", err)
	} else {
		code = m.Run()
	}
	_ = os.RemoveAll(dir) // it is a temporary one
	os.Exit(code)
}

// long skips a test where there is no time for it.
func long(t *testing.T) {
	t.Helper()
	if testing.Short() || !*real {
		t.Skip("takes a machine's processes, networks and disks: make torture, or -real")
	}
}

// begin starts a cluster with a topic.
func begin(ctx context.Context, t *testing.T, o local.Options) (*local.Cluster, *client.Client) {
	t.Helper()
	o.Program, o.Nodes = program, 3
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	cluster, err := local.Start(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Stop(context.WithoutCancel(ctx)); err != nil && !t.Failed() {
			t.Error(err)
		}
	})
	return cluster, connect(t, cluster)
}

func connect(t *testing.T, cluster *local.Cluster) *client.Client {
	t.Helper()
	c, err := client.New(client.Options{Addresses: cluster.GRPC(), RetryFor: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() }) // nothing is under way
	return c
}

func topic(ctx context.Context, t *testing.T, c *client.Client, name string) {
	t.Helper()
	if _, err := c.CreateTopic(ctx, broker.Topic{Name: name}); err != nil {
		t.Fatal(err)
	}
}

// pause waits.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// whileLoaded publishes on a topic while something happens, and settles the
// account then.
func whileLoaded(ctx context.Context, t *testing.T, c *client.Client, name string, happens func(a *account)) {
	t.Helper()
	topic(ctx, t, c, name)
	a := newAccount()
	loading, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		a.publish(loading, t, c, name, *rate)
	}()
	pause(ctx, 500*time.Millisecond)
	happens(a)
	pause(ctx, 500*time.Millisecond)
	stop()
	<-done
	a.settle(ctx, t, c, name)
}

// The leader is killed with -9 under load, again and again. Nothing that was
// acknowledged is lost, moved or doubled, and publishes are accepted again soon
// (hb-M20: the origin's kills were by hand, and nobody counted).
func TestLeaderKilled(t *testing.T) {
	long(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute+time.Duration(*kills)*20*time.Second)
	defer cancel()
	cluster, c := begin(ctx, t, local.Options{})
	var away []time.Duration
	whileLoaded(ctx, t, c, "kills", func(a *account) {
		for range *kills {
			n := cluster.Nodes[leader(ctx, t, c)-1]
			at := time.Now()
			n.Kill()
			away = append(away, untilBack(ctx, t, a, at))
			if err := n.Start(ctx); err != nil {
				t.Error(err)
				return
			}
			caughtUp(ctx, t, c)
		}
	})
	tell(t, "without a leader that was killed", away)
}

// The leader is paused, and goes on later as if nothing had been.
func TestLeaderPaused(t *testing.T) {
	long(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute+time.Duration(*pauses)*20*time.Second)
	defer cancel()
	cluster, c := begin(ctx, t, local.Options{})
	var away []time.Duration
	whileLoaded(ctx, t, c, "pauses", func(a *account) {
		for range *pauses {
			n := cluster.Nodes[leader(ctx, t, c)-1]
			at := time.Now()
			n.Pause()
			away = append(away, untilBack(ctx, t, a, at))
			n.Resume()
			caughtUp(ctx, t, c)
		}
	})
	tell(t, "without a leader that was paused", away)
}

// untilBack waits until publishes are accepted again and tells how long that took.
func untilBack(ctx context.Context, t *testing.T, a *account, since time.Time) time.Duration {
	t.Helper()
	for ctx.Err() == nil {
		if took, ok := a.back(since); ok {
			return took
		}
		pause(ctx, 5*time.Millisecond)
	}
	t.Fatal("publishes are not accepted again")
	return 0
}

// goesOn waits until a message that is sent from now on is acknowledged.
func goesOn(ctx context.Context, t *testing.T, a *account) time.Duration {
	t.Helper()
	return goesOnSince(ctx, t, a, time.Now())
}

func goesOnSince(ctx context.Context, t *testing.T, a *account, at time.Time) time.Duration {
	t.Helper()
	for ctx.Err() == nil {
		if took, ok := a.after(at); ok {
			return took
		}
		pause(ctx, 5*time.Millisecond)
	}
	t.Fatal("publishes do not go on")
	return 0
}

// caughtUp waits until every node has what is committed.
func caughtUp(ctx context.Context, t *testing.T, c *client.Client) {
	t.Helper()
	for ctx.Err() == nil {
		s, err := c.Status(ctx)
		behind := 0
		for _, m := range s.Members {
			// Under load the last entries are always under way.
			if !m.Leader && (!m.Reached || m.Match+100 < s.Committed) {
				behind++
			}
		}
		if err == nil && s.Leader != 0 && behind == 0 && s.Node == s.Leader {
			return
		}
		pause(ctx, 20*time.Millisecond)
	}
	t.Fatal("the nodes do not come together again")
}

func tell(t *testing.T, what string, all []time.Duration) {
	t.Helper()
	if len(all) == 0 {
		return
	}
	slices.Sort(all)
	t.Logf("%s: %d times, publishes accepted again after %v at the median, %v at the least, %v at worst",
		what, len(all), all[len(all)/2].Round(time.Millisecond), all[0].Round(time.Millisecond), all[len(all)-1].Round(time.Millisecond))
}
