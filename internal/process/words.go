package process

import (
	"bytes"
	"io"
	"strings"
	"sync"
)

// Words keep the end of what a process writes, for the message that tells how it ended.
type Words struct {
	// Also gets all that is written, as it comes; nil: not reported. Assigned before the start.
	Also io.Writer

	mu   sync.Mutex // guards text
	text []byte     // len <= wordsLimit
}

// Kept are wordsLimit bytes, and lastLimit of them fit into a message.
const (
	wordsLimit = 16 << 10
	lastLimit  = 4096
)

// Write implements [io.Writer]. It never fails: a process does not end because no one reads on.
func (w *Words) Write(p []byte) (int, error) {
	if w.Also != nil {
		_, _ = w.Also.Write(p) // anyone who listened may be gone
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(w.text, p[max(0, len(p)-wordsLimit):]...)
	if over := len(w.text) - wordsLimit; over > 0 {
		w.text = append(w.text[:0], w.text[over:]...)
	}
	return len(p), nil
}

// Lines returns the last lines that were written, at most so many, without empty ones at the end.
func (w *Words) Lines(most int) []string {
	w.mu.Lock()
	text := string(bytes.TrimSpace(w.text))
	w.mu.Unlock()
	if text == "" {
		return nil
	}
	lines := strings.Split(strings.ToValidUTF8(text, "\uFFFD"), "\n")
	return lines[max(0, len(lines)-most):]
}

// Last are the last three lines, to be put at the end of a message; "" where nothing was written.
func (w *Words) Last() string {
	lines := w.Lines(3)
	if lines == nil {
		return ""
	}
	last := strings.Join(lines, " | ")
	if over := len(last) - lastLimit; over > 0 {
		last = "…" + strings.ToValidUTF8(last[over:], "")
	}
	return "; its last words: " + last
}
