package postgres

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"wirelab"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// migrations are the files that bring a database to this wirelab's form.
func migrations() (fs.FS, error) { return fs.Sub(migrationFiles, "migrations") }

// Everything of ours is in one schema, under a name that nobody else's has:
// the database may hold a ledger to be measured, or the team's own tables, and
// what is done to those must not touch results (grb-D05).
const (
	schema       = "wirelab_results"
	versionTable = schema + ".schema_version"
	// migrating is the key of the advisory lock that is held while the form is
	// changed. Any number does that no other program uses.
	migrating = 0x776c_7265_7375_6c74
)

// migrate brings the database to the latest form, one file after the other,
// each in a transaction with its number; several that do so at once take
// turns. Where the form is right already it only reads, so that who may only
// read can.
func (s *Store) migrate(ctx context.Context, files fs.FS) error {
	latest, err := latestOf(files)
	if err != nil {
		return err
	}
	version, err := s.version(ctx)
	if err != nil {
		return err
	}
	if version == latest {
		return nil
	}
	if version > latest {
		return wirelab.Errorf(wirelab.Unimplemented,
			"the results in PostgreSQL at %s are of a later wirelab (form %d, this one knows %d): use that one, or "+
				"another --results", s.at, version, latest)
	}
	if err := s.step(ctx, files); err != nil {
		if stateOf(err) == insufficientPrivilege {
			return wirelab.Errorf(wirelab.PermissionDenied,
				"PostgreSQL at %s has no results of this wirelab's form yet (form %d, wanted %d), and user %s may not "+
					"make it: open it once with a user who may, or run GRANT CREATE ON DATABASE as its owner",
				s.at, version, latest, s.at.User)
		}
		return err
	}
	return nil
}

// version is the number of the form that the database is in; 0: there is none.
func (s *Store) version(ctx context.Context) (version int64, err error) {
	var there bool
	if err := s.pool.QueryRow(ctx, `SELECT to_regclass($1) IS NOT NULL`, versionTable).Scan(&there); err != nil ||
		!there {
		return 0, err
	}
	err = s.pool.QueryRow(ctx,
		`SELECT coalesce(max(version_id), 0) FROM `+versionTable+` WHERE is_applied`).Scan(&version)
	return version, err
}

// step runs what migrations there are to run, with the lock.
func (s *Store) step(ctx context.Context, files fs.FS) (err error) {
	holder, err := s.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer holder.Release()
	// The library's own lock asks every few seconds; this one waits in line.
	if _, err := holder.Exec(ctx, `SELECT pg_advisory_lock($1)`, int64(migrating)); err != nil {
		return err
	}
	defer func() {
		_, unlocked := holder.Exec(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock($1)`, int64(migrating))
		err = errors.Join(err, unlocked)
	}()
	var there bool
	if err := holder.QueryRow(ctx, `SELECT to_regnamespace($1) IS NOT NULL`, schema).Scan(&there); err != nil {
		return err
	}
	if !there { // IF NOT EXISTS would ask for the right to make it even then
		if _, err := holder.Exec(ctx, `CREATE SCHEMA `+pgx.Identifier{schema}.Sanitize()); err != nil {
			return err
		}
	}
	db := stdlib.OpenDBFromPool(s.pool.Pool)
	defer func() { err = errors.Join(err, db.Close()) }()
	return up(ctx, db, files)
}

// up runs the migrations that have not been run.
func up(ctx context.Context, db *sql.DB, files fs.FS) error {
	provider, err := goose.NewProvider(goose.DialectPostgres, db, files,
		goose.WithTableName(versionTable), goose.WithLogger(goose.NopLogger()), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return err
	}
	// The provider is not closed: that would close db, which its caller does.
	_, err = provider.Up(ctx)
	return err
}

// latestOf is the highest number of the migrations.
func latestOf(files fs.FS) (int64, error) {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return 0, err
	}
	latest := int64(0)
	for _, name := range names {
		number, err := goose.NumericComponent(name)
		if err != nil {
			return 0, fmt.Errorf("migration %s: %w", name, err)
		}
		latest = max(latest, number)
	}
	return latest, nil
}
