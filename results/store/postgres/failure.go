package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"

	"wirelab"
)

// The SQLSTATE codes that errors distinguish.
const (
	diskFull              = "53100"
	insufficientPrivilege = "42501"
	undefinedTable        = "42P01"
	undefinedColumn       = "42703"
	invalidSchema         = "3F000"
	readOnly              = "25006"
)

// stateOf returns the SQLSTATE of an error; "" if it has none.
func stateOf(err error) string {
	var refused *pgconn.PgError
	if errors.As(err, &refused) {
		return refused.Code
	}
	return ""
}

// explain turns an error of the database into one that says what to do about it. It leaves out the database's own
// text, which may contain anything. It returns nil and coded errors unchanged.
func (s *Store) explain(ctx context.Context, doing string, err error) error {
	var coded *wirelab.Error
	if err == nil || errors.As(err, &coded) {
		return err
	}
	public := wirelab.Public(s.pool.Coded(ctx, err))
	if ctx.Err() != nil && (public.Code == wirelab.Canceled || public.Code == wirelab.DeadlineExceeded) {
		return context.Cause(ctx)
	}
	switch stateOf(err) {
	case diskFull:
		return wirelab.Errorf(wirelab.ResourceExhausted,
			"cannot %s: no room on the disk of PostgreSQL at %s; nothing stored before is lost; make room, or give "+
				"another --results", doing, s.at)
	case insufficientPrivilege:
		return wirelab.Errorf(wirelab.PermissionDenied,
			"cannot %s: user %s may not, in PostgreSQL at %s; its owner can GRANT that on schema %s", doing, s.at.User,
			s.at, schema)
	case undefinedTable, undefinedColumn, invalidSchema:
		return wirelab.Errorf(wirelab.Internal,
			"cannot %s: schema %s in PostgreSQL at %s is damaged: tables or columns are missing", doing, schema, s.at)
	case readOnly:
		return wirelab.Errorf(wirelab.Unavailable,
			"cannot %s: PostgreSQL at %s only reads, as a standby does; name the primary", doing, s.at)
	}
	if public.Code == wirelab.Unavailable {
		return wirelab.Errorf(wirelab.Unavailable, "cannot %s: PostgreSQL at %s cannot be reached any more", doing,
			s.at)
	}
	return wirelab.Errorf(public.Code, "cannot %s in PostgreSQL at %s: %s", doing, s.at, public.Message)
}

// again runs a call that may be repeated, and repeats it if the connection was lost: during an hour of measuring the
// server may have been restarted.
func (s *Store) again(ctx context.Context, do func(ctx context.Context, attempt int) error) error {
	for attempt := 1; ; attempt++ {
		err := do(ctx, attempt)
		if err == nil || attempt == attempts || ctx.Err() != nil {
			return err
		}
		if wirelab.CodeOf(s.pool.Coded(ctx, err)) != wirelab.Unavailable || stateOf(err) == readOnly {
			return err
		}
		if err := pause(ctx, attempt); err != nil {
			return err
		}
	}
}
