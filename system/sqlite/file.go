package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	codes "modernc.org/sqlite/lib"

	"wirelab"
)

// Kind is a kind of file that a workload's database is kept in.
type Kind struct {
	Holds string // what it holds, for messages: "ledger"
	Stem  string // of the name of a private one: "ledger"
	// Mark is in a file's application_id, so that one of something else, results
	// above all, is never written to (grb-D05).
	Mark       int32
	Migrations fs.FS         // holds migrations/*.sql, which are run by name
	Busy       time.Duration // how long a connection waits for another process that writes
}

// File is a file that is open. Its zero value is none, and may be closed.
type File struct {
	Kind
	Path    string // absolute
	private string // directory that Close removes; "": the file was given
	// One connection writes, so that the writers of this process take turns in order; those of others do by
	// [Kind.Busy]. The rest of the pool reads concurrently. In a pool of one connection both are the same. nil
	// before Connect.
	Write, Read *sql.DB
	Acquired    atomic.Uint64 // connections taken out of the pool, counted by who takes them
	closed      atomic.Bool
}

// Locate finds where a file is to be, and makes its directory if need be: source
// is a path, "" a private file that Close removes. A URL is InvalidArgument; a
// directory that cannot be made is PermissionDenied.
func (f *File) Locate(k Kind, source string) (err error) {
	f.Kind, f.Path = k, source
	switch {
	case strings.Contains(source, "://"): // and may hold a password: it is not repeated
		return wirelab.Errorf(wirelab.InvalidArgument, "an embedded %s is kept in a file, which a URL does not name",
			k.Holds)
	case source == "":
		if f.private, err = os.MkdirTemp("", "wirelab-"+k.Stem+"-"); err != nil {
			return wirelab.Errorf(wirelab.PermissionDenied, "cannot make a directory for the %s: %v", k.Holds, err)
		}
		f.Path = filepath.Join(f.private, k.Stem+".db")
	}
	if f.Path, err = filepath.Abs(f.Path); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(f.Path), 0o700); err != nil {
		return wirelab.Errorf(wirelab.PermissionDenied, "cannot make the directory of the %s: %v", k.Holds, err)
	}
	return nil
}

// Connect makes the pool, of so many connections; 0 is [wirelab.PoolSize]. None
// is opened yet. The pragmas are for the one that writes. A commit waits for the
// disk (FULL), as PostgreSQL's does: what was stored is still there after a
// power cut.
func (f *File) Connect(size int, pragmas ...string) (err error) {
	if size == 0 {
		size = wirelab.PoolSize
	}
	pragmas = append([]string{"journal_mode(WAL)", "synchronous(FULL)"}, pragmas...)
	if f.Write, err = Open(f.Path, 1, f.Busy, pragmas...); err != nil {
		return err
	}
	f.Read = f.Write
	if size > 1 {
		f.Read, err = Open(f.Path, size-1, f.Busy, "query_only(1)")
	}
	return err
}

// About names SQLite with its version, as in "SQLite 3.51.0".
func (f *File) About(ctx context.Context) (string, error) {
	var version string
	if err := f.Read.QueryRowContext(ctx, `SELECT sqlite_version()`).Scan(&version); err != nil {
		return "", f.Explain(ctx, err)
	}
	return "SQLite " + version, nil
}

// Private reports whether no other process can find the file.
func (f *File) Private() bool { return f.private != "" }

// Use tells how the pool was used so far.
func (f *File) Use() wirelab.PoolUse {
	use := wirelab.PoolUse{Acquired: f.Acquired.Load()}
	for _, db := range []*sql.DB{f.Write, f.Read} {
		stats := db.Stats()
		use.Size += stats.MaxOpenConnections
		use.Open += stats.OpenConnections
		use.Waited += uint64(stats.WaitCount) // never below 0
		use.Waiting += stats.WaitDuration
		if f.Read == f.Write {
			break
		}
	}
	return use
}

// Shut has whatever fails from now on be told as the end of the file. Who must
// wait for others before [File.Close] calls it first.
func (f *File) Shut() { f.closed.Store(true) }

// Close closes the file, and removes a private one. Calls in progress fail.
func (f *File) Close() error {
	f.Shut()
	var err error
	if f.Read != nil && f.Read != f.Write {
		err = f.Read.Close()
	}
	if f.Write != nil {
		err = errors.Join(err, f.Write.Close())
	}
	if f.private != "" {
		err = errors.Join(err, os.RemoveAll(f.private))
	}
	return err
}

// Explain is [Kind.Explain] of an error of this file: Unavailable once it is closed.
func (f *File) Explain(ctx context.Context, err error) error {
	if err != nil && f.closed.Load() && ctx.Err() == nil {
		return wirelab.Errorf(wirelab.Unavailable, "the %s is closed", f.Holds)
	}
	return f.Kind.Explain(ctx, err)
}

// Explain turns an error of SQLite into one that may be shown to any caller: it
// says what is wrong, and neither where the file is nor what was asked of it
// (grb-D09, S9). nil and coded errors stay what they are.
func (k Kind) Explain(ctx context.Context, err error) error {
	var coded *wirelab.Error
	switch {
	case err == nil || errors.As(err, &coded):
		return err
	case ctx.Err() != nil: // SQLite says that it was interrupted
		return ctx.Err()
	}
	switch Code(err) {
	case codes.SQLITE_FULL:
		return wirelab.Errorf(wirelab.ResourceExhausted, "no room on the disk of the %s; nothing stored before is lost",
			k.Holds)
	case codes.SQLITE_BUSY, codes.SQLITE_LOCKED:
		return wirelab.Errorf(wirelab.Unavailable, "another process has held the %s for more than %v", k.Holds, k.Busy)
	case codes.SQLITE_NOTADB, codes.SQLITE_CORRUPT:
		return wirelab.Errorf(wirelab.Internal, "the %s's file is damaged, or no database", k.Holds)
	case codes.SQLITE_CANTOPEN, codes.SQLITE_READONLY, codes.SQLITE_PERM, codes.SQLITE_IOERR:
		return wirelab.Errorf(wirelab.Unavailable, "the %s's file cannot be opened, read or written", k.Holds)
	}
	return wirelab.Errorf(wirelab.Internal, "the %s's database failed", k.Holds)
}
