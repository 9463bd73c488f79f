package lograte_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"wirelab/hermes/lograte"
)

// written is what was logged.
type written struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (w *written) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(p)
}

func (w *written) lines() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Split(strings.TrimSpace(w.b.String()), "\n")
}

// Of a cause that comes again and again some lines are logged, and then how many more there were; other causes
// are not held up by it, and no line is lost to the sum.
func TestCausesAreLimited(t *testing.T) {
	t.Parallel()
	w := new(written)
	h := lograte.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug}), time.Hour)
	logger := slog.New(h).With("node", 1)
	for i := range 100_000 {
		logger.Warn("a stranger came", "address", i, "err", errors.New("he said nothing"))
	}
	logger.Warn("another cause")
	logger.Error("a stranger came")
	for range 100 {
		logger.Debug("who asks for this wants all of it")
	}
	if n := len(w.lines()); n != lograte.Burst+2+100 {
		t.Fatalf("%d lines", n)
	}
	h.Flush()
	last := w.lines()[lograte.Burst+2+100:]
	if len(last) != 1 || !strings.Contains(last[0], fmt.Sprint("more_like_this=", 100_000-lograte.Burst)) ||
		!strings.Contains(last[0], "address=99999") ||
		!strings.Contains(last[0], "node=1") {
		t.Errorf("the sum is reported by %q", last)
	}
}

// The sum is shown by itself, once an interval.
func TestTheSumIsTold(t *testing.T) {
	t.Parallel()
	w := new(written)
	logger := slog.New(lograte.New(slog.NewTextHandler(w, nil), 10*time.Millisecond))
	for len(w.lines()) < 3*lograte.Burst {
		for range 1000 {
			logger.Warn("a stranger came")
		}
	}
	sums := 0
	for _, line := range w.lines() {
		if strings.Contains(line, "more_like_this") {
			sums++
		}
	}
	if sums < 2 {
		t.Errorf("%d sums", sums)
	}
}

// However many causes there are, the memory for them is bounded, and none is lost.
func TestManyCauses(t *testing.T) {
	t.Parallel()
	w := new(written)
	h := lograte.New(slog.NewTextHandler(w, nil), time.Hour)
	logger := slog.New(h)
	for i := range 10_000 {
		logger.Warn(fmt.Sprint("cause ", i))
	}
	h.Flush()
	lines := w.lines()
	if len(lines) > 300 || !strings.Contains(lines[len(lines)-1],
		fmt.Sprint("more_like_this=", 10_000-(len(lines)-1))) {
		t.Errorf("%d lines, the last is %q", len(lines), lines[len(lines)-1])
	}
}
