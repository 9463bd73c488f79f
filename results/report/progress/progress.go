// Package progress describes how far an experiment is. It must not know the experiment or the terminal: everything
// comes in as events.
package progress

import (
	"fmt"
	"strings"
	"time"
)

// Event is a step of an experiment.
type Event struct {
	Phase string // "warming up"; "" if there is none
	// RoundOver reports that the round Round is complete.
	RoundOver bool
	Round     int // from 1
	// RoundsMin and RoundsMax are the limits of the rounds; 0 if not known.
	RoundsMin, RoundsMax int
	Step, Steps          int // step of the round; Steps is 0 if there are none
	Arm, Load            string
	Elapsed              time.Duration
	Left                 time.Duration // 0 if not known
	// Width is the half-width of the primary metric's widest interval as a share, 0 if there is none yet. Goal is the
	// width at which the experiment ends, 0 if there is none.
	Width, Goal float64
}

// Text describes an event: "round 3 of 10–100 · slice 4/12 · grpc, 50 in flight · 1m12s left · ±3.1 % → ±2 %".
func Text(e Event) string {
	parts := []string{"round " + rounds(e)}
	if !e.RoundOver {
		parts = append(parts, doing(e))
	}
	if e.RoundOver {
		parts = append(parts, "done after "+brief(e.Elapsed))
	}
	if e.Left > 0 {
		parts = append(parts, brief(e.Left)+" left")
	}
	switch {
	case e.Width > 0 && e.Goal > 0:
		parts = append(parts, fmt.Sprintf("widest interval ±%s → ±%s %%", percent(e.Width), percent(e.Goal)))
	case e.Width > 0:
		parts = append(parts, fmt.Sprintf("widest interval ±%s %%", percent(e.Width)))
	}
	kept := parts[:0]
	for _, p := range parts {
		if p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, " · ")
}

// rounds writes "3 of 10–100", "3 of 10" or "3".
func rounds(e Event) string {
	switch {
	case e.RoundsMin > 0 && e.RoundsMax > e.RoundsMin:
		return fmt.Sprintf("%d of %d–%d", e.Round, e.RoundsMin, e.RoundsMax)
	case max(e.RoundsMin, e.RoundsMax) > 0:
		return fmt.Sprintf("%d of %d", e.Round, max(e.RoundsMin, e.RoundsMax))
	}
	return fmt.Sprint(e.Round)
}

// doing writes the current step and its arm: "measuring 4/12 · grpc, 50 in flight".
func doing(e Event) string {
	what := e.Phase
	if e.Steps > 0 {
		what = strings.TrimSpace(fmt.Sprintf("%s %d/%d", what, min(e.Step+1, e.Steps), e.Steps))
	}
	who := e.Arm
	if e.Load != "" && who != "" {
		who += ", " + e.Load
	}
	if what == "" || who == "" {
		return what + who
	}
	return what + " · " + who
}

func percent(share float64) string {
	digits := 1
	if share >= 0.1 {
		digits = 0
	}
	return strings.TrimSuffix(fmt.Sprintf("%.*f", digits, 100*share), ".0")
}

// brief rounds a duration, so that it does not change too fast to read.
func brief(d time.Duration) string {
	if d < time.Second {
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}
