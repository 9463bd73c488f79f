package hosts

import (
	"math/rand/v2"
	"testing"
	"time"
)

// reading is what clockOf makes of n round trips to a clock that is off by so much, as long as slow at most each way.
func reading(r *rand.Rand, at time.Time, off, slow time.Duration, n int) Clock {
	var pings []ping
	for range n {
		there, back := 1+time.Duration(r.Int64N(int64(slow))), 1+time.Duration(r.Int64N(int64(slow)))
		pings = append(pings, ping{sent: at, took: there + back, read: at.Add(there).UnixNano() + int64(off)})
		at = at.Add(there + back)
	}
	return clockOf(pings)
}

// However the two ways of a round trip differ, the truth is within the uncertainty.
func TestClockIsWithinItsUncertainty(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 2))
	for range 1000 {
		off := time.Duration(r.Int64N(int64(6*time.Minute))) - 3*time.Minute
		c := reading(r, time.Now(), off, time.Duration(1+r.Int64N(int64(5*time.Millisecond))), 1+r.IntN(64))
		if (c.Offset - off).Abs() > c.Uncertainty {
			t.Fatalf("offset %v ± %v, and is %v", c.Offset, c.Uncertainty, off)
		}
	}
}

func TestClockThatIsSetIsRefused(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(rand.Uint64(), 3))
	const elapsed = 20 * time.Second
	for _, c := range []struct {
		by   time.Duration
		want bool
	}{
		{0, false},
		{100 * elapsed / 1e6, false}, // 100 ppm: corrected, since it is read before each slice
		{-100 * elapsed / 1e6, false},
		{time.Second, true},
		{-3 * time.Minute, true},
		{3 * time.Minute, true},
	} {
		at, off := time.Now(), 90*time.Second // how far off it is does not matter
		before := reading(r, at, off, 50*time.Microsecond, 64)
		after := reading(r, at.Add(elapsed), off+c.by, 50*time.Microsecond, 64)
		if err := moved("d1", before, after); (err != nil) != c.want {
			t.Errorf("moved by %v in %v: %v", c.by, elapsed, err)
		}
	}
}

func TestTimesBetweenClocksNeedCertainty(t *testing.T) {
	t.Parallel()
	c := Clock{Uncertainty: 50 * time.Microsecond}
	for took, want := range map[time.Duration]bool{
		time.Millisecond: true, 999 * time.Microsecond: false, 0: false, -time.Second: false, time.Second: true,
	} {
		if err := c.Spans("d1", took); (err == nil) != want {
			t.Errorf("%v: %v", took, err)
		}
	}
}
