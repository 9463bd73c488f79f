package load

import "time"

func ring(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default: // it has not been heard yet
	}
}

// newPlainAlarm is an alarm by Go's timers.
func newPlainAlarm() *Alarm {
	rang := make(chan struct{}, 1)
	a := &Alarm{C: rang, plain: time.AfterFunc(time.Hour, func() { ring(rang) })}
	a.plain.Stop()
	return a
}
