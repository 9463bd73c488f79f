package clitest

import (
	"bytes"
	"sync"
	"testing"
	"time"
)

// Clock is a clock that stands still until a test moves it.
type Clock struct {
	mu      sync.Mutex
	changed *sync.Cond
	now     time.Time
	due     map[chan time.Time]time.Time
	over    bool
}

// Still is a clock that never moves. A test that compares the output of a command must not fail because a busy
// machine made the command report its activity.
type Still struct{}

// Now implements cli.Clock.
func (Still) Now() time.Time { return time.Time{} }

// After implements cli.Clock.
func (Still) After(time.Duration) (due <-chan time.Time, stop func() bool) {
	return nil, func() bool { return false }
}

// hang is the time after which a test that waits for the clock in vain fails.
const hang = 30 * time.Second

// NewClock returns a clock.
func NewClock(t *testing.T) *Clock {
	t.Helper()
	c := &Clock{now: time.Date(2026, 11, 26, 0, 0, 0, 0, time.UTC), due: map[chan time.Time]time.Time{}}
	c.changed = sync.NewCond(&c.mu)
	guard := time.AfterFunc(hang, c.End)
	t.Cleanup(func() { guard.Stop() })
	return c
}

// Now implements cli.Clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// After implements cli.Clock.
func (c *Clock) After(d time.Duration) (due <-chan time.Time, stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := make(chan time.Time, 1)
	c.due[at] = c.now.Add(d)
	c.changed.Broadcast()
	return at, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		_, waits := c.due[at]
		delete(c.due, at)
		return waits
	}
}

// Pass moves the clock once something waits for it. It returns when all consequences are done and something waits for
// it again; false if that does not happen.
func (c *Clock) Pass(d time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.awaited() {
		return false
	}
	c.now = c.now.Add(d)
	for at, when := range c.due {
		if !when.After(c.now) {
			at <- c.now
			delete(c.due, at)
		}
	}
	return c.awaited()
}

func (c *Clock) awaited() bool {
	for len(c.due) == 0 && !c.over {
		c.changed.Wait()
	}
	return !c.over
}

// End tells waiting code that there is nothing left to wait for.
func (c *Clock) End() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	c.changed.Broadcast()
}

// Output collects what a program prints, for several writing goroutines and a test that reads.
type Output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

// String is all that was printed.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
