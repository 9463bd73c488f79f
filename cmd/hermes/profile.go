package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strconv"
	"time"

	"wirelab/cmd/internal/cli"
)

// profileSocket is the name of the socket in the data directory on which a node that is instructed to shows
// Go's profiles. It is no port, so that it is never beyond the machine and asks the file system who may: the
// node's own user.
const profileSocket = "profile.sock"

// profileLimit bounds how long one profile takes.
const profileLimit = 5 * time.Minute

// profiles serves the paths that "go tool pprof" knows. Package net/http/pprof would do, and
// put itself into the default mux of the whole program besides.
func profiles() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/pprof/profile", func(w http.ResponseWriter, r *http.Request) {
		seconds, err := strconv.Atoi(r.FormValue("seconds"))
		took := time.Duration(seconds) * time.Second
		if err != nil || took <= 0 || took > profileLimit {
			http.Error(w, fmt.Sprintf("seconds is to be 1 to %.0f", profileLimit.Seconds()), http.StatusBadRequest)
			return
		}
		if err := pprof.StartCPUProfile(w); err != nil {
			http.Error(w, err.Error(), http.StatusConflict) // another takes one
			return
		}
		defer pprof.StopCPUProfile()
		timer := time.NewTimer(took)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.Context().Done():
		}
	})
	mux.HandleFunc("GET /debug/pprof/{name}", func(w http.ResponseWriter, r *http.Request) {
		p := pprof.Lookup(r.PathValue("name"))
		if p == nil {
			http.NotFound(w, r)
			return
		}
		_ = p.WriteTo(w, 0) // who asked is gone
	})
	return mux
}

// profiling is an API for profiles in a directory that is this node's alone by now.
func profiling(dir string) (serving, error) {
	at := filepath.Join(dir, profileSocket)
	if err := os.Remove(at); err != nil && !errors.Is(err, os.ErrNotExist) { // one that was killed left it
		return nil, err
	}
	var config net.ListenConfig
	l, err := config.Listen(context.Background(), "unix", at)
	if err != nil {
		return nil, cli.Usage("cannot show profiles: %v; a socket's path has 107 bytes at most", err)
	}
	if err := os.Chmod(at, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return func(ctx context.Context) error {
		s := &http.Server{
			Handler: profiles(), ReadHeaderTimeout: time.Minute,
			BaseContext: func(net.Listener) context.Context { return ctx },
		}
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			<-ctx.Done()
			_ = s.Close() // no one's work is lost with a profile
		}()
		err := s.Serve(l)
		if ctx.Err() != nil {
			<-stopped
			return nil //nolint:nilerr // it was to stop
		}
		return fmt.Errorf("profiles: %w", err)
	}, nil
}
