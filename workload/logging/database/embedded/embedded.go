// Package embedded keeps the entries of a logger in one file with SQLite, in Go and without a server: the database
// of a laptop. It knows SQL, files and their errors. Package logging defines the behaviour of a logger, and this
// package does not know over which wire it is called.
package embedded

import (
	"context"
	"embed"
	"errors"
	"time"

	"wirelab"
	"wirelab/system/sqlite"
	"wirelab/workload/logging"
	"wirelab/workload/logging/database/gather"
)

// busyTimeout is how long a process waits for another one that writes. A batch and one step of a removal take
// milliseconds.
const busyTimeout = 10 * time.Second

// removeAtOnce is how many entries one commit removes: this bounds the growth of the file during a removal, and
// lets writers in between two commits.
const removeAtOnce = 2_000

//go:embed migrations/*.sql
var migrationFiles embed.FS

// kind identifies the files. The mark is "wlLO".
func kind() sqlite.Kind {
	return sqlite.Kind{Holds: "log", Stem: "logging", Mark: 0x776c4c4f, Migrations: migrationFiles, Busy: busyTimeout}
}

// Database returns SQLite as a database of the logger. Its addresses are files, which several processes may have
// open; "" is a private file that Close removes. The directory must be on a local disk: the log of SQLite does not
// work over a network.
func Database() wirelab.Database[logging.Service] {
	return wirelab.Database[logging.Service]{Name: "embedded", Open: Open}
}

// Open opens the logger in a file, which it creates if needed. A file with other contents is Conflict. ctx limits
// the opening only.
func Open(ctx context.Context, at wirelab.DatabaseAddress, data string) (wirelab.Opened[logging.Service], error) {
	s, err := open(ctx, at, data)
	if err != nil {
		return wirelab.Opened[logging.Service]{}, err
	}
	about, err := s.About(ctx)
	if err != nil {
		return wirelab.Opened[logging.Service]{}, errors.Join(err, s.Close())
	}
	return wirelab.Opened[logging.Service]{Service: s, About: about, Pool: s.use, Closer: s}, nil
}

// service is a [logging.Service] in a file.
type service struct {
	sqlite.File
	writer       *gather.Writer
	removeAtOnce int // removeAtOnce; lower in a test
	statements
}

var (
	_ logging.Service = (*service)(nil)
	_ logging.Readier = (*service)(nil)
)

func open(ctx context.Context, at wirelab.DatabaseAddress, data string) (_ *service, err error) {
	if data != "" {
		return nil, wirelab.Errorf(wirelab.InvalidArgument,
			"a logger has one data set, without a name and empty; leave data out")
	}
	s := &service{removeAtOnce: removeAtOnce}
	defer func() {
		if err != nil {
			err = errors.Join(s.Explain(ctx, err), s.Close())
		}
	}()
	if err := s.Locate(kind(), at.Source); err != nil {
		return nil, err
	}
	if err := s.Connect(at.Pool); err != nil {
		return nil, err
	}
	if err := sqlite.WhileBusy(ctx, func() error { return s.Migrate(ctx, s.Write) }); err != nil {
		return nil, err
	}
	if err := s.prepare(ctx); err != nil {
		return nil, err
	}
	s.writer = gather.Start(s.store)
	return s, nil
}

// Close fails the waiting writers, closes the file, and removes a private one.
func (s *service) Close() error {
	s.Shut()
	if s.writer != nil {
		s.writer.Close()
	}
	return s.File.Close()
}

// use returns the usage of the connections.
func (s *service) use() wirelab.PoolUse { return s.writer.Use(s.Use()) }

// Ready implements [logging.Readier].
func (s *service) Ready(ctx context.Context) error {
	s.Acquired.Add(1)
	var tables int
	err := s.Read.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_schema WHERE name = 'entries'`).Scan(&tables)
	switch {
	case err == nil && tables == 1:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return wirelab.Errorf(wirelab.Unavailable, "the log's file cannot be read")
}
