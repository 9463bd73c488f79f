package sim

import (
	"flag"
	"os"
	"testing"
	"time"
)

var (
	seeds = flag.Int("seeds", 300, "how many worlds TestSeeds runs")
	seed  = flag.Uint64("seed", 0, "run this world alone, with its trace")
)

// world is a seed's options: the seed draws how many nodes there are and what goes wrong.
func world(seed uint64) Options {
	o := Options{Seed: seed, Faults: AllFaults(), Nodes: 3, Spare: 1, Loss: 0.01, Duration: 3 * time.Second, Every: 200 * time.Millisecond}
	switch seed % 8 {
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
	n := *seeds
	if testing.Short() {
		n = min(n, 12)
	}
	var total Report
	for s := uint64(1); s <= uint64(n); s++ {
		report, err := Simulate(world(s))
		if err != nil {
			t.Errorf("%v\nrepeat with: go test ./hermes/sim -run TestSeeds -seed %d", err, s)
		}
		total.Steps += report.Steps
		total.Acknowledged += report.Acknowledged
		total.Reads += report.Reads
		total.Acks += report.Acks
		total.Provisional += report.Provisional
		total.Duplicates += report.Duplicates
		total.Snapshots += report.Snapshots
		total.Restarts += report.Restarts
		total.Sealed += report.Sealed
		total.Cleaned += report.Cleaned
		total.Dropped += report.Dropped
		total.Elections += report.Elections
		total.Index += report.Index
	}
	t.Logf("%d worlds: %+v", n, total)
}
