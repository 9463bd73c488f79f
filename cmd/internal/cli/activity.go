package cli

import (
	"context"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// silence is how long a program may print nothing before it says what it is doing.
	silence = 2 * time.Second
	// redraw is how often the line on a terminal is redrawn to show that time passes. It is rare enough not to
	// disturb a measurement.
	redraw = time.Second
	// often is the least time between two redraws: an experiment's steps may take only 30 ms.
	often = 200 * time.Millisecond
	// rarest is the longest pause between two lines without a terminal, since the lines end up in logs.
	rarest = time.Minute
)

// Clock is the time with which a program measures how long it waits. Tests set it.
type Clock interface {
	Now() time.Time
	// After returns a channel that receives after the given time, unless stop was called before.
	After(d time.Duration) (due <-chan time.Time, stop func() bool)
}

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func (systemClock) After(d time.Duration) (due <-chan time.Time, stop func() bool) {
	timer := time.NewTimer(d)
	return timer.C, timer.Stop
}

// Activity is work that takes time, about which the user is informed on standard error. On a terminal it is one line
// that changes and is wiped at the end; elsewhere it is a line from time to time. Work that ends within two seconds
// is not mentioned. Of nested activities the innermost is shown. All methods may be called on nil, which shows
// nothing, and from several goroutines.
type Activity struct {
	b     *busy
	what  string
	how   string        // progress; may be empty
	most  time.Duration // the time limit; 0: none
	began time.Time     // when it or its last step began
}

// busy has the current activities of a running command. Each running command has one.
type busy struct {
	out      io.Writer
	terminal bool
	columns  int
	clock    Clock

	mu      sync.Mutex
	stack   []*Activity
	said    time.Time     // when something was last printed
	pause   time.Duration // without a terminal: the pause before the next line
	drawn   bool          // the current line of the terminal is not empty
	drawnAt time.Time
	writing int // writes to standard output that have not returned; a pager may block them
	// interrupted is the text before an activity that has not ended after an interruption; "" before that.
	interrupted string
	wake        chan struct{} // has a value once there is an activity again
	ended       chan struct{}
	ticks       sync.WaitGroup
}

// newBusy starts the messages for a command.
func (t *Terminal) newBusy() *busy {
	b := &busy{
		out: t.Stderr, clock: t.Clock, columns: Columns, pause: silence,
		wake: make(chan struct{}, 1), ended: make(chan struct{}),
	}
	if b.clock == nil {
		b.clock = systemClock{}
	}
	if f, ok := FileOf(t.Stderr); ok {
		if size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ); err == nil {
			b.terminal = true
			if size.Col > 0 {
				b.columns = int(size.Col)
			}
		}
	}
	b.said = b.clock.Now()
	b.ticks.Go(b.tick)
	return b
}

// end ends the messages. None is written afterwards.
func (b *busy) end() {
	b.mu.Lock()
	b.stack = nil
	b.wipe()
	close(b.ended)
	b.mu.Unlock()
	b.ticks.Wait()
}

// tick checks repeatedly whether there is something to say.
func (b *busy) tick() {
	for {
		var due <-chan time.Time
		stop := func() bool { return false }
		b.mu.Lock()
		if len(b.stack) > 0 {
			select {
			case <-b.wake: // clear it, since the stack is read below; otherwise the wait would end at once
			default:
			}
		}
		switch {
		case len(b.stack) == 0: // wait for an activity: an idle server must not be woken each second
		case b.terminal:
			due, stop = b.clock.After(redraw)
		default: // something may be printed until then, which makes it too early
			due, stop = b.clock.After(max(b.pause-b.clock.Now().Sub(b.said), time.Millisecond))
		}
		b.mu.Unlock()
		select {
		case <-b.ended:
			stop()
			return
		case <-b.wake:
			stop()
			continue
		case <-due:
		}
		b.mu.Lock()
		select {
		case <-b.ended:
		default:
			b.look()
		}
		b.mu.Unlock()
	}
}

// interrupt sets the text that precedes the current activity.
func (b *busy) interrupt(words string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.interrupted = words
}

// look prints the current activity if nothing was printed for long enough.
func (b *busy) look() {
	now := b.clock.Now()
	if b.writing > 0 {
		b.said = now
	}
	if len(b.stack) == 0 || b.writing > 0 {
		return
	}
	quiet := now.Sub(b.said)
	top := b.stack[len(b.stack)-1]
	switch {
	case top.what == "":
	case b.terminal && (b.drawn || quiet >= silence):
		b.draw(top, now)
	case !b.terminal && quiet >= b.pause:
		b.pause = min(3*b.pause, rarest)
		b.said = now
		_, _ = io.WriteString(b.out, top.line(now)+"\n")
	}
}

// draw overwrites the line on the terminal.
func (b *busy) draw(a *Activity, now time.Time) {
	text, since := a.text(), a.since(now)
	most := max(b.columns-1-width(since), 0) // some terminals wrap when the last column is filled
	b.drawn, b.drawnAt = true, now
	_, _ = io.WriteString(b.out, "\r"+cut(text, most)+since+"\x1b[K")
}

// wipe removes the line, so that something else can be printed.
func (b *busy) wipe() {
	if b.drawn {
		b.drawn = false
		_, _ = io.WriteString(b.out, "\r\x1b[K")
	}
}

// text returns the activity and its progress.
func (a *Activity) text() string {
	text := a.b.interrupted + a.what
	if a.how != "" {
		text += ": " + a.how
	}
	return text
}

// since returns " (7s so far, at most 30s)"; "" in the first second.
func (a *Activity) since(now time.Time) string {
	so := now.Sub(a.began).Round(time.Second)
	switch {
	case so < time.Second:
		return ""
	case a.most > so:
		return " (" + so.String() + " so far, at most " + a.most.String() + ")"
	}
	return " (" + so.String() + " so far)"
}

func (a *Activity) line(now time.Time) string { return a.text() + a.since(now) }

// Doing begins an activity, such as "reading the result".
func (t *Terminal) Doing(what string) *Activity { return t.doing(what, 0) }

func (t *Terminal) doing(what string, most time.Duration) *Activity {
	if t.busy == nil {
		return nil
	}
	return t.busy.begin(what, most)
}

func (b *busy) begin(what string, most time.Duration) *Activity {
	b.mu.Lock()
	defer b.mu.Unlock()
	a := &Activity{b: b, what: what, most: most, began: b.clock.Now()}
	if len(b.stack) == 0 {
		b.said = a.began
		select {
		case b.wake <- struct{}{}:
		default:
		}
	}
	b.stack = append(b.stack, a)
	return a
}

// Waiting is Doing for waiting on something else. most is the time limit; 0: none.
func (t *Terminal) Waiting(what string, most time.Duration) (done func()) {
	return t.doing("waiting for "+what, most).Done
}

// Reading says that standard input is being read. A user who types sees it once, and nothing is drawn into the text.
func (t *Terminal) Reading() (done func()) {
	f, ok := t.Stdin.(*os.File)
	if ok {
		_, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
		ok = err == nil
	}
	if !ok {
		return t.Doing("reading standard input").Done
	}
	t.Note("reading standard input; end it with Ctrl-D")
	return t.Doing("").Done
}

// Idle ends the activity that the user waits for: from now on the command runs until ctx ends, and its silence is
// normal. Afterwards it does what stopping says, such as "stopping the node".
func (t *Terminal) Idle(ctx context.Context, stopping string) {
	b := t.busy
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stack = nil
	b.wipe()
	b.ticks.Go(func() {
		select {
		case <-ctx.Done():
			b.interrupt("")
			b.begin(stopping, 0)
		case <-b.ended:
		}
	})
}

// Step sets the current step, whose time starts now. A terminal shows it at once.
func (a *Activity) Step(what string) { a.step(what, false) }

// Stage is Step for a step that gets a separate line without a terminal, such as a complete round.
func (a *Activity) Stage(what string) { a.step(what, true) }

func (a *Activity) step(what string, kept bool) {
	if a == nil {
		return
	}
	b := a.b
	b.mu.Lock()
	defer b.mu.Unlock()
	if !slices.Contains(b.stack, a) {
		return
	}
	now := b.clock.Now()
	a.what, a.how, a.began = what, "", now
	switch {
	case b.terminal && (kept || !b.drawn || now.Sub(b.drawnAt) >= often):
		b.draw(a, now)
	case !b.terminal && kept:
		b.said = now
		_, _ = io.WriteString(b.out, what+"\n")
	}
}

// Far sets the progress of the activity, such as "12 of 500 results".
func (a *Activity) Far(how string) {
	if a == nil {
		return
	}
	a.b.mu.Lock()
	defer a.b.mu.Unlock()
	a.how = how
	if now := a.b.clock.Now(); a.b.drawn && now.Sub(a.b.drawnAt) >= often && len(a.b.stack) > 0 {
		a.b.draw(a.b.stack[len(a.b.stack)-1], now)
	}
}

// Done ends the activity, and wipes its line. It may be called twice.
func (a *Activity) Done() {
	if a == nil {
		return
	}
	a.b.mu.Lock()
	defer a.b.mu.Unlock()
	if i := slices.Index(a.b.stack, a); i >= 0 {
		a.b.stack = slices.Delete(a.b.stack, i, i+1)
		a.b.wipe()
	}
}

// heard is standard output or error while a command runs: printing wipes the activity's line, and ends a silence.
type heard struct {
	io.Writer
	b *busy
	// output reports that a reader, such as a pager, may block a write for any time.
	output bool
}

func (h *heard) Write(p []byte) (int, error) {
	h.b.mu.Lock()
	h.b.wipe()
	h.b.said = h.b.clock.Now()
	if !h.output { // under the lock, so that nothing is drawn into it
		defer h.b.mu.Unlock()
		return h.Writer.Write(p)
	}
	h.b.writing++
	h.b.mu.Unlock()
	defer func() {
		h.b.mu.Lock()
		h.b.writing--
		h.b.said = h.b.clock.Now()
		h.b.mu.Unlock()
	}()
	return h.Writer.Write(p)
}

// FileOf returns the file that output is written to, if there is one.
func FileOf(w io.Writer) (*os.File, bool) {
	if h, ok := w.(*heard); ok {
		w = h.Writer
	}
	f, ok := w.(*os.File)
	return f, ok
}

// cut shortens a text to the given number of characters.
func cut(text string, most int) string {
	if width(text) <= most {
		return text
	}
	return string([]rune(text)[:max(most-1, 0)]) + "…"
}

// Teller adapts a terminal for packages that report what they do and know no terminal.
type Teller struct{ *Terminal }

// Doing shows an activity until done is called.
func (t Teller) Doing(what string) (done func()) { return t.Terminal.Doing(what).Done }
