package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"wirelab"
	"wirelab/internal/affinity"
	"wirelab/internal/daemon"
	"wirelab/internal/process"
)

// owner and database are what a server of ours has.
const (
	owner    = "wirelab"
	database = "wirelab"
)

// The longest that a server may take to be ready, a crash's recovery included,
// and to stop, a last checkpoint included.
const (
	startLimit = 180 * time.Second
	stopLimit  = 30 * time.Second
)

// Options say how a server is started; the zero value is a temporary one.
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
}

// Server is a PostgreSQL server that we started. Its methods may be called by
// several goroutines.
type Server struct {
	found    Installation
	as       *daemon.Identity
	at       directory
	owned    *os.File // a lock, held until the server is stopped for good
	port     int
	password string
	settings []Setting
	cpus     []int
	outlive  bool

	now daemon.Run[*process.Process]

	mu      sync.Mutex // one start or end at a time; guards stopped
	stopped bool       // for good
}

// Start makes a server in its own directory and waits until it takes connections. It dies with us;
// [Server.Stop] removes it with all it holds.
func Start(ctx context.Context, o Options) (*Server, error) { return start(ctx, o, false) }

func start(ctx context.Context, o Options, outlive bool) (*Server, error) {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Parent == "" {
		o.Parent = os.TempDir()
	}
	found, err := Find(ctx, o.Getenv)
	if err != nil {
		return nil, err
	}
	as, err := daemon.Choose("PostgreSQL", "postgres")
	if err != nil {
		return nil, err
	}
	sweep(o.Parent, time.Now())
	at, owned, err := daemon.Make(o.Parent, prefix, as)
	if err != nil {
		return nil, fmt.Errorf("a directory for PostgreSQL: %w", err)
	}
	s := &Server{
		found: found, as: as, at: directory(at), owned: owned, password: rand.Text(), cpus: o.CPUs, outlive: outlive,
	}
	if err := s.begin(ctx, o.Settings); err != nil {
		return nil, errors.Join(fmt.Errorf("start PostgreSQL %s: %w", found.Version, err),
			s.Stop(context.WithoutCancel(ctx)))
	}
	return s, nil
}

// begin makes the data directory and runs the server for the first time.
func (s *Server) begin(ctx context.Context, others []Setting) error {
	var err error
	if s.port, err = daemon.FreePort(); err != nil {
		return err
	}
	s.settings = merge(settings(s.port, s.at.socket()), others)
	if err := initialise(s.found.Bin, s.at, s.as, s.password, s.settings, !s.outlive); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.run(ctx, "postgres"); err != nil {
		return err
	}
	conn, err := s.connect(ctx, "postgres")
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "CREATE DATABASE "+database)
	return errors.Join(err, conn.Close(ctx))
}

// pause is how long is waited between two tries to connect.
const pause = 5 * time.Millisecond

// run starts the server on its data and waits until it takes connections.
func (s *Server) run(ctx context.Context, name string) error {
	// Those of one that was just killed take a moment to notice.
	waiting, cancel := context.WithTimeout(ctx, stopLimit)
	defer cancel()
	if err := daemon.Released(waiting, s.at.alive()); err != nil {
		return fmt.Errorf("processes of the server of before are still there: %w", err)
	}
	alive, err := daemon.Lock(s.at.alive())
	if err != nil {
		return err
	}
	defer func() { _ = alive.Close() }() // the child has its own by then
	// What a killed server leaves. Where no one reaps the dead, as in many a container, the process in it seems to
	// be there, and PostgreSQL would not start; the lock says that it is not.
	if err := s.at.clear(); err != nil {
		return err
	}
	journal, err := os.OpenFile(s.at.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = journal.Close() }() // likewise
	// The port again, since that of a server that is started anew may differ.
	command := exec.Command(filepath.Join(s.found.Bin, "postgres"), "-D", s.at.data(), "-p", fmt.Sprint(s.port))
	command.Dir, command.Env, command.SysProcAttr = string(s.at), daemon.Environment(string(s.at)),
		attributes(s.as, s.outlive)
	command.Stdout, command.Stderr = journal, journal
	command.ExtraFiles = []*os.File{s.owned, alive} // kept open for their locks
	p, err := process.Run(command, affinity.Place{CPUs: s.cpus})
	if err != nil {
		return err
	}
	s.now.Begin(p)
	return daemon.Ready(ctx, p, daemon.Waiting{
		Limit: startLimit, Every: pause, Words: s.at.words,
		Try: func(ctx context.Context) (bool, error) {
			conn, err := s.connect(ctx, name)
			if err != nil {
				return false, err
			}
			return true, conn.Close(ctx)
		},
	})
}

// connect opens one connection.
func (s *Server) connect(ctx context.Context, name string) (*pgx.Conn, error) {
	config, err := parse(s.DSN())
	if err != nil {
		return nil, err
	}
	config.Database = name
	config.ConnectTimeout = connectLimit
	return pgx.ConnectConfig(ctx, config)
}

// DSN returns the connection string of the server over TCP. It holds the
// password: show [Redact] of it.
func (s *Server) DSN() string { return dsn("127.0.0.1", s.port, s.password) }

// SocketDSN is DSN over a Unix socket, which reaches the server from another
// network namespace too; "" where the directory's name is too long for one.
func (s *Server) SocketDSN() string {
	if s.at.socket() == "" {
		return ""
	}
	return socketDSN(s.at.socket(), s.port, s.password)
}

// Env is what children get to find the server by.
func (s *Server) Env() []string { return []string{Variable + "=" + s.DSN()} }

// Version returns the version of the server, such as "15.18".
func (s *Server) Version() string { return s.found.Version }

// Settings returns what the server was told to run with.
func (s *Server) Settings() []Setting { return append([]Setting(nil), s.settings...) }

// Directory returns where the server lives.
func (s *Server) Directory() string { return string(s.at) }

// PID returns the process id of the server's first process, whose children do
// the work; 0 when it does not run.
func (s *Server) PID() int { return s.now.PID() }

// Stop ends all connections, stops the server and removes its directory. It
// takes at most 30 s and then kills. Further calls do nothing.
func (s *Server) Stop(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return nil
	}
	s.stopped = true
	err := s.halt(ctx, syscall.SIGINT)
	return errors.Join(err, os.RemoveAll(string(s.at)), s.owned.Close())
}

// Kill ends the server as a crash does, by SIGKILL to its first process, and
// returns when all its processes are gone. [Server.Restart] starts it again.
func (s *Server) Kill(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.halt(ctx, syscall.SIGKILL)
}

// Restart stops the server if it runs, and starts it on the same data, with the
// same address. It returns when the server takes connections again.
func (s *Server) Restart(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return wirelab.Errorf(wirelab.NotFound, "the server was stopped for good")
	}
	if err := s.halt(ctx, syscall.SIGINT); err != nil {
		return err
	}
	if err := s.run(ctx, database); err != nil {
		return fmt.Errorf("start PostgreSQL %s again: %w", s.found.Version, err)
	}
	return nil
}

// halt ends the server by a signal and waits for all its processes. SIGINT is
// the stop that waits for no client, SIGQUIT the one that writes nothing.
func (s *Server) halt(ctx context.Context, by syscall.Signal) error {
	p := s.now.Take()
	if p == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, stopLimit)
	defer cancel()
	select {
	case <-p.Done(): // by itself or by someone else
		return s.gone(ctx, p, syscall.SIGKILL)
	default:
	}
	for _, signal := range []syscall.Signal{by, syscall.SIGQUIT, syscall.SIGKILL} {
		p.SignalFirst(signal)
		select {
		case <-p.Done():
			return s.gone(ctx, p, signal)
		case <-ctx.Done():
			// The next signal, with ten seconds for each.
			var more context.CancelFunc
			ctx, more = context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
			defer more()
		}
	}
	return wirelab.Errorf(wirelab.Unavailable, "PostgreSQL with process id %d did not end", p.PID())
}

// gone waits for the processes that the server leaves behind, which end by
// themselves when they notice, and tells how it ended.
func (s *Server) gone(ctx context.Context, p *process.Process, by syscall.Signal) error {
	if err := daemon.Released(ctx, s.at.alive()); err != nil {
		return fmt.Errorf("processes of PostgreSQL are still there: %w", err)
	}
	// When someone else sends SIGKILL just before we would stop the server, our signal finds it dead though its
	// end is not yet known: that is no worse than having known.
	if err := p.Err(); by == syscall.SIGINT && err != nil && !p.Killed() {
		return fmt.Errorf("PostgreSQL ended: %w%s", err, s.at.words())
	}
	return nil
}
