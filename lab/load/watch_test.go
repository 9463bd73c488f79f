package load

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Watch is called once for every call that ended, with the times that are recorded and in wall time, so that they can
// be compared with records made elsewhere.
func TestWatchIsToldOfEveryCall(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]Plan{
		"open":   {Schedule: ConstantRate(200), Duration: time.Second, Head: 100 * ms},
		"closed": {Duration: time.Second, Head: 100 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				failed := errors.New("every third")
				var mu sync.Mutex // guards calls and told
				calls := 0
				var told []Ended
				p := p
				p.Clock, p.Callers = TimerClock{}, workers(3, func(ctx context.Context) error {
					mu.Lock()
					calls++
					third := calls%3 == 0
					mu.Unlock()
					if err := sleep(ctx, 4*ms); err != nil || !third {
						return err
					}
					return failed
				})
				p.Watch = func(e Ended) {
					mu.Lock()
					defer mu.Unlock()
					told = append(told, e)
				}
				began := time.Now()
				rec, err := Run(t.Context(), p)
				if err != nil {
					t.Fatal(err)
				}
				equal(t, "told", len(told), calls)
				recorded, wrong, last := uint64(0), uint64(0), map[int]int64{}
				for _, e := range told {
					if e.Recorded {
						recorded++
						if e.Err != nil {
							wrong++
						}
					}
					if e.Recorded == time.Unix(0, e.Due).Before(rec.Began.Add(p.Head)) {
						t.Errorf("due %v after the beginning, recorded %v", time.Unix(0, e.Due).Sub(began), e.Recorded)
					}
					if e.Sent < e.Due || e.End != e.Sent+int64(4*ms) || e.Sent < last[e.Caller] ||
						e.Sent < began.UnixNano() {
						t.Errorf("%+v after %d", e, last[e.Caller])
					}
					last[e.Caller] = e.End
				}
				equal(t, "recorded", recorded, rec.Sent)
				equal(t, "failed", wrong, rec.Failures())
				equal(t, "callers", len(last), 3)
			})
		})
	}
}
