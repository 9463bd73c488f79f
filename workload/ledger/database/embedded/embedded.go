// Package embedded keeps a ledger in one file with SQLite, in Go and without a server: the database of a laptop. It
// knows SQL, files and their errors. Package ledger defines the behaviour of a ledger, and this package does not
// know over which wire it is called.
package embedded

import (
	"context"
	"embed"
	"errors"
	"time"

	"wirelab"
	"wirelab/system/sqlite"
	"wirelab/workload/ledger"
)

// busyTimeout is how long a process waits for another one that writes. A posting takes milliseconds; only filling
// the file takes longer, and a process that opens it then retries.
const busyTimeout = 10 * time.Second

// pollEvery is how often a stream that waits at the end of the log checks for postings of other processes.
// Postings of the same process notify it.
const pollEvery = 20 * time.Millisecond

//go:embed migrations/*.sql
var migrationFiles embed.FS

// kind identifies the files. The mark is "wlLG".
func kind() sqlite.Kind {
	return sqlite.Kind{Holds: "ledger", Stem: "ledger", Mark: 0x776c4c47, Migrations: migrationFiles, Busy: busyTimeout}
}

// Database returns SQLite as a database of the ledger. Its addresses are files, which several processes may have
// open; "" is a private file that Close removes. The directory must be on a local disk: the log of SQLite does not
// work over a network.
func Database() wirelab.Database[ledger.Service] {
	return wirelab.Database[ledger.Service]{Name: "embedded", Open: Open}
}

// Open opens the ledger in a file, which it creates and fills with the data set if needed. A file that holds
// another set, or no ledger, is Conflict. ctx limits the opening only.
func Open(ctx context.Context, at wirelab.DatabaseAddress, data string) (wirelab.Opened[ledger.Service], error) {
	s, err := open(ctx, at, data)
	if err != nil {
		return wirelab.Opened[ledger.Service]{}, err
	}
	about, err := s.About(ctx)
	if err != nil {
		return wirelab.Opened[ledger.Service]{}, errors.Join(err, s.Close())
	}
	return wirelab.Opened[ledger.Service]{Service: s, About: about, Pool: s.Use, Closer: s}, nil
}

// service is a [ledger.Service] in a file.
type service struct {
	sqlite.File
	bell ledger.Bell
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
			err = errors.Join(s.Explain(ctx, err), s.Close())
		}
	}()
	if err := s.Locate(kind(), at.Source); err != nil {
		return nil, err
	}
	if err := prepareFile(ctx, s.Path, set); err != nil {
		return nil, err
	}
	if err := s.Connect(at.Pool, "foreign_keys(1)"); err != nil {
		return nil, err
	}
	return s, s.prepare(ctx)
}

// prepareFile migrates the file and fills it, over a separate connection, since the names of the data set must
// exist first. If another process is doing so, it waits as long as ctx lasts.
func prepareFile(ctx context.Context, path string, set *ledger.Set) (err error) {
	db, err := sqlite.Open(path, 1, busyTimeout, "journal_mode(WAL)", "synchronous(FULL)", "cache_size(-65536)") // KiB
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return sqlite.WhileBusy(ctx, func() error {
		if err := kind().Migrate(ctx, db); err != nil {
			return err
		}
		return fill(ctx, db, set)
	})
}

// Ready implements [ledger.Readier].
func (s *service) Ready(ctx context.Context) error {
	s.Acquired.Add(1)
	var one int
	if err := s.Read.QueryRowContext(ctx, `SELECT 1 FROM seed`).Scan(&one); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return wirelab.Errorf(wirelab.Unavailable, "the ledger's file cannot be read")
	}
	return nil
}
