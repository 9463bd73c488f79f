package inject

import (
	"context"
	"errors"
	"math"
	"sync/atomic"
	"time"

	"wirelab"
)

// Injector is a behaviour at work in one server.
//
// Times that look random are not drawn but stratified: call k takes the time
// at quantile k·φ mod 1, φ the golden ratio. Of any n calls in a row the shares
// are then those of the law to within about 1/n, where independent draws would
// be off by 1/√n, and a hundred times as many calls would be needed to see an
// error of 1 %. Neighbours are so less alike than chance would have it, which
// no distribution shows.
type Injector struct {
	b     Behaviour
	began time.Time // the phase of a frozen server counts from here
	calls atomic.Uint64
	alarm *alarm  // nil for spin
	burn  *burner // nil but for spin
}

// Start puts the behaviour to work. A frozen server's period begins now. The
// injector is to be closed, after the server.
func (b Behaviour) Start() (*Injector, error) {
	i := &Injector{b: b, began: time.Now()}
	switch b.kind {
	case "":
		return i, nil
	case spin:
		i.burn = newBurner(b.first)
		return i, nil
	}
	var err error
	i.alarm, err = newAlarm()
	return i, err
}

// Hooks are the server's; none at all where the behaviour is nothing.
func (i *Injector) Hooks() wirelab.Hooks {
	switch {
	case i.burn != nil:
		return wirelab.Hooks{Before: func(context.Context, string) error {
			i.burn.spin()
			return nil
		}}
	case i.alarm != nil:
		return wirelab.Hooks{Before: func(ctx context.Context, _ string) error {
			now := time.Now()
			return i.alarm.sleep(ctx, now.Add(i.delay(now.Sub(i.began))))
		}}
	}
	return wirelab.Hooks{}
}

// Close ends what the injector started. Calls that still wait fail.
func (i *Injector) Close() error {
	if i.alarm == nil {
		return nil
	}
	return i.alarm.close()
}

// delay is how long the next call takes that came at a time after the start.
func (i *Injector) delay(at time.Duration) time.Duration {
	b := i.b
	switch b.kind {
	case bimodal:
		if i.next() >= b.share {
			return b.second
		}
	case exponential:
		return time.Duration(-math.Log1p(-i.next()) * float64(b.first))
	case frozen:
		phase, runs := at%b.every, b.every-b.second
		switch {
		case phase >= runs:
			return b.every - phase + b.first
		case phase+b.first > runs:
			return b.first + b.second
		}
	}
	return b.first
}

// golden is 2^64 divided by the golden ratio, to the next odd number: the
// multiples of it modulo 2^64 are spread as evenly as any sequence's.
const golden = 0x9e3779b97f4a7c15

// next returns the next number of the sequence, above 0 and below 1.
func (i *Injector) next() float64 {
	const bits = 53
	return (float64(i.calls.Add(1)*golden>>(64-bits)) + 0.5) / (1 << bits)
}

// errClosed ends the calls that an alarm did not come to wake.
var errClosed = errors.New("inject: the server has stopped")
