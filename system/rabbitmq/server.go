package rabbitmq

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"wirelab"
	"wirelab/internal/affinity"
	"wirelab/internal/daemon"
	"wirelab/internal/process"
)

// owner is the user that a server of ours knows.
const owner = "wirelab"

// The longest that a server may take to be ready, the recovery of a crash
// included, and to stop by itself, and until the killed are gone.
const (
	startLimit = 300 * time.Second
	stopLimit  = 30 * time.Second
	killLimit  = 60 * time.Second
)

// Options say how a server is started; the zero value is good for all.
type Options struct {
	// Getenv finds the binaries; nil: os.Getenv. See [Find].
	Getenv func(string) string
	// Parent is the directory that the server's own is made in; "": that for
	// temporary files. Who the server runs as must be able to enter it.
	Parent string
	// CPUs are the cores that it may run on; nil: any.
	CPUs []int
	// Settings are in place of, and in addition to, our own.
	Settings []Setting
	// Hosts are those of a cluster's servers; nil: addresses of the loopback. See
	// [StartCluster].
	Hosts []affinity.Host
}

// Server is a RabbitMQ that we started. Its methods may be called by several
// goroutines.
type Server struct {
	found    Installation
	as       *daemon.Identity
	at       directory
	owned    *os.File // a lock, held until the server is stopped for good
	port     int      // of AMQP
	node     node
	cookie   string // lets Erlang's nodes talk to one another
	password string
	settings []Setting
	cpus     []int

	now daemon.Run[*process.Process]

	mu      sync.Mutex // one start or end at a time; guards stopped
	stopped bool       // for good
}

// Start makes a server in its own directory and waits until it takes connections, which takes some ten seconds.
// It dies with us; [Server.Stop] removes it with all it holds.
func Start(ctx context.Context, o Options) (*Server, error) {
	distant, err := daemon.FreePort()
	if err != nil {
		return nil, err
	}
	return start(ctx, o, &Server{
		node: node{host: "127.0.0.1", port: distant}, cookie: rand.Text(),
		password: rand.Text(),
	})
}

// start completes and starts a server whose node, cookie and password are set.
func start(ctx context.Context, o Options, s *Server) (*Server, error) {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Parent == "" {
		o.Parent = os.TempDir()
	}
	var err error
	if s.found, err = Find(ctx, o.Getenv); err != nil {
		return nil, err
	}
	if s.as, err = daemon.Choose("RabbitMQ", "rabbitmq"); err != nil {
		return nil, err
	}
	sweep(ctx, o.Parent, time.Now())
	at, owned, err := daemon.Make(o.Parent, prefix, s.as)
	if err != nil {
		return nil, fmt.Errorf("a directory for RabbitMQ: %w", err)
	}
	s.at, s.owned, s.cpus = directory(at), owned, o.CPUs
	if err := s.begin(ctx, o.Settings); err != nil {
		return nil, errors.Join(fmt.Errorf("start RabbitMQ %s: %w", s.found.Version, err),
			s.Stop(context.WithoutCancel(ctx)))
	}
	return s, nil
}

// begin writes what the server reads, and runs it for the first time.
func (s *Server) begin(ctx context.Context, others []Setting) error {
	var err error
	if s.port, err = daemon.FreePort(); err != nil {
		return err
	}
	s.settings = merge(settings(), others)
	private := append(s.node.settings(),
		Setting{"listeners.tcp.1", s.Address()},
		Setting{"default_user", owner},
		Setting{"default_pass", s.password},
		Setting{"log.file", s.at.log()})
	for name, text := range map[string]string{
		"rabbitmq.conf":  configuration(append(private, s.settings...)),
		"plugins":        "[].\n",
		".erlang.cookie": s.cookie,
	} {
		if err := s.at.write(s.as, name, text); err != nil {
			return err
		}
	}
	// Erlang refuses a cookie that its owner could write to by mistake.
	if err := os.Chmod(s.at.file(".erlang.cookie"), 0o400); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.run(ctx)
}

// run starts the server on its data and waits until it takes connections.
func (s *Server) run(ctx context.Context) error {
	output, err := os.OpenFile(s.at.output(), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = output.Close() }() // the child has its own by then
	command := exec.Command(filepath.Join(s.found.Bin, "rabbitmq-server"), arguments(s.node)...)
	// Its helpers end with it, since they end when what they read from does.
	command.Dir, command.Env, command.SysProcAttr = string(s.at), variables(s.at, s.node), s.as.Bound(syscall.SIGKILL)
	command.Stdout, command.Stderr = output, output
	command.ExtraFiles = []*os.File{s.owned} // kept open for its lock
	p, err := process.Run(command, affinity.Place{CPUs: s.cpus, Namespace: s.node.namespace})
	if err != nil {
		return fmt.Errorf("run as %s in %s, which it must be able to enter (TMPDIR chooses another place): %w",
			s.as.Called(),
			s.at, err)
	}
	s.now.Begin(p)
	return daemon.Ready(ctx, p, daemon.Waiting{
		Limit: startLimit, Every: 10 * pause, Words: s.at.words,
		Try: func(context.Context) (bool, error) {
			conn, err := amqp.DialConfig(s.URL(), amqp.Config{Dial: amqp.DefaultDial(10 * time.Second)})
			if err != nil {
				return false, err
			}
			return true, conn.Close() // it let us in
		},
	})
}

// URL returns the address of the server. It holds the password: show
// [Server.Address].
func (s *Server) URL() string {
	at := url.URL{Scheme: "amqp", User: url.UserPassword(owner, s.password), Host: s.Address(), Path: "/"}
	return at.String()
}

// Address is the host and port of the server.
func (s *Server) Address() string { return net.JoinHostPort(s.node.host, strconv.Itoa(s.port)) }

// Version returns the version of the server, such as "3.10.8".
func (s *Server) Version() string { return s.found.Version }

// Settings returns what the server was told to run with, its address and its
// secrets left out.
func (s *Server) Settings() []Setting { return append([]Setting(nil), s.settings...) }

// Directory returns where the server lives.
func (s *Server) Directory() string { return string(s.at) }

// PID returns the process id of the server, whose few children only help it; 0
// when it does not run.
func (s *Server) PID() int { return s.now.PID() }

// Done returns a channel that is closed when the server as it runs now has ended, by any process; nil where it
// does not run. [Server.Err] then tells how.
func (s *Server) Done() <-chan struct{} { return s.now.Done() }

// Err tells how the server ended where this process did not end it, with its last words; nil while it runs, and
// after Stop and Kill.
func (s *Server) Err() error { return s.now.Err("RabbitMQ", s.at.words) }

// Stop lets the server put all it holds on disk and end, and removes its
// directory. It takes at most 30 s and then kills. Further calls do nothing.
func (s *Server) Stop(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return nil
	}
	s.stopped = true
	err := s.halt(ctx, true)
	return errors.Join(err, os.RemoveAll(string(s.at)), s.owned.Close())
}

// Kill ends the server as a crash does, by SIGKILL to all its processes, and
// returns when they are gone. [Server.Restart] starts it again.
func (s *Server) Kill(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.halt(ctx, false)
}

// Restart stops the server if it runs, and starts it on the same data, with the
// same address. It returns when the server takes connections again.
func (s *Server) Restart(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return wirelab.Errorf(wirelab.NotFound, "the server was stopped for good")
	}
	if err := s.halt(ctx, true); err != nil {
		return err
	}
	if err := s.run(ctx); err != nil {
		return fmt.Errorf("start RabbitMQ %s again: %w", s.found.Version, err)
	}
	return nil
}

// halt ends the server, gracefully if it is to and does within the limit, and
// then whatever is left of it.
func (s *Server) halt(ctx context.Context, gracefully bool) error {
	p := s.now.Take()
	if p == nil {
		return s.at.killed(ctx)
	}
	if gracefully {
		p.SignalFirst(syscall.SIGTERM)
		waiting, cancel := context.WithTimeout(ctx, stopLimit)
		select {
		case <-p.Done():
		case <-waiting.Done():
		}
		cancel()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), killLimit)
	defer cancel()
	p.Signal(syscall.SIGKILL)
	err := s.at.killed(ctx)
	select {
	case <-p.Done():
	case <-ctx.Done():
		err = errors.Join(err, wirelab.Errorf(wirelab.Unavailable, "RabbitMQ with process id %d did not end", p.PID()))
	}
	return err
}
