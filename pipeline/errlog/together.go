package errlog

import (
	"io"
	"sync"
)

// Together is a writer for several goroutines.
type Together struct {
	mu sync.Mutex // guards to
	To io.Writer
}

// Write implements [io.Writer].
func (t *Together) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.To.Write(p)
}
