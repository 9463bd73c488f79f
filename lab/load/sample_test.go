package load

import (
	"testing"
	"time"
)

// instantLines answer every call at the next Turn, at no cost, so that only the engine's own cost is left.
type instantLines struct {
	slots       int
	begun, turn []int
}

func (l *instantLines) Slots() int        { return l.slots }
func (l *instantLines) Cancel(int, error) {}
func (l *instantLines) Begin(slot int)    { l.begun = append(l.begun, slot) }

func (l *instantLines) Turn(_ time.Duration, ended func(int, error)) error {
	l.turn, l.begun = l.begun, l.turn[:0]
	for _, slot := range l.turn {
		ended(slot, nil)
	}
	return nil
}

// BenchmarkSample measures what recording one call costs the engine over lines: its schedule, its clock and its
// histograms, without the call and without waiting for the next to be due.
func BenchmarkSample(b *testing.B) {
	for name, schedule := range map[string]*Schedule{
		"closed": nil, "constant": ConstantRate(4e6), "poisson": PoissonRate(4e6, 1),
	} {
		b.Run(name, func(b *testing.B) {
			const run = 50 * time.Millisecond
			runner := NewLinesRunner(&instantLines{slots: 50})
			samples, took := uint64(0), time.Duration(0)
			b.ReportAllocs() // of a whole run, which has a few for its result
			for b.Loop() {
				rec, err := runner.Run(b.Context(), Plan{
					Schedule: schedule, Duration: run, Deadline: time.Minute,
					Around: func(run func()) {
						began := time.Now()
						run()
						took += time.Since(began)
					},
				})
				if err != nil {
					b.Fatal(err)
				}
				samples += rec.Sent
				took -= rec.Spun
			}
			b.ReportMetric(float64(took)/float64(samples), "ns/sample")
			b.ReportMetric(0, "ns/op") // the length of a run means nothing
		})
	}
}
