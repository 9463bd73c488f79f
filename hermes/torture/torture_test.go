package torture

import (
	"context"
	"flag"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"wirelab/hermes/broker"
	"wirelab/hermes/client"
	"wirelab/hermes/local"
	"wirelab/internal/programtest"
)

var (
	real   = flag.Bool("real", false, "run; the tests need root, and a machine that does nothing else")
	kills  = flag.Int("kills", 4, "how often the leader is killed")
	pauses = flag.Int("pauses", 1, "how often the leader is paused")
	rounds = flag.Int("rounds", 1, "how often everything else is done")
	span   = flag.Duration("span", time.Second, "how long a rate is measured")
	rate   = flag.Int("rate", 2000, "messages a second")
	seed   = flag.Uint64("seed", 0,
		"of the random choices: which link, when and for how long; 0: any, and it is reported")
	keepIn = flag.String("figures", "", "file for the findings, as JSON, from the first fault on")
	worlds = flag.String("worlds", "", "file with the figures of hermes/sim, to be reported as well")
)

// interrupted ends with the first Ctrl-C: work under way is finished and settled, everything behind it is not
// begun, and the figures are reported.
var interrupted, uninterrupt = signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)

// more reports whether to go on, having done so many of those wanted.
func more(done, wanted int) bool { return done < wanted && interrupted.Err() == nil }

// random draws what a test draws, by -seed.
func random(t *testing.T) *rand.Rand {
	t.Helper()
	return rand.New(rand.NewPCG(found.Seed, uint64(crc32.ChecksumIEEE([]byte(t.Name())))))
}

// program is Hermes, built for the tests of this package.
var program string

func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() || !*real {
		os.Exit(m.Run()) // all are skipped
	}
	if found.Seed = *seed; found.Seed == 0 {
		found.Seed = rand.Uint64()
	}
	context.AfterFunc(interrupted, func() {
		uninterrupt() // the next one ends at once
		fmt.Fprintln(os.Stderr, "ending, after the current work; once more: at once")
	})
	reclaim()
	dir, err := os.MkdirTemp("", "hermes-program-")
	if err == nil {
		program, err = programtest.Build(dir, "hermes")
	}
	code := 1
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else {
		code = m.Run()
		found.print(os.Stdout)
		if interrupted.Err() != nil {
			code = max(code, 1)
		}
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
	if interrupted.Err() != nil {
		found.lacks(t.Name(), "it was interrupted before")
		t.Skip("interrupted")
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

// whileLoaded publishes on a topic and subscribes to it while something happens, and settles
// the account then.
func whileLoaded(ctx context.Context, t *testing.T, c *client.Client, name string, happens func(a *account)) {
	t.Helper()
	whileLoadedAt(ctx, t, c, broker.Topic{Name: name}, *rate, happens)
}

func whileLoadedAt(ctx context.Context, t *testing.T, c *client.Client, topic broker.Topic, perSecond int,
	happens func(a *account),
) {
	t.Helper()
	if _, err := c.CreateTopic(ctx, topic); err != nil {
		t.Fatal(err)
	}
	a := newAccount()
	a.watcher = watch(ctx, t, c, topic.Name)
	loading, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		a.publish(loading, t, c, topic.Name, perSecond)
	}()
	defer func() {
		stop()
		<-done
	}()
	pause(ctx, 500*time.Millisecond)
	happens(a)
	pause(ctx, 500*time.Millisecond)
	stop()
	<-done
	a.settle(ctx, t, c, topic.Name)
}

// The leader is killed with -9 under load, again and again. Nothing that was acknowledged is lost, moved or
// doubled, and publishes are accepted again soon (hb-M20: the origin's kills were by hand, and no one counted).
func TestLeaderKilled(t *testing.T) {
	long(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute+time.Duration(*kills)*20*time.Second)
	defer cancel()
	cluster, c := begin(ctx, t, local.Options{})
	r, away := random(t), found.does(t, "leader killed (kill -9)", *kills)
	whileLoaded(ctx, t, c, "kills", func(a *account) {
		for i := 0; more(i, *kills); i++ {
			n := cluster.Nodes[leader(ctx, t, c)-1]
			at := time.Now()
			n.Kill()
			took := untilBack(ctx, t, a, at)
			if p, ok := split(t, cluster, n, at, took); ok {
				away.cost(t, took, p)
			} else {
				away.cost(t, took)
			}
			if err := n.Start(ctx); err != nil {
				t.Error(err)
				return
			}
			caughtUp(ctx, t, c)
			pause(ctx, time.Duration(r.IntN(200))*time.Millisecond)
		}
	})
}

// The leader is paused, and continues later as if nothing had been.
func TestLeaderPaused(t *testing.T) {
	long(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute+time.Duration(*pauses)*20*time.Second)
	defer cancel()
	cluster, c := begin(ctx, t, local.Options{})
	r, away := random(t), found.does(t, "leader paused (SIGSTOP)", *pauses)
	whileLoaded(ctx, t, c, "pauses", func(a *account) {
		for i := 0; more(i, *pauses); i++ {
			n := cluster.Nodes[leader(ctx, t, c)-1]
			at := time.Now()
			n.Pause()
			away.cost(t, untilBack(ctx, t, a, at))
			n.Resume()
			caughtUp(ctx, t, c)
			pause(ctx, time.Duration(r.IntN(200))*time.Millisecond)
		}
	})
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

// caughtUp waits until every node has all that is committed, a minute at most.
func caughtUp(ctx context.Context, t *testing.T, c *client.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var s broker.Status
	var err error
	for ctx.Err() == nil {
		var is broker.Status
		if is, err = c.Status(ctx); err != nil {
			pause(ctx, 20*time.Millisecond)
			continue
		}
		s = is
		behind := 0
		for _, m := range s.Members {
			// Under load the last entries are always under way.
			if !m.Leader && (!m.Reached || m.Match+100 < s.Committed) {
				behind++
			}
		}
		if s.Leader != 0 && behind == 0 && s.Node == s.Leader {
			return
		}
		pause(ctx, 20*time.Millisecond)
	}
	t.Fatalf("the nodes do not come together again: %+v, %v", s, err)
}
