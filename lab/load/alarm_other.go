//go:build !linux

package load

import "time"

// Alarm rings on a channel, with the precision of Go's timers. Only one goroutine may set it.
type Alarm struct {
	C     <-chan struct{} // receives a value when the time has come
	plain *time.Timer
}

// NewAlarm returns an alarm that is not set.
func NewAlarm() *Alarm { return newPlainAlarm() }

// Set makes it ring after d, which must be > 0. It cancels an earlier setting.
func (a *Alarm) Set(d time.Duration) { a.plain.Reset(d) }

// Close stops it.
func (a *Alarm) Close() { a.plain.Stop() }
