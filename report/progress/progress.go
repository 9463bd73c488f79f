// Package progress shows how far an experiment is: one line that changes on a
// terminal, a line for each round elsewhere. It knows neither the experiment
// nor the clock: what there is to show comes in as events.
package progress

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

// Event is a step of an experiment.
type Event struct {
	Phase string // "warming up"; "" shows none
	// RoundOver tells that a round is complete; Round is then that one.
	RoundOver bool
	Round     int // from 1
	// RoundsMin and RoundsMax bound the rounds; 0 if unknown.
	RoundsMin, RoundsMax int
	Step, Steps          int // of the round; Steps 0 if there are none
	Arm, Load            string
	Elapsed              time.Duration
	Left                 time.Duration // 0 if unknown
	// Width is the half-width of the primary metric's widest interval as a
	// share, 0 if there is none yet; Goal the one to end at, 0 if there is none.
	Width, Goal float64
}

// Style is how to show.
type Style struct {
	// Terminal tells that a line can be written over.
	Terminal bool
	// Width is how many columns there are; 0 means 80. A line that is longer
	// would wrap, and could not be written over: it is cut.
	Width int
}

// Line shows events. Use it from one goroutine at a time. Writes that fail
// are let go: progress is worth no result.
type Line struct {
	out     io.Writer
	style   Style
	drawn   bool          // something stands on the current line
	lastly  time.Duration // Elapsed when it was last drawn
	message string
	told    string // the last event or step in words, whether drawn or not
}

// New returns a line that writes to w.
func New(w io.Writer, s Style) *Line {
	if s.Width <= 0 {
		s.Width = 80
	}
	return &Line{out: w, style: s}
}

// often is the least time between two drawings of the line: slices are as
// short as 30 ms, and drawing costs the machine that is measured.
const often = 200 * time.Millisecond

// Show shows an event.
func (l *Line) Show(e Event) {
	if !l.style.Terminal {
		if e.RoundOver {
			l.write(text(e) + "\n")
		}
		return
	}
	l.told = text(e)
	if l.drawn && !e.RoundOver && e.Elapsed-l.lastly < often && e.Elapsed >= l.lastly {
		return
	}
	l.lastly = e.Elapsed
	l.draw(l.told)
}

// Say shows a step that is no experiment's event, on a terminal only.
func (l *Line) Say(text string) {
	if l.style.Terminal {
		l.told = text
		l.draw(text)
	}
}

// Still shows the last step again with how long it has taken so far, for who
// waits: on a terminal nothing stands still for long. Elsewhere it does nothing.
func (l *Line) Still(since time.Duration) {
	if l.style.Terminal && l.told != "" {
		l.draw(l.told + " · " + brief(since) + " so far")
	}
}

// draw writes over the line.
func (l *Line) draw(text string) {
	message := cut(text, l.style.Width-1) // some terminals wrap when the last column is filled
	if l.drawn && message == l.message {
		return
	}
	l.message, l.drawn = message, true
	l.write("\r" + message + "\x1b[K")
}

// Done ends the showing: the line is wiped, so that a report can follow.
func (l *Line) Done() {
	if l.drawn {
		l.write("\r\x1b[K")
		l.drawn = false
	}
}

func (l *Line) write(text string) { _, _ = io.WriteString(l.out, text) }

// text is an event in words: "round 3 of 10–100 · slice 4/12 · grpc, 50 in
// flight · 1m12s left · ±3.1 % → ±2 %".
func text(e Event) string {
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

// rounds is "3 of 10–100", "3 of 10" or "3".
func rounds(e Event) string {
	switch {
	case e.RoundsMin > 0 && e.RoundsMax > e.RoundsMin:
		return fmt.Sprintf("%d of %d–%d", e.Round, e.RoundsMin, e.RoundsMax)
	case max(e.RoundsMin, e.RoundsMax) > 0:
		return fmt.Sprintf("%d of %d", e.Round, max(e.RoundsMin, e.RoundsMax))
	}
	return fmt.Sprint(e.Round)
}

// doing is what is being done to whom: "measuring 4/12 · grpc, 50 in flight".
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

// brief rounds a time to what one can follow.
func brief(d time.Duration) string {
	if d < time.Second {
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// cut shortens text to so many characters.
func cut(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	runes := []rune(text)
	return string(runes[:max(most-1, 0)]) + "…"
}
