package main

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"wirelab/lab/probe"
)

// meter counts what went in and what came out.
type meter struct {
	in, out atomic.Int64
	// slots holds one for each entry that is under way.
	slots chan struct{}
}

func newMeter(bound int) *meter { return &meter{slots: make(chan struct{}, bound)} }

// enter waits until one more entry may be under way, or until ctx ends.
func (m *meter) enter(ctx context.Context) bool {
	if ctx.Err() != nil {
		return false // of two that are ready, select takes either
	}
	select {
	case m.slots <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// leave notes that so many entries are out.
func (m *meter) leave(n int) {
	m.out.Add(int64(n))
	for range n {
		<-m.slots
	}
}

// outcome is one measurement.
type outcome struct {
	Rate    float64 `json:"rate"`    // entries out, per second
	In      float64 `json:"in"`      // entries in, per second
	Backlog int64   `json:"backlog"` // entries under way at the end
	// Grown is how many more that are than at the beginning.
	Grown int64 `json:"grown"`
	// CPU is µs for each entry that came out, by process.
	CPU map[string]float64 `json:"cpu_us"`
}

// counted are the counters at one moment.
type counted struct {
	at      time.Time
	in, out int64
	cpu     map[string]time.Duration
}

// source is what is measured.
type source struct {
	count func(ctx context.Context) (in, out int64, err error)
	cpu   func() (map[string]time.Duration, error)
}

func (s source) read(ctx context.Context) (counted, error) {
	cpu, err := s.cpu()
	if err != nil {
		return counted{}, err
	}
	in, out, err := s.count(ctx)
	return counted{time.Now(), in, out, cpu}, err
}

// over measures for so long, after a while of warming up. ctx ends when the load
// broke, by its cause.
func (s source) over(ctx context.Context, warm, window time.Duration) (outcome, error) {
	if err := pause(ctx, warm); err != nil {
		return outcome{}, err
	}
	from, err := s.read(ctx)
	if err != nil {
		return outcome{}, err
	}
	if err := pause(ctx, window); err != nil {
		return outcome{}, err
	}
	to, err := s.read(ctx)
	if err != nil {
		return outcome{}, err
	}
	n, long := float64(to.out-from.out), to.at.Sub(from.at).Seconds()
	if n <= 0 {
		return outcome{}, errors.New("nothing came out")
	}
	o := outcome{
		Rate: n / long, In: float64(to.in-from.in) / long, Backlog: to.in - to.out,
		Grown: to.in - to.out - (from.in - from.out), CPU: map[string]float64{},
	}
	for name, used := range to.cpu {
		o.CPU[name] = float64(used-from.cpu[name]) / 1e3 / n
	}
	return o, nil
}

func pause(ctx context.Context, long time.Duration) error {
	timer := time.NewTimer(long)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// The processes' names.
const (
	driverName   = "driver"
	brokerName   = "broker"
	databaseName = "database"
)

// costs returns a reader of what the driver, the broker and, where there is
// one, the database have used, to which a path's parts may be added.
func (b *bench) costs(more func() (map[string]time.Duration, error)) (func() (map[string]time.Duration, error), error) {
	trees := map[string]*probe.Tree{}
	pids := map[string]int{brokerName: b.server.PID()}
	if b.database != nil && more != nil {
		pids[databaseName] = b.database.PID()
	}
	for name, pid := range pids {
		tree, err := probe.NewTree(pid)
		if err != nil {
			return nil, err
		}
		trees[name] = tree
	}
	return func() (map[string]time.Duration, error) {
		all := map[string]time.Duration{}
		if more != nil {
			var err error
			if all, err = more(); err != nil {
				return nil, err
			}
		}
		for name, tree := range trees {
			used, err := tree.Read()
			if err != nil {
				return nil, err
			}
			all[name] = used.CPU
		}
		own, err := probe.Self()
		all[driverName] = time.Duration(own.CPU)
		return all, err
	}, nil
}
