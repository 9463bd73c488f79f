package load

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// compiling is a server that uses twice as much CPU time for its first calls as later, while its calls always take
// equally long. It counts calls, so it depends on no time.
type compiling struct {
	calls int // calls answered so far
	warm  int // after this many calls it costs half
	steep bool
	idle  bool // it uses a hundredth of a CPU instead of a fifth
	used  time.Duration
}

func (c *compiling) call(ctx context.Context) error {
	cost := 200 * time.Microsecond
	if c.idle {
		cost = 10 * time.Microsecond
	}
	switch left := c.warm - c.calls; {
	case left > 0 && c.steep:
		cost *= 2
	case left > 0:
		cost += cost * time.Duration(left) / time.Duration(c.warm)
	}
	c.calls++
	// Some noise, always the same: without noise the windows would be equal, and steady too soon.
	c.used += cost + time.Duration(c.calls*7%11)*cost/100
	return sleep(ctx, ms)
}

// A server that is compiled while it runs is not steady before that is over, although its calls take equally long from
// the first on.
func TestWarmWatchesTheServersCPU(t *testing.T) {
	t.Parallel()
	const window = 100 // calls
	warm := func(server *compiling, watched bool) (w *Warmth, err error) {
		synctest.Test(t, func(t *testing.T) {
			warming := Warming{Plan: Plan{Clock: TimerClock{}, Duration: window * ms}}
			if watched {
				warming.Served = func(context.Context) (time.Duration, error) { return server.used, nil }
			}
			w, err = NewRunner(workers(1, server.call)).Warm(t.Context(), warming)
		})
		return w, err
	}
	for _, windows := range []int{4, 9, 12, 15, 17, 19, 30, 70, 130, 150, 400} {
		for _, steep := range []bool{true, false} {
			if steep && windows > 19 {
				continue // the first 20 are alike, so no test can tell; the halves of the slices show it
			}
			t.Run(fmt.Sprintf("%d windows, steep %v", windows, steep), func(t *testing.T) {
				server := &compiling{warm: windows * window, steep: steep}
				w, err := warm(server, true)
				if err != nil {
					t.Fatal(err)
				}
				// Up to one in five of the windows kept may be from before the change: such a share moves no mean by
				// much.
				kept := w.Windows - w.Cut
				if early := windows - w.Cut; w.Steady && (server.calls < server.warm || early > kept/5) {
					t.Errorf("called steady after %d windows, %d cut, and it costs less after %d", w.Windows, w.Cut,
						windows)
				}
				if !w.Steady && windows < 100 {
					t.Errorf("never steady in %d windows: %v", w.Windows, w.Cost)
				}
				if len(w.Cost) != w.Windows {
					t.Errorf("%d windows, %d costs", w.Windows, len(w.Cost))
				}
			})
		}
	}
	if w, err := warm(&compiling{}, true); err != nil || !w.Steady || w.Windows > 80 {
		t.Errorf("a server that costs the same throughout: %+v, %v", w, err)
	}
	if w, err := warm(&compiling{warm: 400 * window, idle: true}, true); err != nil || !w.Steady ||
		len(w.Cost) != w.Windows {
		t.Errorf("a server that is idle nearly always: %+v, %v", w, err)
	}
	if w, err := warm(&compiling{warm: 1000 * window}, false); err != nil || w.Cost != nil {
		t.Errorf("a server whose CPU is unknown: %+v, %v", w, err)
	}
}

// Windows that run together, since calls take longer than one window, use the server's CPU time too.
func TestWarmTogetherHasTheServersCPU(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		used := time.Duration(0)
		p := Plan{Clock: TimerClock{}, Schedule: ConstantRate(100), Duration: 50 * ms}
		w, err := NewRunner(workers(64, takes(200*ms))).Warm(t.Context(),
			Warming{Plan: p, Served: func(context.Context) (time.Duration, error) {
				used += ms
				return used, nil
			}})
		if err != nil || len(w.Cost) != w.Windows {
			t.Errorf("%+v, %v", w, err)
		}
		gone := errors.New("gone")
		_, err = NewRunner(workers(64, takes(ms))).Warm(t.Context(),
			Warming{Plan: p, Served: func(context.Context) (time.Duration, error) { return 0, gone }})
		if !errors.Is(err, gone) {
			t.Errorf("a server whose CPU cannot be read: %v", err)
		}
	})
}
