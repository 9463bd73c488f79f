package progress_test

import (
	"testing"
	"time"

	"wirelab/results/report/progress"
)

func whole() progress.Event {
	return progress.Event{
		Phase: "measuring", Round: 3, RoundsMin: 10, RoundsMax: 100, Step: 3, Steps: 12, Arm: "grpc",
		Load:    "50 in flight",
		Elapsed: 20 * time.Second, Left: 72 * time.Second, Width: 0.031, Goal: 0.02,
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*progress.Event)
		want   string
	}{
		{
			"all there is", func(*progress.Event) {},
			"round 3 of 10–100 · measuring 4/12 · grpc, 50 in flight · 1m12s left · widest interval ±3.1 → ±2 %",
		},
		{
			"a fixed number of rounds", func(e *progress.Event) { e.RoundsMax = 10 },
			"round 3 of 10 · measuring 4/12 · grpc, 50 in flight · 1m12s left · widest interval ±3.1 → ±2 %",
		},
		{
			"no interval yet, no end in sight", func(e *progress.Event) { e.Width, e.Left = 0, 0 },
			"round 3 of 10–100 · measuring 4/12 · grpc, 50 in flight",
		},
		{
			"no goal", func(e *progress.Event) { e.Goal, e.Width = 0, 0.25 },
			"round 3 of 10–100 · measuring 4/12 · grpc, 50 in flight · 1m12s left · widest interval ±25 %",
		},
		{
			"a round is over", func(e *progress.Event) { e.RoundOver, e.Width = true, 0 },
			"round 3 of 10–100 · done after 20s · 1m12s left",
		},
		{"starting", func(e *progress.Event) {
			*e = progress.Event{Phase: "starting", Round: 1, RoundsMin: 10, RoundsMax: 100, Arm: "grpc"}
		}, "round 1 of 10–100 · starting · grpc"},
		{"the step after the last", func(e *progress.Event) {
			e.Step = 12
			e.Left, e.Width = 0, 0
		}, "round 3 of 10–100 · measuring 12/12 · grpc, 50 in flight"},
	} {
		e := whole()
		c.change(&e)
		if got := progress.Text(e); got != c.want {
			t.Errorf("%s:\n got %q\nwant %q", c.name, got, c.want)
		}
	}
}
