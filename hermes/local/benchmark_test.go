package local_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/hermes/client"
	"wirelab/hermes/local"
)

// What presets of wirelab cannot measure: thousands of topics, and one disk of three that is slow.
const (
	members  = 3
	patience = 30 * time.Second
	window   = 4 * time.Second // that is measured, after a quarter of it to warm up
	payload  = 100             // bytes
	many     = 10_000          // topics
	atOnce   = 64              // topics that are made at the same time
	// unacknowledged is how many messages of each of many topics may be, on average. With one or two of each, every
	// message would be a run of its own, which costs the nodes some five times as much.
	unacknowledged = 25
	// longer is how much longer each sync of the slow disk takes.
	longer = 20 * time.Millisecond
)

// rig is a cluster under load.
type rig struct {
	*testing.B
	cluster *local.Cluster
	client  *client.Client
	slow    int // id of the node whose disk is slow; 0: none
}

func newRig(b *testing.B) *rig {
	b.Helper()
	r := &rig{B: b}
	var err error
	ctx, cancel := context.WithTimeout(b.Context(), 10*patience)
	defer cancel()
	r.cluster, err = local.Start(ctx, local.Options{
		Program: build(b).Program, Nodes: members, Dir: b.TempDir(), Wrap: r.wrap,
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := r.cluster.Stop(context.Background()); err != nil {
			b.Error(err)
		}
	})
	if r.client, err = client.New(client.Options{Addresses: r.cluster.GRPC(), RetryFor: patience}); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = r.client.Close() }) // nothing is under way
	return r
}

// wrap has each sync of the slow node's disk take longer. The kernel's filter lets all else pass.
func (r *rig) wrap(id int) []string {
	if id != r.slow {
		return nil
	}
	// -D: the node is our child and strace its, so that signals are the node's.
	return []string{
		"strace", "-D", "-f", "-qq", "--seccomp-bpf", "-o", "/dev/null", "-e", "trace=fsync,fdatasync",
		"-e", "inject=fsync,fdatasync:delay_exit=" + strconv.FormatInt(longer.Microseconds(), 10),
	}
}

// topics makes so many of them.
func (r *rig) topics(stem string, count int) []string {
	r.Helper()
	names := make([]string, count)
	g, ctx := errgroup.WithContext(r.Context())
	g.SetLimit(atOnce)
	for i := range names {
		names[i] = stem + strconv.Itoa(i)
		g.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			_, err := r.client.CreateTopic(ctx, broker.Topic{Name: names[i]})
			return err
		})
	}
	if err := g.Wait(); err != nil {
		r.Fatal(err)
	}
	return names
}

// publish keeps a stream full, of messages to topics that are drawn, and returns how many a second are acknowledged.
func (r *rig) publish(topics []string) float64 {
	r.Helper()
	c, err := client.New(client.Options{Addresses: r.cluster.GRPC(), RetryFor: patience})
	if err != nil {
		r.Fatal(err)
	}
	defer func() { _ = c.Close() }() // all were answered
	var done, failed atomic.Int64
	room := make(chan struct{}, max(16_000, unacknowledged*len(topics)))
	answered := func(_ client.Receipt, err error) {
		<-room
		if err != nil {
			failed.Add(1)
			return
		}
		done.Add(1)
	}
	draw, message := rand.New(rand.NewPCG(1, 4)), &hermes.Message{Payload: make([]byte, payload)}
	began, warm := time.Now(), time.Time{}
	var from int64
	for time.Since(began) < window+window/4 {
		if warm.IsZero() && time.Since(began) > window/4 {
			warm, from = time.Now(), done.Load()
		}
		room <- struct{}{}
		name := topics[draw.IntN(len(topics))]
		if err := c.Send(r.Context(), name, hermes.Consistent, message, answered); err != nil {
			r.Fatal(err)
		}
	}
	rate := float64(done.Load()-from) / time.Since(warm).Seconds()
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	if err := c.Flush(ctx); err != nil || failed.Load() > 0 {
		r.Fatalf("%d messages failed, %v", failed.Load(), err)
	}
	return rate
}

// until repeats an attempt until it succeeds.
func (r *rig) until(what string, try func() error) {
	r.Helper()
	for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		err := try()
		if err == nil {
			return
		}
		if time.Since(began) > 4*patience {
			r.Fatalf("%s: %v", what, err)
		}
	}
}

func (r *rig) ready(node int) {
	r.until("node "+strconv.Itoa(node+1)+" ready", func() error {
		reply, err := http.Get("http://" + r.cluster.Nodes[node].HTTP +
			"/readyz") //nolint:noctx // it is on this machine
		if err != nil {
			return err
		}
		defer func() { _ = reply.Body.Close() }()
		if reply.StatusCode != http.StatusOK {
			return errors.New(reply.Status)
		}
		return nil
	})
}

// BenchmarkTopics publishes to one topic and to ten thousand, and kills each node.
func BenchmarkTopics(b *testing.B) {
	r := newRig(b)
	alone := r.topics("alone-", 1)
	began := time.Now()
	spread := r.topics("spread-", many)
	b.ReportMetric(many/time.Since(began).Seconds(), "topics-made/s")
	b.ResetTimer()
	var one, all float64
	for range b.N {
		one += r.publish(alone)
		all += r.publish(spread)
	}
	b.StopTimer()
	b.ReportMetric(one/float64(b.N), "messages-to-one/s")
	b.ReportMetric(all/float64(b.N), "messages-to-all/s")
	b.ReportMetric(all/one, "all/one")
	for i, node := range r.cluster.Nodes {
		began := time.Now()
		node.Kill()
		if err := node.Start(b.Context()); err != nil {
			b.Fatal(err)
		}
		r.ready(i)
		b.ReportMetric(time.Since(began).Seconds(), fmt.Sprintf("s-until-node-%d-is-ready", i+1))
	}
}

// BenchmarkSlowDisk publishes with all disks as they are, with a follower's made slow, and with the leader's.
func BenchmarkSlowDisk(b *testing.B) {
	if _, err := exec.LookPath("strace"); err != nil || os.Getuid() != 0 {
		b.Skip("strace makes a disk slow, and root lets it")
	}
	r := newRig(b)
	topic := r.topics("topic-", 1)
	b.ResetTimer()
	var well, follower, leader float64
	for range b.N {
		well += r.publish(topic)
		r.slowDisk(false)
		follower += r.publish(topic)
		r.slowDisk(true)
		leader += r.publish(topic)
		r.restart(0)
	}
	b.StopTimer()
	n := float64(b.N)
	b.ReportMetric(well/n, "messages/s")
	b.ReportMetric(follower/n, "messages-follower-slow/s")
	b.ReportMetric(leader/n, "messages-leader-slow/s")
}

// slowDisk has a node with a slow disk, which leads or does not.
func (r *rig) slowDisk(leads bool) {
	id := r.slow
	if id == 0 {
		r.restart(r.status().follower())
		id = r.slow
	}
	r.until("the leader is another", func() error {
		s := r.status()
		if s.Leader != 0 && (s.Leader == uint64(id)) == leads {
			return nil
		}
		to := uint64(id)
		if !leads {
			to = uint64(id%members + 1)
		}
		ctx, cancel := context.WithTimeout(r.Context(), patience)
		defer cancel()
		_, err := r.client.TransferLeadership(ctx, to)
		return errors.Join(err, fmt.Errorf("node %d leads", s.Leader))
	})
}

// restart starts a node again with a slow disk; 0: the one that has it, without.
func (r *rig) restart(id int) {
	r.Helper()
	again := max(id, r.slow)
	if err := r.cluster.Nodes[again-1].Stop(r.Context()); err != nil {
		r.Fatal(err)
	}
	r.slow = id
	if err := r.cluster.Nodes[again-1].Start(r.Context()); err != nil {
		r.Fatal(err)
	}
	for i := range r.cluster.Nodes {
		r.ready(i)
	}
}

type state struct{ broker.Status }

// follower is a node that does not lead.
func (s state) follower() int { return int(s.Leader)%members + 1 }

func (r *rig) status() (s state) {
	r.until("status", func() (err error) {
		ctx, cancel := context.WithTimeout(r.Context(), patience)
		defer cancel()
		s.Status, err = r.client.Status(ctx)
		return err
	})
	return s
}
