//go:build !linux

package raw

import (
	"context"
	"runtime"

	"wirelab"
)

// line is a connection, of which there are none.
type line struct{}

// openLines fails: the loop is Linux's alone.
func openLines(context.Context, *plan) (wirelab.Lines, error) {
	return nil, wirelab.Errorf(wirelab.Unimplemented, "the raw driver waits by Linux's epoll; there is none on %s",
		runtime.GOOS)
}
