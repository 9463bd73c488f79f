//go:build !linux

package load

import "time"

// Alarm wakes whoever waits for its channel, as exactly as Go's timers do. One
// goroutine sets it.
type Alarm struct {
	C     <-chan struct{} // holds one once the time has come
	plain *time.Timer
}

// NewAlarm returns an alarm that is not set.
func NewAlarm() *Alarm { return newPlainAlarm() }

// Set has it ring after d, which is > 0, and not when it was to before.
func (a *Alarm) Set(d time.Duration) { a.plain.Reset(d) }

// Close ends it.
func (a *Alarm) Close() { a.plain.Stop() }
