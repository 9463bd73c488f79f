package raw_test

import (
	"testing"
	"time"
)

// A reply that the driver leaves in the kernel is not outside for as long, and the time outside is no more than
// the call took. The time of other calls on the connection is not known.
func TestOutside(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		protocol string
		secure   bool
		slots    int
		known    bool
	}{
		{"http1-json", false, 1, true},
		{"http1-tls-proto", true, 1, true},
		{"raw-tcp", false, 1, true},
		{"grpc", false, 1, true},
		{"grpc", false, 4, false},
	} {
		t.Run(c.protocol, func(t *testing.T) {
			t.Parallel()
			cell := one(t, c.protocol, least(c.protocol))
			server := start(t, c.secure, "", cell.Serve)
			lines := dial(t, cell, server.dialing(1), c.slots, "GetFeature")
			const asleep = 5 * time.Millisecond
			known, least := 0, asleep
			for range 40 {
				began, over := time.Now(), 0
				for slot := range c.slots {
					lines.Begin(slot)
				}
				for over < c.slots {
					if err := lines.Turn(0, func(_ int, err error) {
						if err != nil {
							t.Error(err)
						}
						over++
					}); err != nil {
						t.Fatal(err)
					}
					if over == 0 { // no one looks in the meantime
						time.Sleep(asleep)
					}
				}
				took := time.Since(began)
				for slot := range c.slots {
					if outside := lines.Outside(slot); outside > took {
						t.Errorf("outside for %v of %v", outside, took)
					} else if outside > 0 {
						known++
						least = min(least, outside)
					}
				}
			}
			if steps := lines.Steps(); steps > 0 {
				t.Skipf("the clock was set %d times", steps)
			}
			if c.known != (known > 20) {
				t.Errorf("%d calls of %d are known", known, 40*c.slots)
			}
			if c.known && least >= asleep { // a server that does nothing answers sooner once in forty times
				t.Errorf("every call was outside for as long as it was not looked at")
			}
		})
	}
}
