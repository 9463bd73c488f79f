package nats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"wirelab"
	"wirelab/control"
	"wirelab/target"
)

// Environment is the variable that tells [Serve] its options, password included,
// as JSON.
const Environment = "WIRELAB_NATS"

// killLimit is the longest that a killed child may take to be gone.
const killLimit = 10 * time.Second

// Server is a NATS server in a child process of ours. Its methods may be called
// by several goroutines.
type Server struct {
	command target.Command
	options Options // complete
	remove  func() error

	mu      sync.Mutex // guards all below
	process *target.Process
	stopped bool // for good
}

// Start starts a server in a child process and waits until it takes connections.
// The command must call [Serve]. The child dies with us; [Server.Stop] removes
// its directory, unless that was given.
func Start(ctx context.Context, command target.Command, o Options) (*Server, error) {
	o, remove, err := complete(o)
	if err != nil {
		return nil, err
	}
	s := &Server{command: command, options: o, remove: remove}
	if err := s.run(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start NATS %s: %w", Version(), err), remove())
	}
	return s, nil
}

// run starts the child; s.mu is held, or nobody else knows s.
func (s *Server) run(ctx context.Context) error {
	said, err := json.Marshal(s.options)
	if err != nil {
		return err
	}
	command := s.command
	if command.Name == "" {
		command.Name = "NATS server"
	}
	command.Env = append(append([]string(nil), command.Env...), Environment+"="+string(said))
	ctx, cancel := context.WithTimeout(ctx, startLimit+killLimit)
	defer cancel()
	s.process, err = target.Start(ctx, command)
	return err
}

// URL returns the server's address with its user and password.
func (s *Server) URL() string { return s.options.url() }

// Address returns host:port.
func (s *Server) Address() string { return s.options.address() }

// Version returns that of the server.
func (s *Server) Version() string { return Version() }

// Directory returns where the streams are kept.
func (s *Server) Directory() string { return s.options.Directory }

// PID returns the server's process id; 0 when it does not run.
func (s *Server) PID() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return 0
	}
	return s.process.PID()
}

// Stop lets the server end, and removes its directory if it was made for it.
// It takes at most 8 s and then kills. Further calls do nothing.
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
	if s.process == nil {
		return nil
	}
	s.process.Kill()
	_ = s.halt() // it ended as it was meant to: by SIGKILL
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
		return fmt.Errorf("start NATS %s again: %w", Version(), err)
	}
	return nil
}

func (s *Server) halt() error {
	p := s.process
	if p == nil {
		return nil
	}
	s.process = nil
	return p.Stop()
}

// Serve is the child's end of [Start]: it runs the server that the environment
// tells of, says on output when it is ready, and ends when input does, which it
// does with the parent.
func Serve(ctx context.Context, getenv func(string) string, input io.Reader, output, complaints io.Writer) error {
	var o Options
	if err := json.Unmarshal([]byte(getenv(Environment)), &o); err != nil {
		// What was read holds a password, and stays out of the message.
		return wirelab.Errorf(wirelab.InvalidArgument, "the variable %s does not hold a server's options", Environment)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var running sync.WaitGroup
	var failed error
	running.Go(func() {
		defer stop()
		failed = Run(ctx, o, complaints, func(string) {
			ready := control.Ready{Address: o.address()}
			if control.Write(output, control.Reply{Ready: &ready}) != nil {
				stop() // nobody listens any more
			}
		})
	})
	orders := make(chan error, 1)
	go func() { orders <- refuse(input, output) }() // ends with the input, or with the process
	var err error
	select {
	case err = <-orders:
		stop()
	case <-ctx.Done():
	}
	running.Wait()
	return errors.Join(failed, err)
}

// refuse answers that there is nothing to order, until the input ends.
func refuse(input io.Reader, output io.Writer) error {
	orders := control.NewReader[control.Order](input)
	for {
		_, err := orders.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = control.Write(output, control.Reply{Error: "a NATS server takes no orders"})
		}
		if err != nil {
			return err
		}
	}
}
