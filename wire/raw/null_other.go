//go:build !linux

package raw

import (
	"context"
	"runtime"

	"wirelab"
)

// serveNull fails: the loop is Linux's alone.
func serveNull(_ context.Context, at wirelab.Endpoint, _ Over, _ *responder) error {
	_ = at.Listener.Close() // the error is reported either way
	return wirelab.Errorf(wirelab.Unimplemented, "the null responder waits by Linux's epoll; there is none on %s",
		runtime.GOOS)
}
