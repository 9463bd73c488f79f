// Package acceptloop takes connections from a listener for servers whose library has no accept loop. It knows
// neither protocol nor workload.
package acceptloop

import (
	"context"
	"errors"
	"net"
	"syscall"
	"time"

	"wirelab/wire/status"
)

// The pause after a connection could not be taken for want of something that
// comes back, doubled each time in a row.
const (
	pauseMin = 5 * time.Millisecond
	pauseMax = time.Second
)

// Loop calls serve with each connection; serve must return at once, and its
// owner waits for what it started. Loop closes the listener and returns nil
// when ctx ends. It survives a shortage of files and clients that leave before
// they are accepted; any other failure of the listener is returned as
// Unavailable.
func Loop(ctx context.Context, listener net.Listener, serve func(net.Conn)) error {
	closed := make(chan struct{})
	shut := func() {
		defer close(closed)
		_ = listener.Close() // a listener that was closed already is closed
	}
	stop := context.AfterFunc(ctx, shut)
	defer func() {
		if stop() {
			shut()
		}
		<-closed // Accept may fail before the port is free
	}()
	pause := time.Duration(0)
	for {
		conn, err := listener.Accept()
		switch {
		case err == nil:
			pause = 0
			serve(conn)
			continue
		case ctx.Err() != nil:
			return nil
		case !passing(err):
			return status.Errorf(status.Unavailable, "accept: %v", err)
		}
		pause = min(max(2*pause, pauseMin), pauseMax)
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}

// passing reports whether accepting may work again later.
func passing(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) ||
		errors.Is(err, syscall.ECONNABORTED) || errors.Is(err, syscall.ENOBUFS) || errors.Is(err, syscall.ENOMEM)
}
