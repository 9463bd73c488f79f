package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"wirelab/internal/daemon"
	"wirelab/wire/status"
)

// prefix begins the names of temporary directories, which hold a lock of the process that made them.
const prefix = "wirelab-hermes-"

// Server is a cluster of one node, in a temporary directory. Its methods may be
// called by several goroutines.
type Server struct {
	found  daemon.Installation
	node   *Node
	remove func() error

	mu      sync.Mutex // guards stopped
	stopped bool       // for good
}

// StartServer starts a cluster of one node on these CPUs, nil for any, and waits until its APIs are open. It
// dies with us; [Server.Stop] removes what it kept.
func StartServer(ctx context.Context, found daemon.Installation, cpus []int) (*Server, error) {
	for _, left := range daemon.Left(os.TempDir(), prefix, time.Now()) {
		daemon.Reclaim(left, func() bool { return true }) // the node died with who held the lock
	}
	dir, owned, err := daemon.Make(os.TempDir(), prefix, nil)
	if err != nil {
		return nil, err
	}
	s := &Server{found: found, remove: func() error { return errors.Join(os.RemoveAll(dir), owned.Close()) }}
	c, err := New(Options{Program: found.Program, Nodes: 1, Dir: dir, CPUs: cpus})
	if err == nil {
		s.node = c.Nodes[0]
		err = s.node.Start(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start Hermes %s: %w", found.Version, err), s.remove())
	}
	return s, nil
}

// URL is the server's address as a client takes it. It holds no password: who may
// come to the loopback may come in.
func (s *Server) URL() string { return "hermes://" + s.node.GRPC }

// Address is the gRPC API, host:port.
func (s *Server) Address() string { return s.node.GRPC }

// Directory is that of its data.
func (s *Server) Directory() string { return s.node.Dir }

// Version is that of the program.
func (s *Server) Version() string { return s.found.Version }

// PID is the server's process id; 0 when it does not run.
func (s *Server) PID() int { return s.node.PID() }

// Kill ends the server as a crash does, and returns when it is gone.
func (s *Server) Kill(context.Context) error {
	s.node.Kill()
	return nil
}

// Restart ends the server if it runs, and starts it on what it kept, at the same addresses. It returns when its
// APIs are open.
func (s *Server) Restart(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return status.Errorf(status.NotFound, "the server was stopped for good")
	}
	s.node.Kill()
	return s.node.Start(ctx)
}

// Stop lets the server end and removes what it kept. Further calls do nothing.
func (s *Server) Stop(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return nil
	}
	s.stopped = true
	return errors.Join(s.node.Stop(ctx), s.remove())
}

// Done is closed when the server as it runs now has ended, by any process; nil where it does not run.
// [Server.Err] then tells how.
func (s *Server) Done() <-chan struct{} { return s.node.Done() }

// Err tells how the server ended where this process did not end it; nil while it runs, and after Stop and Kill.
func (s *Server) Err() error { return s.node.now.Err("Hermes", s.node.lastWords) }
