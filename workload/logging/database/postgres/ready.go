package postgres

import (
	"context"
	"embed"

	"github.com/jackc/pgx/v5"

	"wirelab"
	"wirelab/system/postgres"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// latestVersion is the last migration.
const latestVersion = 2

// Schema is the schema of the tables, in a database that others may use too.
const Schema = "logging_entries"

// Holds reports whether a database holds entries. It returns false if the schema does not exist, and does not
// create it.
func Holds(ctx context.Context, dsn string) (bool, error) {
	conn, err := postgres.Connect(ctx, dsn, "")
	if err != nil {
		return false, err
	}
	defer postgres.CloseSoon(conn)
	var holds bool
	err = conn.QueryRow(ctx, `SELECT to_regclass($1) IS NOT NULL`, Schema+".entries").Scan(&holds)
	if err == nil && holds {
		err = conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM `+Schema+`.entries)`).Scan(&holds)
	}
	return holds, postgres.CodedMaking(ctx, err)
}

// makeReady migrates the schema to the latest form, unless it has it. Processes
// that do it at once take turns; one that dies leaves work to the next.
func makeReady(ctx context.Context, dsn string) error {
	conn, err := postgres.Connect(ctx, dsn, Schema)
	if err != nil {
		return err
	}
	defer postgres.CloseSoon(conn) // and with it the lock
	return postgres.CodedMaking(ctx, makeReadyBy(ctx, conn, dsn))
}

func makeReadyBy(ctx context.Context, conn *pgx.Conn, dsn string) error {
	if done, err := ready(ctx, conn); err != nil || done {
		return err
	}
	// The first number separates this lock from others' in the database.
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock(1818518889, hashtext($1))", Schema); err != nil {
		return err
	}
	// Another process may have done some of the steps by now, so each step checks.
	if err := postgres.CreateSchema(ctx, conn, Schema); err != nil {
		return err
	}
	return postgres.Migrate(ctx, dsn, Schema, migrationFiles, latestVersion)
}

// ready reports whether there is nothing to do.
func ready(ctx context.Context, conn *pgx.Conn) (bool, error) {
	var there bool
	if err := conn.QueryRow(ctx,
		`SELECT EXISTS (SELECT FROM pg_tables WHERE schemaname = $1 AND tablename = 'goose_db_version')`, Schema).
		Scan(&there); err != nil || !there {
		return false, err
	}
	var version *int64
	if err := conn.QueryRow(ctx,
		`SELECT max(version_id) FROM goose_db_version WHERE is_applied`).Scan(&version); err != nil || version == nil {
		return false, err
	}
	if *version > latestVersion {
		return false, wirelab.Errorf(wirelab.Unimplemented,
			"the database's tables are of a later wirelab (form %d, this one knows %d): use that one, or another "+
				"database", *version, latestVersion)
	}
	return *version == latestVersion, nil
}
