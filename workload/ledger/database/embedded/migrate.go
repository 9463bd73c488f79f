package embedded

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"wirelab"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// applicationID marks a file as a ledger's, so that one of something else,
// results above all, is never written to (grb-D05): "wlLG".
const applicationID = 0x776c4c47

// migrate brings a file to the latest form, one step after the other, each in a
// transaction that ends with its number in user_version: a process that dies
// in between, or meets another that does the same, leaves work for the next
// and never half a change (grb-D06).
func migrate(ctx context.Context, db *sql.DB, files fs.FS) error {
	names, err := fs.Glob(files, "migrations/*.sql")
	if err != nil {
		return err
	}
	slices.Sort(names)
	for {
		done, err := step(ctx, db, files, names)
		if err != nil || done {
			return err
		}
	}
}

// step runs the next migration, if there is one.
func step(ctx context.Context, db *sql.DB, files fs.FS, names []string) (done bool, err error) {
	tx, err := db.BeginTx(ctx, nil) // takes the lock for writing
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, rollback(tx)) }()
	version, err := versionOf(ctx, tx)
	if err != nil || version == len(names) {
		return true, err
	}
	if version > len(names) {
		return false, wirelab.Errorf(wirelab.Unimplemented,
			"the ledger's file is of a later wirelab (form %d, this one knows %d); use that one, or another file", version, len(names))
	}
	script, err := fs.ReadFile(files, names[version])
	if err != nil {
		return false, err
	}
	if _, err := tx.ExecContext(ctx, string(script)); err != nil {
		return false, fmt.Errorf("%s: %w", names[version], err)
	}
	// A pragma takes no arguments; both are numbers of ours.
	mark := fmt.Sprintf("PRAGMA user_version = %d; PRAGMA application_id = %d", version+1, applicationID)
	if _, err := tx.ExecContext(ctx, mark); err != nil {
		return false, err
	}
	return false, tx.Commit()
}

// rollback ends a transaction that was not committed.
func rollback(tx *sql.Tx) error {
	if err := tx.Rollback(); err != nil && !errors.Is(err, sql.ErrTxDone) {
		return err
	}
	return nil
}

// versionOf returns the number of the last migration, 0 for a new file. A file
// that holds something else is Conflict.
func versionOf(ctx context.Context, tx *sql.Tx) (int, error) {
	var mark, tables, version int
	err := tx.QueryRowContext(ctx, `SELECT (SELECT application_id FROM pragma_application_id),
		(SELECT count(*) FROM sqlite_schema), (SELECT user_version FROM pragma_user_version)`).Scan(&mark, &tables, &version)
	if err == nil && mark != applicationID && (mark != 0 || tables != 0 || version != 0) {
		err = wirelab.Errorf(wirelab.Conflict, "the file is a database of something else, and stays as it is; give the ledger one of its own")
	}
	return version, err
}
