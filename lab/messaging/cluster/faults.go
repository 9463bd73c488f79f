package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"wirelab"
	"wirelab/internal/affinity"
	"wirelab/lab/control"
	"wirelab/lab/plan"
)

// How long a fault of a node lasts.
const (
	downFor   = 2 * time.Second // a killed node stays down so long before it is started again
	pausedFor = 5 * time.Second // longer than any broker here waits for a silent leader
	cutFor    = 5 * time.Second // likewise
	fullFor   = 3 * time.Second
	betweenIn = 500 * time.Millisecond // two nodes of a rolling restart
	readEvery = 50 * time.Millisecond  // what nodes use that may end by themselves
)

// do does what a scenario asks for, and returns once all is as before.
func (s *Cluster) do(ctx context.Context, fault control.Fault) (done control.Done, err error) {
	faults := map[string]func(context.Context, string, *control.Done) error{
		plan.LeaderKill: s.killLeader, plan.FollowerKill: s.killFollower,
		plan.Partition: s.cutLeader, plan.Pause: s.pauseLeader, plan.DiskFull: s.fillDisk,
		plan.RollingRestart: s.restartAll,
	}
	do, known := faults[fault.What]
	if !known {
		var names []string
		for name := range faults {
			names = append(names, name)
		}
		return done, wirelab.UnknownName("thing to do to a broker", fault.What, names)
	}
	err = do(ctx, fault.Topic, &done)
	done.Over = time.Now()
	return done, err
}

func (s *Cluster) killLeader(ctx context.Context, topic string, done *control.Done) error {
	at, err := s.brokers.leader(ctx, topic)
	if err != nil {
		return err
	}
	return s.killOne(ctx, at, done)
}

func (s *Cluster) killFollower(ctx context.Context, topic string, done *control.Done) error {
	at, err := s.brokers.leader(ctx, topic)
	if err != nil {
		return err
	}
	return s.killOne(ctx, (at+1)%len(s.nodes), done)
}

// killOne kills a node, leaves it down for a time, and starts it again.
func (s *Cluster) killOne(ctx context.Context, at int, done *control.Done) error {
	a := s.nodes[at]
	if _, err := a.Used(); err != nil { // its last reading
		return err
	}
	done.Who, done.Began = a.Name, time.Now()
	if err := a.Kill(ctx); err != nil {
		return err
	}
	if err := wait(ctx, downFor); err != nil {
		return err
	}
	return a.Restart(ctx)
}

// cutLeader cuts the leader's node off the others, while clients reach all of them, as
// a switch that fails does.
func (s *Cluster) cutLeader(ctx context.Context, topic string, done *control.Done) error {
	if s.segment == nil {
		return wirelab.Errorf(wirelab.InvalidArgument, "the nodes are not on hosts of their own")
	}
	at, err := s.brokers.leader(ctx, topic)
	if err != nil {
		return err
	}
	done.Who, done.Began = s.nodes[at].Name, time.Now()
	err = s.segment.Cut(ctx, at)
	if err == nil {
		err = wait(ctx, cutFor)
	}
	mending, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeLimit)
	defer cancel()
	return errors.Join(err, s.segment.Mend(mending, at))
}

// pauseLeader stops every process of the leader's node, as a machine that hangs does.
func (s *Cluster) pauseLeader(ctx context.Context, topic string, done *control.Done) error {
	at, err := s.brokers.leader(ctx, topic)
	if err != nil {
		return err
	}
	a := s.nodes[at]
	done.Who, done.Began = a.Name, time.Now()
	err = a.Pause()
	if err == nil {
		err = wait(ctx, pausedFor)
	}
	return errors.Join(err, a.Resume())
}

// restartAll stops and starts each node in turn.
func (s *Cluster) restartAll(ctx context.Context, _ string, done *control.Done) error {
	done.Who, done.Began = fmt.Sprintf("%d nodes", len(s.nodes)), time.Now()
	for _, a := range s.nodes {
		if _, err := a.Used(); err != nil { // its last reading
			return err
		}
		if err := a.Restart(ctx); err != nil {
			return err
		}
		if err := wait(ctx, betweenIn); err != nil {
			return err
		}
	}
	return nil
}

// fillDisk fills the disk that all nodes share, and makes room again. A node that stopped is started again, as an
// operator would do.
func (s *Cluster) fillDisk(ctx context.Context, _ string, done *control.Done) error {
	if s.unmount == nil {
		return wirelab.Errorf(wirelab.InvalidArgument, "the nodes' disk is not one that may be filled up")
	}
	done.Who, done.Began = "the disk of all nodes", time.Now()
	ballast := filepath.Join(s.dir, "ballast")
	// On the nodes' cores, so that filling the disk takes no time from the driver.
	err := affinity.Place{CPUs: s.options.CPUs}.Do(func() error { return fill(ballast) })
	for until := time.Now().Add(fullFor); err == nil && time.Now().Before(until); {
		err = errors.Join(s.readAll(), wait(ctx, readEvery)) // a node that cannot write may end by itself
	}
	if err = errors.Join(err, os.Remove(ballast), s.readAll()); err != nil {
		return err
	}
	for _, a := range s.nodes {
		if err := a.Heal(ctx); err != nil {
			return err
		}
	}
	return nil
}

// readAll reads what every node used, before it may end.
func (s *Cluster) readAll() error {
	for _, a := range s.nodes {
		if _, err := a.Used(); err != nil {
			return err
		}
	}
	return nil
}

// fill writes a file until there is no room for more.
func fill(path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // its content does not matter
	block := make([]byte, 1<<20)
	for len(block) > 0 {
		if _, err := file.Write(block); errors.Is(err, syscall.ENOSPC) {
			block = block[:len(block)/2]
		} else if err != nil {
			return err
		}
	}
	return nil
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
