package inject

import (
	"context"
	"errors"
	"math"
	"sync/atomic"
	"time"

	"wirelab"
)

// Injector applies a behaviour to one server.
//
// Times are not drawn at random but stratified: call k takes the time at quantile k·φ mod 1, where φ is the golden
// ratio. The shares among any n consecutive calls then match the distribution to within about 1/n. Independent draws
// would be off by 1/√n, and a hundred times as many calls would be needed to see an error of 1 %. Consecutive calls are
// therefore less alike than at random, which no distribution shows.
type Injector struct {
	b     Behaviour
	began time.Time // the phase of a frozen server counts from here
	calls atomic.Uint64
	alarm *alarm  // nil for spin
	burn  *burner // nil unless spin
}

// Start starts the behaviour. The period of a frozen server begins now. Close the injector after the server.
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

// Hooks returns the server's hooks; the zero value if the behaviour is nothing.
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

// Close stops what the injector started. Calls that still wait fail.
func (i *Injector) Close() error {
	if i.alarm == nil {
		return nil
	}
	return i.alarm.close()
}

// delay returns how long the next call takes, if it comes at this time after the start.
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

// golden is 2^64 divided by the golden ratio, rounded to an odd number. Its multiples modulo 2^64 are spread as evenly
// as those of any sequence.
const golden = 0x9e3779b97f4a7c15

// next returns the next number of the sequence, above 0 and below 1.
func (i *Injector) next() float64 {
	const bits = 53
	return (float64(i.calls.Add(1)*golden>>(64-bits)) + 0.5) / (1 << bits)
}

// errClosed is the error of calls that still waited when the alarm was closed.
var errClosed = errors.New("inject: the server has stopped")
