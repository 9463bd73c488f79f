package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"wirelab"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// migrate brings the database to the latest version of the schema: one file of SQL after the other, each in a
// transaction with its number in schema_version. A process that dies between two of them, or meets another one that
// does the same, leaves work for the next and never half a change.
//
// These are thirty lines instead of a migration library: there is one dialect, migrations only go forward, and a
// library would add ten more modules.
func migrate(ctx context.Context, db *sql.DB, files fs.FS, path string) error {
	names, err := fs.Glob(files, "migrations/*.sql")
	if err != nil {
		return err
	}
	slices.Sort(names)
	for i, name := range names {
		number, err := strconv.Atoi(strings.SplitN(strings.TrimPrefix(name, "migrations/"), "_", 2)[0])
		if err != nil || number != i+1 {
			return fmt.Errorf("migration %s is not number %d", name, i+1)
		}
	}
	for {
		done, err := step(ctx, db, files, names, path)
		if err != nil || done {
			return err
		}
	}
}

// step runs the next migration, if there is one, in a transaction that holds the write lock from its beginning.
func step(ctx context.Context, db *sql.DB, files fs.FS, names []string, path string) (done bool, err error) {
	version, err := versionOf(ctx, db)
	if err != nil {
		return false, err
	}
	if version > len(names) {
		return false, wirelab.Errorf(wirelab.Unimplemented,
			"store %s is of a later wirelab (form %d, this one knows %d): use that one, or set WIRELAB_STORE to "+
				"another file",
			path, version, len(names))
	}
	if version == len(names) {
		return true, nil
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}
	defer func() { _ = tx.Rollback() }() // has no effect after a commit
	now, err := versionOf(ctx, tx)
	if err != nil || now != version {
		return false, err // another process was faster: check again
	}
	script, err := fs.ReadFile(files, names[version])
	if err != nil {
		return false, err
	}
	if _, err := tx.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS schema_version (
		version INTEGER PRIMARY KEY NOT NULL, applied INTEGER NOT NULL) STRICT`); err != nil {
		return false, err
	}
	if _, err := tx.ExecContext(ctx, string(script)); err != nil {
		return false, fmt.Errorf("%s: %w", names[version], err)
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO schema_version VALUES (?, ?)`, version+1,
		time.Now().UnixMicro()); err != nil {
		return false, err
	}
	return false, tx.Commit()
}

// querier is a pool of connections or a transaction.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// versionOf returns the number of the last migration; 0 for a new database.
func versionOf(ctx context.Context, q querier) (int, error) {
	var tables, version int
	err := q.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_schema WHERE name = 'schema_version'`).Scan(&tables)
	if err != nil || tables == 0 {
		return 0, err
	}
	err = q.QueryRowContext(ctx, `SELECT coalesce(max(version), 0) FROM schema_version`).Scan(&version)
	return version, err
}
