package main

import (
	"context"
	"errors"
	"time"
)

// slowed is a rival one of whose nodes' disks can be made slow.
type slowed interface {
	rival
	// Slow makes each sync of a follower's disk, or of the leader's, take longer by so much;
	// 0: no node's does. It returns when all nodes are there and up to date.
	Slow(ctx context.Context, leader bool, longer time.Duration) error
}

// slowDisk publishes with all disks as they are, with a follower's made slow, with
// the leader's, and with all as they are again.
func (b *bench) slowDisk(ctx context.Context, r rival, t topic, s setting, size int, w window, seed uint64) (one outcome, err error) {
	m, ok := r.(slowed)
	if !ok {
		return one, errors.New("it has no way to make a disk slow")
	}
	steps := []struct {
		what   string
		leader bool
		longer time.Duration
		rate   float64
	}{{what: "all disks well"}, {what: "a follower's disk slow", longer: b.scale.slow}, {what: "the leader's disk slow", leader: true, longer: b.scale.slow}, {what: "all disks well again"}}
	for i := range steps {
		step := &steps[i]
		if i > 0 {
			if err := m.Slow(ctx, step.leader, step.longer); err != nil {
				return one, err
			}
		}
		from, err := look(r)
		if err != nil {
			return one, err
		}
		part, err := pipelined(ctx, t, s, size, w, nil, seed)
		if err != nil {
			return one, err
		}
		used, err := from.since(step.what, int64(part.Rate*(w.warm+w.length).Seconds()))
		if err != nil {
			return one, err
		}
		step.rate = part.Rate
		one.Failed += part.Failed
		one.Figures = append(append(one.Figures, figure{step.what, part.Rate, "/s"}), used...)
	}
	well := (steps[0].rate + steps[3].rate) / 2
	one.Rate = steps[1].rate
	one.Figures = append(one.Figures, figure{"rate left, a follower's slow", steps[1].rate / well, ""}, figure{"rate left, the leader's slow", steps[2].rate / well, ""})
	return one, nil
}
