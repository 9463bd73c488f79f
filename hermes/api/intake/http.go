package intake

import (
	"context"
	"io"
	"net/http"
	"time"
)

// Body counts the body of a request while it is read, until release is called, once. The reader's error is
// ResourceExhausted where there was no room.
func (i *Intake) Body(w http.ResponseWriter, r *http.Request) (release func()) {
	if r.Body == nil || r.Body == http.NoBody {
		return func() {}
	}
	past := time.Unix(1, 0)
	counted, release := i.Reader(r.Context(), r.Body, func() {
		_ = http.NewResponseController(w).SetReadDeadline(past) // versions that cannot end by their own time
	})
	r.Body = struct {
		io.Reader
		io.Closer
	}{counted, r.Body}
	return release
}

// Reader counts bytes as they are read, until release is called, once. end is to make reading fail.
func (i *Intake) Reader(ctx context.Context, r io.Reader, end func()) (counted io.Reader, release func()) {
	u := i.Begin(end)
	return &reader{r: r, u: u, done: ctx.Done()}, u.Release
}

// reader counts what it reads.
type reader struct {
	r    io.Reader
	u    *Upload
	done <-chan struct{}
}

// Read implements [io.Reader].
func (r *reader) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	if r.u.Ended() {
		return 0, r.u.of.stalled()
	}
	if n > 0 {
		if full := r.u.Take(r.done, n); full != nil {
			return 0, full
		}
	}
	if err != nil {
		r.u.Whole()
	}
	return n, err
}
