// Package embedded keeps a ledger in one file by SQLite, in Go and without a
// server: the database of a laptop. It knows SQL, files and what may go wrong
// with them; what a ledger does is decided in package ledger, and how it is
// asked is not its business.
package embedded

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	codes "modernc.org/sqlite/lib"

	"wirelab"
	"wirelab/sqlite"
	"wirelab/workload/ledger"
)

// busyTimeout is how long a process waits for another that writes. A posting
// takes milliseconds; only a process that fills the file takes longer, and who
// opens it then waits on.
const busyTimeout = 10 * time.Second

// pollEvery is how often a stream that waits at the end of the log looks
// whether another process has posted; what this one posts it is told.
const pollEvery = 20 * time.Millisecond

// Database is SQLite behind the ledger. Its addresses are files, which several
// processes may have open; "" is a private file that Close removes. The
// directory must be on a local disk: SQLite's log does not work over a network.
func Database() wirelab.Database[ledger.Service] {
	return wirelab.Database[ledger.Service]{Name: "embedded", Open: Open}
}

// Open opens the ledger in a file, made and filled with the data set if need
// be. A file that holds another set, or no ledger, is Conflict. ctx bounds the
// opening only.
func Open(ctx context.Context, at wirelab.DatabaseAddress, data string) (wirelab.Opened[ledger.Service], error) {
	s, err := open(ctx, at, data)
	if err != nil {
		return wirelab.Opened[ledger.Service]{}, err
	}
	var version string
	if err := s.read.QueryRowContext(ctx, `SELECT sqlite_version()`).Scan(&version); err != nil {
		return wirelab.Opened[ledger.Service]{}, errors.Join(explain(ctx, err), s.Close())
	}
	return wirelab.Opened[ledger.Service]{Service: s, About: "SQLite " + version, Pool: s.use, Closer: s}, nil
}

// service is a [ledger.Service] in a file.
type service struct {
	private string // directory that Close removes; "": the file was given
	// One connection writes, so that postings of this process queue here in
	// order; those of others take turns by busyTimeout. The rest of the pool
	// reads, beside it. In a pool of one connection both are the same.
	write, read *sql.DB
	acquired    atomic.Uint64 // connections taken out of the pool
	closed      atomic.Bool
	bell        ledger.Bell
	statements
}

var (
	_ ledger.Service = (*service)(nil)
	_ ledger.Readier = (*service)(nil)
)

func open(ctx context.Context, at wirelab.DatabaseAddress, data string) (_ *service, err error) {
	set, err := ledger.SetOf(data)
	if err != nil {
		return nil, err
	}
	s := &service{}
	defer func() {
		if err != nil {
			err = errors.Join(explain(ctx, err), s.Close())
		}
	}()
	path := at.Source
	switch {
	case strings.Contains(path, "://"): // and may hold a password: it is not repeated
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "an embedded ledger is kept in a file, which a URL does not name")
	case path == "":
		if s.private, err = os.MkdirTemp("", "wirelab-ledger-"); err != nil {
			return nil, wirelab.Errorf(wirelab.PermissionDenied, "cannot make a directory for the ledger: %v", err)
		}
		path = filepath.Join(s.private, "ledger.db")
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, wirelab.Errorf(wirelab.PermissionDenied, "cannot make the directory of the ledger: %v", err)
	}
	pool := at.Pool
	if pool == 0 {
		pool = wirelab.PoolSize
	}
	if err := prepareFile(ctx, path, set); err != nil {
		return nil, err
	}
	// A commit waits for the disk (FULL), as PostgreSQL's does: what was posted
	// is still there after a power cut. Transactions take the lock for writing
	// when they begin, or two that read first could each wait for the other.
	if s.write, err = sqlite.Open(path, 1, busyTimeout, "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)"); err != nil {
		return nil, err
	}
	s.read = s.write
	if pool > 1 {
		if s.read, err = sqlite.Open(path, pool-1, busyTimeout, "query_only(1)"); err != nil {
			return nil, err
		}
	}
	return s, s.prepare(ctx)
}

// prepareFile migrates the file and fills it, by a connection of its own, since
// what the data set names is known to exist. Another process may be doing so:
// that is waited for, as long as ctx lasts.
func prepareFile(ctx context.Context, path string, set *ledger.Set) (err error) {
	db, err := sqlite.Open(path, 1, busyTimeout, "journal_mode(WAL)", "synchronous(FULL)", "cache_size(-65536)") // KiB
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return sqlite.WhileBusy(ctx, func() error {
		if err := migrate(ctx, db, migrationFiles); err != nil {
			return err
		}
		return fill(ctx, db, set)
	})
}

// Close closes the file, and removes a private one. Calls in progress fail.
func (s *service) Close() error {
	s.closed.Store(true)
	var err error
	if s.read != nil && s.read != s.write {
		err = s.read.Close()
	}
	if s.write != nil {
		err = errors.Join(err, s.write.Close())
	}
	if s.private != "" {
		err = errors.Join(err, os.RemoveAll(s.private))
	}
	return err
}

// use tells how the connections were used.
func (s *service) use() wirelab.PoolUse {
	use := wirelab.PoolUse{Acquired: s.acquired.Load()}
	for _, db := range []*sql.DB{s.write, s.read} {
		stats := db.Stats()
		use.Size += stats.MaxOpenConnections
		use.Open += stats.OpenConnections
		use.Waited += uint64(stats.WaitCount)
		use.Waiting += stats.WaitDuration
		if s.read == s.write {
			break
		}
	}
	return use
}

// Ready implements [ledger.Readier].
func (s *service) Ready(ctx context.Context) error {
	s.acquired.Add(1)
	var one int
	if err := s.read.QueryRowContext(ctx, `SELECT 1 FROM seed`).Scan(&one); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return wirelab.Errorf(wirelab.Unavailable, "the ledger's file cannot be read")
	}
	return nil
}

// explain is [explain] of an error of this service.
func (s *service) explain(ctx context.Context, err error) error {
	if err != nil && s.closed.Load() && ctx.Err() == nil {
		return wirelab.Errorf(wirelab.Unavailable, "the ledger is closed")
	}
	return explain(ctx, err)
}

// explain turns an error of SQLite into one that may be shown to any caller: it
// says what is wrong, and neither where the file is nor what was asked of it
// (grb-D09). nil and coded errors stay what they are.
func explain(ctx context.Context, err error) error {
	var coded *wirelab.Error
	switch {
	case err == nil || errors.As(err, &coded):
		return err
	case ctx.Err() != nil: // SQLite says that it was interrupted
		return ctx.Err()
	}
	switch sqlite.Code(err) {
	case codes.SQLITE_FULL:
		return wirelab.Errorf(wirelab.ResourceExhausted, "no room on the disk of the ledger; nothing stored before is lost")
	case codes.SQLITE_BUSY, codes.SQLITE_LOCKED:
		return wirelab.Errorf(wirelab.Unavailable, "another process has held the ledger for more than %v", busyTimeout)
	case codes.SQLITE_NOTADB, codes.SQLITE_CORRUPT:
		return wirelab.Errorf(wirelab.Internal, "the ledger's file is damaged, or no database")
	case codes.SQLITE_CANTOPEN, codes.SQLITE_READONLY, codes.SQLITE_PERM, codes.SQLITE_IOERR:
		return wirelab.Errorf(wirelab.Unavailable, "the ledger's file cannot be opened, read or written")
	}
	return wirelab.Errorf(wirelab.Internal, "the ledger's database failed")
}
