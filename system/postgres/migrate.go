package postgres

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"wirelab"
)

// Migrate brings a schema, which is there, to a form by migrations/*.sql of files, each in a transaction with
// its number. The caller sees to it that no other does so in the meantime: what holds a lock for that is his to
// say. An error is fit to be shown after [CodedMaking].
func Migrate(ctx context.Context, dsn, schema string, files fs.FS, version int64) (err error) {
	config, _, err := Configure(dsn, schema)
	if err != nil {
		return err
	}
	if files, err = fs.Sub(files, "migrations"); err != nil {
		return err
	}
	db := stdlib.OpenDB(*config)
	defer func() { err = errors.Join(err, db.Close()) }()
	provider, err := goose.NewProvider(goose.DialectPostgres, db, files, goose.WithDisableGlobalRegistry(true),
		goose.WithLogger(goose.NopLogger()))
	if err != nil {
		return err
	}
	_, err = provider.UpTo(ctx, version)
	return err
}

// CreateSchema makes a schema, unless it is there.
func CreateSchema(ctx context.Context, conn *pgx.Conn, schema string) error {
	_, err := conn.Exec(ctx, "CREATE SCHEMA IF NOT EXISTS "+pgx.Identifier{schema}.Sanitize())
	return err
}

// CodedMaking is [Coded] for the making of a schema, with the one failure that anyone who sets a database up
// can do something about.
func CodedMaking(ctx context.Context, err error) error {
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.Code == "42501" {
		return wirelab.Errorf(wirelab.PermissionDenied,
			"the database's user may not make a schema or its tables: grant "+
				"CREATE on the database")
	}
	return Coded(ctx, err)
}

// closeLimit is how long a connection may take to say goodbye.
const closeLimit = time.Second

// CloseSoon closes a connection without waiting long for a server that is gone.
func CloseSoon(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), closeLimit)
	defer cancel()
	_ = conn.Close(ctx) // an error: it is lost, and so is as good as closed
}
