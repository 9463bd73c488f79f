package sim

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"os/signal"
	"sync"
	"testing"
	"time"
)

var (
	seeds   = flag.Int("seeds", 300, "how many worlds TestSeeds runs")
	from    = flag.Uint64("from", 1, "the first of their seeds")
	workers = flag.Int("workers", 1, "how many run at once")
	seed    = flag.Uint64("seed", 0, "run this world alone, with its trace")
	file    = flag.String("figures", "", "file to write what TestSeeds did to, as JSON, and as it continues")
)

// world is a seed's options: the seed draws how many nodes there are and what goes wrong.
func world(seed uint64) Options {
	o := Options{
		Seed: seed, Faults: AllFaults(), Nodes: 3, Spare: 1, Workers: 3, Loss: 0.01,
		Duration: 3 * time.Second, Every: 200 * time.Millisecond,
	}
	switch seed % 8 {
	case 4:
		o.Faults.Restore = 12
	case 5:
		o.Nodes = 5
	case 6:
		o.Spare = 0
		o.Loss = 0
	case 7:
		o.Nodes = 1
	}
	if seed%3 == 0 {
		o.Disk = WAL
	}
	return o
}

// worldsRun is what many worlds came to.
type worldsRun struct {
	Wanted int      `json:"wanted"`
	First  uint64   `json:"first"` // seed
	Run    int      `json:"run"`
	Failed []uint64 `json:"failed"` // seeds
	Total  Report   `json:"total"`
}

func (w *worldsRun) add(seed uint64, r Report, err error) {
	w.Run++
	if err != nil {
		w.Failed = append(w.Failed, seed)
	}
	t := &w.Total
	for _, sum := range []struct{ total, one *int }{
		{&t.Steps, &r.Steps},
		{&t.Acknowledged, &r.Acknowledged},
		{&t.Reads, &r.Reads},
		{&t.Acks, &r.Acks},
		{&t.Seen, &r.Seen},
		{&t.Provisional, &r.Provisional},
		{&t.Duplicates, &r.Duplicates},
		{&t.Snapshots, &r.Snapshots},
		{&t.Restarts, &r.Restarts},
		{&t.Sealed, &r.Sealed},
		{&t.Cleaned, &r.Cleaned},
		{&t.Dropped, &r.Dropped},
		{&t.Slow, &r.Slow},
		{&t.Left, &r.Left},
		{&t.Worked, &r.Worked},
		{&t.Aged, &r.Aged},
		{&t.PutBack, &r.PutBack},
		{&t.Refused, &r.Refused},
		{&t.Regained, &r.Regained},
		{&t.Joined, &r.Joined},
	} {
		*sum.total += *sum.one
	}
	t.Elections += r.Elections
	t.Index += r.Index
}

// keep writes the figures, if a file was named.
func (w *worldsRun) keep(t *testing.T) {
	t.Helper()
	if *file == "" {
		return
	}
	text, err := json.MarshalIndent(w, "", "  ")
	if err == nil {
		err = os.WriteFile(*file, append(text, '\n'), 0o600)
	}
	if err != nil {
		t.Error(err)
	}
}

// TestSeeds runs many worlds. Ctrl-C ends it behind those that run, with what was found by then.
func TestSeeds(t *testing.T) {
	if *seed != 0 {
		o := world(*seed)
		o.Trace = os.Stdout
		report, err := Simulate(o)
		t.Logf("%+v", report)
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	all := worldsRun{Wanted: *seeds, First: *from}
	if testing.Short() {
		all.Wanted = min(all.Wanted, 12)
	}
	stopped, stop := signal.NotifyContext(context.Background(), os.Interrupt) // not the test's: it must end well
	defer stop()
	var mu sync.Mutex
	var running sync.WaitGroup
	next := 0
	for range *workers {
		running.Go(func() {
			for {
				mu.Lock()
				s := *from + uint64(next)
				next++
				over := next > all.Wanted || stopped.Err() != nil
				mu.Unlock()
				if over {
					return
				}
				report, err := Simulate(world(s))
				if err != nil {
					t.Errorf("%v\nrepeat with: go test ./hermes/sim -run TestSeeds -seed %d", err, s)
				}
				mu.Lock()
				all.add(s, report, err)
				if all.Run%500 == 0 {
					t.Logf("%d of %d worlds, %d failed", all.Run, all.Wanted, len(all.Failed))
					all.keep(t)
				}
				mu.Unlock()
			}
		})
	}
	running.Wait()
	all.keep(t)
	t.Logf("%d of %d worlds from seed %d on, %d failed: %+v", all.Run, all.Wanted, all.First, len(all.Failed),
		all.Total)
}
