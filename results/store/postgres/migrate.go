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

// migrations returns the files that bring a database to this version's schema.
func migrations() (fs.FS, error) { return fs.Sub(migrationFiles, "migrations") }

// Everything is in one schema with a name that no other program uses. The database may also hold the ledger that is
// being measured, or the team's own tables, and changes to those must not affect results (grb-D05).
const (
	schema       = "wirelab_results"
	versionTable = schema + ".schema_version"
	// migrating is the key of the advisory lock that is held during a migration. Any number works that no other
	// program uses.
	migrating = 0x776c_7265_7375_6c74
)

// migrate brings the database to the latest version of the schema: one file after the other, each in a transaction
// with its number. Concurrent migrations wait for each other. If the version is right already it only reads, so that
// users with read access can open a store.
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

// version returns the version of the database's schema; 0 if there is none.
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

// step runs the migrations that are missing, while holding the lock.
func (s *Store) step(ctx context.Context, files fs.FS) (err error) {
	holder, err := s.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer holder.Release()
	// The library's own lock polls every few seconds; this one waits in a queue.
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
	if !there { // IF NOT EXISTS needs the right to create it even if it exists
		if _, err := holder.Exec(ctx, `CREATE SCHEMA `+pgx.Identifier{schema}.Sanitize()); err != nil {
			return err
		}
	}
	db := stdlib.OpenDBFromPool(s.pool.Pool)
	defer func() { err = errors.Join(err, db.Close()) }()
	return up(ctx, db, files)
}

// up runs the missing migrations.
func up(ctx context.Context, db *sql.DB, files fs.FS) error {
	provider, err := goose.NewProvider(goose.DialectPostgres, db, files,
		goose.WithTableName(versionTable), goose.WithLogger(goose.NopLogger()), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return err
	}
	// The provider is not closed, since that would close db, which belongs to the caller.
	_, err = provider.Up(ctx)
	return err
}

// latestOf returns the highest number among the migrations.
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
