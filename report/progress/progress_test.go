package progress_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"wirelab/report/progress"
)

func whole() progress.Event {
	return progress.Event{
		Phase: "measuring", Round: 3, RoundsMin: 10, RoundsMax: 100, Step: 3, Steps: 12, Arm: "grpc", Load: "50 in flight",
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
		{"all there is", func(*progress.Event) {}, "round 3 of 10–100 · measuring 4/12 · grpc, 50 in flight · 1m12s left · widest interval ±3.1 → ±2 %"},
		{"a fixed number of rounds", func(e *progress.Event) { e.RoundsMax = 10 }, "round 3 of 10 · measuring 4/12 · grpc, 50 in flight · 1m12s left · widest interval ±3.1 → ±2 %"},
		{"no interval yet, no end in sight", func(e *progress.Event) { e.Width, e.Left = 0, 0 }, "round 3 of 10–100 · measuring 4/12 · grpc, 50 in flight"},
		{"no goal", func(e *progress.Event) { e.Goal, e.Width = 0, 0.25 }, "round 3 of 10–100 · measuring 4/12 · grpc, 50 in flight · 1m12s left · widest interval ±25 %"},
		{"starting", func(e *progress.Event) {
			*e = progress.Event{Phase: "starting", Round: 1, RoundsMin: 10, RoundsMax: 100, Arm: "grpc"}
		}, "round 1 of 10–100 · starting · grpc"},
		{"the step after the last", func(e *progress.Event) {
			e.Step = 12
			e.Left, e.Width = 0, 0
		}, "round 3 of 10–100 · measuring 12/12 · grpc, 50 in flight"},
	} {
		var out strings.Builder
		e := whole()
		c.change(&e)
		progress.New(&out, progress.Style{Terminal: true, Width: 200}).Show(e)
		if want := "\r" + c.want + "\x1b[K"; out.String() != want {
			t.Errorf("%s:\n got %q\nwant %q", c.name, out.String(), want)
		}
	}
}

func TestTerminal(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	line := progress.New(&out, progress.Style{Terminal: true, Width: 40})
	e := whole()
	line.Show(e)
	if shown := strings.TrimSuffix(strings.TrimPrefix(out.String(), "\r"), "\x1b[K"); utf8.RuneCountInString(shown) > 39 || !strings.HasSuffix(shown, "…") {
		t.Errorf("40 columns hold %q", shown)
	}
	before := out.Len()
	e.Step, e.Elapsed = 4, e.Elapsed+50*time.Millisecond
	line.Show(e)
	if out.Len() != before {
		t.Error("drawn again after 50 ms")
	}
	e.Round, e.Elapsed = 4, e.Elapsed+time.Second
	line.Show(e)
	if out.Len() == before {
		t.Error("not drawn again after a second")
	}
	line.Done()
	if !strings.HasSuffix(out.String(), "\r\x1b[K") || strings.Contains(out.String(), "\n") {
		t.Errorf("the line is not wiped: %q", out.String())
	}
	before = out.Len()
	line.Done()
	if out.Len() != before {
		t.Error("wiped twice")
	}
}

func TestElsewhere(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	line := progress.New(&out, progress.Style{})
	for round := 1; round <= 2; round++ {
		e := whole()
		e.Round = round
		for range 5 {
			line.Show(e)
		}
		e.RoundOver, e.Elapsed = true, time.Duration(round)*6*time.Second
		line.Show(e)
	}
	line.Done()
	want := "round 1 of 10–100 · done after 6s · 1m12s left · widest interval ±3.1 → ±2 %\n" +
		"round 2 of 10–100 · done after 12s · 1m12s left · widest interval ±3.1 → ±2 %\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}

// A step that takes long shows that it goes on, on a terminal and nowhere else.
func TestStill(t *testing.T) {
	t.Parallel()
	var out, file strings.Builder
	line, plain := progress.New(&out, progress.Style{Terminal: true}), progress.New(&file, progress.Style{})
	for _, l := range []*progress.Line{line, plain} {
		l.Still(time.Second) // of nothing
		l.Say("preparing")
		l.Still(2 * time.Second)
	}
	if want := "\rpreparing\x1b[K\rpreparing · 2s so far\x1b[K"; out.String() != want || file.Len() > 0 {
		t.Errorf("got %q, want %q; elsewhere %q", out.String(), want, file.String())
	}
	line.Show(whole())
	line.Still(3 * time.Second)
	if !strings.Contains(out.String(), "\rround 3") || !strings.Contains(out.String(), "measuring 4/12") {
		t.Errorf("%q", out.String())
	}
}
