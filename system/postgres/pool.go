package postgres

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"wirelab"
)

// connectLimit is how long one connection may take to be made.
const connectLimit = 10 * time.Second

// Pooling says what a pool is like.
type Pooling struct {
	Size   int    // connections, all opened at once and kept; 1 to [wirelab.PoolLimit]
	Schema string // that unqualified names are looked up in; "": as the server has it
	// Each is called for every new connection, to prepare statements; may be nil.
	Each func(context.Context, *pgx.Conn) error
}

// Pool is a pool of connections. Errors of its methods are the driver's, to be passed through [Pool.Coded]
// before any caller sees them.
type Pool struct {
	*pgxpool.Pool
}

// Open opens a pool and all of its connections, so that none is opened while
// calls are timed, and so that a server with too few of them says so now. Its
// errors are fit to be shown: they hold the address and never the password.
func Open(ctx context.Context, dsn string, with Pooling) (*Pool, error) {
	if with.Size < 1 || with.Size > wirelab.PoolLimit {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "a pool of %d connections; want 1 to %d", with.Size,
			wirelab.PoolLimit)
	}
	at, err := Parse(dsn)
	if err != nil {
		return nil, err
	}
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, wirelab.Errorf(wirelab.InvalidArgument,
			"the connection string of %s holds settings of a pool that "+
				"cannot be read", at)
	}
	configure(config, with)
	inner, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, opening(ctx, at, err)
	}
	p := &Pool{Pool: inner}
	if err := p.fill(ctx, with.Size); err != nil {
		inner.Close()
		return nil, opening(ctx, at, err)
	}
	return p, nil
}

// configure sets everything that the library would choose for itself.
func configure(config *pgxpool.Config, with Pooling) {
	size := int32(with.Size) // at most PoolLimit
	config.MaxConns, config.MinConns, config.MinIdleConns = size, size, 0
	// No connection is closed for its age, nor one idle: a run would pay for
	// opening it again.
	config.MaxConnLifetime, config.MaxConnLifetimeJitter = math.MaxInt64, 0
	config.MaxConnIdleTime = math.MaxInt64
	// The check takes every idle connection out of the pool for a moment, which
	// calls then wait for; it is needed only after connections were lost.
	config.HealthCheckPeriod = time.Minute
	// The library would ask a connection that was idle for a second whether it
	// lives, one more round trip for calls at a low rate only. A dead one is
	// found by the call that meets it; see Coded.
	config.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
	config.PingTimeout = connectLimit
	config.AfterConnect = with.Each
	configureEach(config.ConnConfig, with.Schema)
}

// configureEach sets what every connection of ours is like.
func configureEach(c *pgx.ConnConfig, schema string) {
	c.ConnectTimeout = connectLimit
	c.DefaultQueryExecMode = pgx.QueryExecModeCacheStatement
	c.StatementCacheCapacity, c.DescriptionCacheCapacity = 128, 0
	c.RuntimeParams["application_name"] = "wirelab"
	c.RuntimeParams["timezone"] = "UTC"
	// A server may be told otherwise, and the code here relies on it: each statement sees what was committed when
	// it began.
	c.RuntimeParams["default_transaction_isolation"] = "read committed"
	if schema != "" {
		c.RuntimeParams["search_path"] = pgx.Identifier{schema}.Sanitize()
	}
}

// Connect opens one connection outside any pool, as those of [Open] are. Its
// errors are fit to be shown, those of the connection's methods are not: see
// [Coded].
func Connect(ctx context.Context, dsn, schema string) (*pgx.Conn, error) {
	config, at, err := Configure(dsn, schema)
	if err != nil {
		return nil, err
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, opening(ctx, at, err)
	}
	return conn, nil
}

// Configure returns what a connection as those of [Open] is made from, for
// libraries that make their own.
func Configure(dsn, schema string) (*pgx.ConnConfig, Address, error) {
	config, err := parse(dsn)
	if err != nil {
		return nil, Address{}, err
	}
	configureEach(config, schema)
	return config, addressOf(config), nil
}

// fill opens every connection.
func (p *Pool) fill(ctx context.Context, size int) error {
	var all sync.WaitGroup
	failed := make([]error, size)
	taken := make([]*pgxpool.Conn, size)
	for i := range size {
		all.Go(func() { taken[i], failed[i] = p.Acquire(ctx) })
	}
	all.Wait()
	var first error
	for i := range size {
		if taken[i] != nil {
			taken[i].Release()
		}
		if first == nil {
			first = failed[i]
		}
	}
	return first
}

// opening tells a person why a database could not be opened.
func opening(ctx context.Context, at Address, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var refused *pgconn.PgError
	if errors.As(err, &refused) {
		switch refused.Code {
		case "28P01", "28000":
			return wirelab.Errorf(wirelab.Unauthenticated,
				"PostgreSQL at %s does not let user %s in: look at user and password",
				at, at.User)
		case "3D000":
			return wirelab.Errorf(wirelab.NotFound, "PostgreSQL at %s has no such database", at)
		case "53300":
			return wirelab.Errorf(wirelab.Unavailable,
				"PostgreSQL at %s has too few connections free: ask for fewer, or "+
					"raise its max_connections", at)
		}
		coded := wirelab.Public(Coded(ctx, err))
		return wirelab.Errorf(coded.Code, "PostgreSQL at %s: %s", at, coded.Message)
	}
	var already *wirelab.Error
	if errors.As(err, &already) {
		return already
	}
	return wirelab.Errorf(wirelab.Unavailable, "PostgreSQL at %s cannot be reached%s", at, why(err))
}

// why returns the part of a connection error that is safe to show.
func why(err error) string {
	var number syscall.Errno
	var name *net.DNSError
	switch {
	case errors.As(err, &number):
		return ": " + number.Error()
	case errors.As(err, &name):
		return ": " + name.Err
	case pgconn.Timeout(err):
		return fmt.Sprintf(": no answer within %v", connectLimit)
	}
	return ""
}

// Coded is [Coded] for errors of this pool's connections. When a connection was lost the others were most
// likely, too: they are all closed, so that each does not fail a separate call.
func (p *Pool) Coded(ctx context.Context, err error) error {
	if lost(err) {
		p.Reset()
	}
	return Coded(ctx, err)
}

// Use tells how the pool was used so far.
func (p *Pool) Use() wirelab.PoolUse {
	s := p.Stat()
	return wirelab.PoolUse{
		Size:     int(s.MaxConns()),
		Open:     int(s.TotalConns()),
		Acquired: uint64(s.AcquireCount()),      // never below 0
		Waited:   uint64(s.EmptyAcquireCount()), // likewise
		Waiting:  s.EmptyAcquireWaitTime(),
	}
}

// About names the server with its version, as in "PostgreSQL 15.18".
func (p *Pool) About(ctx context.Context) (string, error) {
	var version string
	if err := p.QueryRow(ctx, "SELECT split_part(current_setting('server_version'), ' ', 1)").
		Scan(&version); err != nil {
		return "", p.Coded(ctx, err)
	}
	return "PostgreSQL " + version, nil
}
