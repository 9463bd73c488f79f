package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"wirelab"
	"wirelab/hermes/broker"
	"wirelab/hermes/client"
)

// PIDs implements [rival].
func (r *hermesRival) PIDs() (all []int) {
	for _, n := range r.cluster.Nodes {
		all = append(all, n.PID())
	}
	return all
}

// Cool has the system forget what it holds in memory of the nodes' files, so that they
// are read from the disk. What is not written yet stays.
func (r *hermesRival) Cool() error {
	for _, n := range r.cluster.Nodes {
		names, err := filepath.Glob(filepath.Join(n.Dir, "*"))
		if err != nil {
			return err
		}
		for _, name := range names {
			f, err := os.Open(name)
			if err != nil {
				continue // a segment that was taken away
			}
			err = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
			if err := errors.Join(err, f.Close()); err != nil {
				return err
			}
		}
	}
	return nil
}

// hermesSpread is many topics, of which each message goes to another.
type hermesSpread struct {
	hermesTopic
	names []string
}

// aside is how many topics or groups are made at once.
const aside = 64

// Spread implements many.
func (r *hermesRival) Spread(ctx context.Context, count int) (topic, error) {
	c, err := client.New(client.Options{Addresses: r.cluster.GRPC()})
	if err != nil {
		return nil, err
	}
	t := &hermesSpread{hermesTopic: hermesTopic{rival: r, client: c}}
	prefix := fmt.Sprintf("spread-%d-", r.made.Add(1))
	for i := range count {
		t.names = append(t.names, prefix+strconv.Itoa(i))
	}
	r.spread = t
	return t, t.each(ctx, func(ctx context.Context, name string) error {
		_, err := c.CreateTopic(ctx, broker.Topic{Name: name})
		return err
	})
}

// each does something with every topic.
func (t *hermesSpread) each(ctx context.Context, do func(context.Context, string) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(aside)
	for _, name := range t.names {
		g.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			return do(ctx, name)
		})
	}
	return g.Wait()
}

// Stream implements topic. Which message goes to which topic is drawn: nothing can
// rely on the order.
func (t *hermesSpread) Stream(ctx context.Context, s setting, acked func(error)) (publisher, error) {
	p, err := t.hermesTopic.Stream(ctx, s, acked)
	if err != nil {
		return nil, err
	}
	draw := rand.New(rand.NewPCG(uint64(len(t.names)), 4))
	p.(*hermesStream).pick = func() string { return t.names[draw.IntN(len(t.names))] }
	return p, nil
}

// Remove implements topic.
func (t *hermesSpread) Remove(ctx context.Context) error {
	defer func() { _ = t.client.Close() }() // nothing is under way
	return t.each(ctx, func(ctx context.Context, name string) error {
		err := t.client.DeleteTopic(ctx, name)
		if err != nil && wirelab.CodeOf(err) == wirelab.NotFound {
			return nil // an attempt whose answer was lost did it
		}
		return err
	})
}

// Groups implements many.
func (r *hermesRival) Groups(ctx context.Context) error {
	return r.spread.each(ctx, func(ctx context.Context, name string) error {
		_, err := r.spread.client.CreateGroup(ctx, broker.Group{Topic: name, Name: "readers"}, broker.Start{From: broker.FromOldest})
		return err
	})
}

// Scrape implements many.
func (r *hermesRival) Scrape(ctx context.Context, node int) (int, error) {
	return r.get(ctx, node, "/metrics")
}

// get is a page of a node's HTTP door.
func (r *hermesRival) get(ctx context.Context, node int, path string) (bytes int, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+r.cluster.Nodes[node].HTTP+path, nil)
	if err != nil {
		return 0, err
	}
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(io.Discard, answer.Body)
	if err := errors.Join(err, answer.Body.Close()); err != nil {
		return 0, err
	}
	if answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answers %s", path, answer.Status)
	}
	return int(n), err
}

// Again implements many.
func (r *hermesRival) Again(ctx context.Context, node int) (time.Duration, error) {
	began := time.Now()
	r.cluster.Nodes[node].Kill()
	if err := r.cluster.Nodes[node].Start(ctx); err != nil {
		return 0, err
	}
	err := r.ready(ctx, node)
	return time.Since(began), err
}

// ready waits until a node says that it is.
func (r *hermesRival) ready(ctx context.Context, node int) error {
	ctx, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		_, err := r.get(ctx, node, "/readyz")
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("node %d is not ready: %w", node+1, err)
		case <-again.C:
		}
	}
}

// Slow implements slowed, with strace, which the nodes concerned are started below. It holds
// up nothing but the syncs: the kernel's filter lets all else pass.
func (r *hermesRival) Slow(ctx context.Context, leader bool, longer time.Duration) error {
	status, err := r.status(ctx)
	if err != nil {
		return err
	}
	node := int(status.Leader) % nodes // the one behind the leader
	if r.slow >= 0 {
		node = r.slow
	}
	if err := r.cluster.Nodes[node].Stop(ctx); err != nil {
		return err
	}
	r.slow, r.longer = node, longer
	if longer == 0 {
		r.slow = -1
	}
	if err := r.cluster.Nodes[node].Start(ctx); err != nil {
		return err
	}
	for i := range nodes {
		if err := r.ready(ctx, i); err != nil {
			return err
		}
	}
	return r.leads(ctx, uint64(node+1), leader)
}

// wrap is what a node is started below.
func (r *hermesRival) wrap(id int) []string {
	if id-1 != r.slow {
		return nil
	}
	// -D: the node is our child and strace its, so that signals and memory are the node's.
	return []string{
		"strace", "-D", "-f", "-qq", "--seccomp-bpf", "-o", "/dev/null",
		"-e", "trace=fsync,fdatasync", "-e", "inject=fsync,fdatasync:delay_exit=" + strconv.FormatInt(r.longer.Microseconds(), 10),
	}
}

func (r *hermesRival) status(ctx context.Context) (broker.Status, error) {
	c, err := client.New(client.Options{Addresses: r.cluster.GRPC(), RetryFor: patience})
	if err != nil {
		return broker.Status{}, err
	}
	defer func() { _ = c.Close() }() // nothing is under way
	return c.Status(ctx)
}

// leads sees to it that a node leads, or that another does.
func (r *hermesRival) leads(ctx context.Context, id uint64, it bool) error {
	c, err := client.New(client.Options{Addresses: r.cluster.GRPC(), RetryFor: patience})
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }() // nothing is under way
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	to := id
	if !it {
		to = id%nodes + 1
	}
	for {
		s, err := c.Status(ctx)
		if err == nil && s.Leader != 0 && (s.Leader == id) == it {
			return nil
		}
		if err == nil {
			_, _ = c.TransferLeadership(ctx, to) // tried again
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("node %d leads, which it %s", s.Leader, map[bool]string{true: "should not: another should", false: "should not"}[it])
		case <-again.C:
		}
	}
}
