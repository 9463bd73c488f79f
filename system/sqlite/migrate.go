package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"wirelab"
)

// Migrate brings a file to the latest form, one step after the other, each in a transaction that ends with its
// number in user_version: a process that dies in between, or meets another that does the same, leaves work for
// the next and never half a change (grb-D06, S12). A file of something else is Conflict and stays unchanged,
// one of a later wirelab Unimplemented. Its errors are fit to be shown after [Kind.Explain].
func (k Kind) Migrate(ctx context.Context, db *sql.DB) error {
	names, err := fs.Glob(k.Migrations, "migrations/*.sql")
	if err != nil {
		return err
	}
	slices.Sort(names)
	for {
		done, err := k.step(ctx, db, names)
		if err != nil || done {
			return err
		}
	}
}

// step runs the next migration, if there is one.
func (k Kind) step(ctx context.Context, db *sql.DB, names []string) (done bool, err error) {
	tx, err := db.BeginTx(ctx, nil) // takes the lock for writing
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, Rollback(tx)) }()
	version, err := k.versionOf(ctx, tx)
	if err != nil || version == len(names) {
		return true, err
	}
	if version > len(names) {
		return false, wirelab.Errorf(wirelab.Unimplemented,
			"the %s's file is of a later wirelab (form %d, this one knows %d); use that one, or another file", k.Holds,
			version,
			len(names))
	}
	script, err := fs.ReadFile(k.Migrations, names[version])
	if err != nil {
		return false, err
	}
	if _, err := tx.ExecContext(ctx, string(script)); err != nil {
		return false, fmt.Errorf("%s: %w", names[version], err)
	}
	// A pragma takes no arguments; both are numbers of ours.
	mark := fmt.Sprintf("PRAGMA user_version = %d; PRAGMA application_id = %d", version+1, k.Mark)
	if _, err := tx.ExecContext(ctx, mark); err != nil {
		return false, err
	}
	return false, tx.Commit()
}

// versionOf returns the number of the last migration, 0 for a new file. A file
// that holds something else is Conflict.
func (k Kind) versionOf(ctx context.Context, tx *sql.Tx) (int, error) {
	var mark int32
	var tables, version int
	err := tx.QueryRowContext(ctx, `SELECT (SELECT application_id FROM pragma_application_id),
		(SELECT count(*) FROM sqlite_schema), (SELECT user_version FROM pragma_user_version)`).Scan(&mark, &tables,
		&version)
	if err == nil && mark != k.Mark && (mark != 0 || tables != 0 || version != 0) {
		err = wirelab.Errorf(wirelab.Conflict,
			"the file is a database of something else, and stays unchanged; give the %s "+
				"another file", k.Holds)
	}
	return version, err
}

// Rollback ends a transaction, unless it was committed.
func Rollback(tx *sql.Tx) error {
	if err := tx.Rollback(); err != nil && !errors.Is(err, sql.ErrTxDone) {
		return err
	}
	return nil
}
