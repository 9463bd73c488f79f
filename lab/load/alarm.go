package load

import "time"

func ring(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default: // the last ring has not been received yet
	}
}

// newPlainAlarm returns an alarm that uses Go's timers.
func newPlainAlarm() *Alarm {
	rang := make(chan struct{}, 1)
	a := &Alarm{C: rang, plain: time.AfterFunc(time.Hour, func() { ring(rang) })}
	a.plain.Stop()
	return a
}
