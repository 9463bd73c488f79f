package httprpc

import (
	"io"
	"sync"
)

// aheadLimit is how many bytes of a request are read before the service asks
// for them. A caller that leaves with more than these unread is noticed when
// the service reads or writes next.
const aheadLimit = 64 << 10

// ahead is a reader of a request's body that reads on by itself, so that the
// caller's leaving is noticed while the service is busy with other things.
type ahead struct {
	filled sync.WaitGroup // the goroutine that reads

	mu      sync.Mutex // guards all below
	changed sync.Cond  // of mu: bytes came or went, or one of the ends
	buffer  []byte     // read and not yet taken; len < aheadLimit + one read
	err     error      // why the reading ended
	stopped bool
}

// readAhead starts to read body and calls broken if that fails.
func readAhead(body io.Reader, broken func()) *ahead {
	a := new(ahead)
	a.changed.L = &a.mu
	a.filled.Go(func() { a.fill(body, broken) })
	return a
}

func (a *ahead) fill(body io.Reader, broken func()) {
	chunk := make([]byte, 4<<10) // as much as net/http reads at once
	for {
		n, err := body.Read(chunk)
		a.mu.Lock()
		if !a.stopped {
			a.buffer = append(a.buffer, chunk[:n]...)
		}
		a.err = err
		a.changed.Broadcast()
		for len(a.buffer) >= aheadLimit && !a.stopped {
			a.changed.Wait()
		}
		a.mu.Unlock()
		if err != nil {
			if err != io.EOF {
				broken()
			}
			return
		}
	}
}

// Read implements io.Reader.
func (a *ahead) Read(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(a.buffer) == 0 {
		if a.err != nil {
			return 0, a.err
		}
		a.changed.Wait()
	}
	n := copy(p, a.buffer)
	a.buffer = append(a.buffer[:0], a.buffer[n:]...)
	a.changed.Broadcast()
	return n, nil
}

// stop throws away the rest and returns when the body has ended or failed, which its deadline must see to.
func (a *ahead) stop() {
	a.mu.Lock()
	a.stopped = true
	a.changed.Broadcast()
	a.mu.Unlock()
	a.filled.Wait()
}
