package nats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"wirelab"
	"wirelab/internal/daemon"
	"wirelab/internal/process"
)

// Environment is the variable that tells Serve of package system/nats/server its options,
// password included, as JSON.
const Environment = "WIRELAB_NATS_OPTIONS"

// stopLimit is how long a server may take to end by itself: on a busy machine
// that has much to write, longer than any other child of ours.
const stopLimit = time.Minute

// killLimit is the longest that a killed child may take to be gone.
const killLimit = 60 * time.Second

// Server is a NATS server in a child process of ours. Its methods may be called
// by several goroutines.
type Server struct {
	command process.Command
	options Options // complete
	remove  func() error

	now daemon.Run[*child]

	mu      sync.Mutex // guards all below
	stopped bool       // for good
	version string     // that the child has said
}

// child is the process: it takes no orders.
type child = process.Lines[struct{}, Reply]

// Reply is a line that the child says. The first says that it is ready; to an order it answers that it takes none.
type Reply struct {
	Error string `json:"error,omitempty"`
	Ready *Ready `json:"ready,omitempty"`
}

// Ready is where the child takes connections, and the server's version.
type Ready struct {
	Address string `json:"address"`
	Version string `json:"broker"`
}

// Start starts a server in a child process and waits until it takes connections.
// The command must call Serve of package system/nats/server. The child dies with us; [Server.Stop] removes
// its directory, unless that was given.
func Start(ctx context.Context, command process.Command, o Options) (*Server, error) {
	o, remove, err := o.Complete()
	if err != nil {
		return nil, err
	}
	s := &Server{command: command, options: o, remove: remove}
	if err := s.run(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start NATS: %w", err), remove())
	}
	return s, nil
}

// run starts the child; s.mu is held, or no other knows s.
func (s *Server) run(ctx context.Context) error {
	options, err := json.Marshal(s.options)
	if err != nil {
		return err
	}
	command := s.command
	if command.Name == "" {
		command.Name = "NATS server"
	}
	command.Grace = stopLimit
	command.Env = append(append([]string(nil), command.Env...), Environment+"="+string(options))
	ctx, cancel := context.WithTimeout(ctx, StartLimit+killLimit)
	defer cancel()
	p, said, err := process.StartLines[struct{}](ctx, command, func(first Reply) bool { return first.Ready != nil })
	if err != nil {
		return err
	}
	p.Reap()
	s.now.Begin(p)
	s.version = said.Ready.Version
	return nil
}

// URL returns the server's address with its user and password.
func (s *Server) URL() string { return s.options.URL() }

// Address returns host:port.
func (s *Server) Address() string { return s.options.Address() }

// Version returns that of the server, as it says itself.
func (s *Server) Version() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version
}

// Directory returns where the streams are kept.
func (s *Server) Directory() string { return s.options.Directory }

// PID returns the server's process id; 0 when it does not run.
func (s *Server) PID() int { return s.now.PID() }

// Done returns a channel that is closed when the server as it runs now has ended, by any process; nil where it
// does not run. [Server.Err] then tells how.
func (s *Server) Done() <-chan struct{} { return s.now.Done() }

// Err tells how the server ended where this process did not end it, with its last words; nil while it runs, and
// after Stop and Kill.
func (s *Server) Err() error { return s.now.Err("NATS", daemon.NoWords) }

// Stop lets the server end, and removes its directory if it was made for it.
// It takes at most a minute and then kills. Further calls do nothing.
func (s *Server) Stop(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return nil
	}
	s.stopped = true
	return errors.Join(s.halt(), s.remove())
}

// Kill ends the server as a crash does, and returns when it is gone.
// [Server.Restart] starts it again.
func (s *Server) Kill(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.now.Take(); p != nil {
		p.Kill()
		_ = p.Stop() // it ended as it was meant to: by SIGKILL
	}
	return nil
}

// Restart stops the server if it runs, and starts it on what it kept, at the
// same address. It returns when the server takes connections again.
func (s *Server) Restart(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return wirelab.Errorf(wirelab.NotFound, "the server was stopped for good")
	}
	if err := s.halt(); err != nil {
		return err
	}
	if err := s.run(ctx); err != nil {
		return fmt.Errorf("start NATS again: %w", err)
	}
	return nil
}

func (s *Server) halt() error {
	if p := s.now.Take(); p != nil {
		return p.Stop()
	}
	return nil
}
