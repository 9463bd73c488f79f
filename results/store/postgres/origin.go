package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

// originsTable is created when it is first needed. It is not a migration, so that an earlier version, which would
// refuse a newer schema, can still use the store. See docs/adr/0042.
const originsTable = schema + ".origins"

// SetOrigin implements [store.Store]. For a user who may not create the table, results are stored without an origin.
func (s *Store) SetOrigin(ctx context.Context, id, origin string) error {
	usable, err := s.makeOrigins(ctx)
	if err != nil {
		return s.explain(ctx, "write origin of result "+id, err)
	}
	if !usable {
		return nil
	}
	return s.setBeside(ctx, id, insertOrigin, origin)
}

const insertOrigin = `INSERT INTO ` + originsTable + ` SELECT id, $2 FROM wirelab_results.results WHERE id = $1
	ON CONFLICT (result_id) DO UPDATE SET origin = excluded.origin`

// makeOrigins creates the table of origins if it does not exist. usable is false, without an error, for a user who
// may not create it.
func (s *Store) makeOrigins(ctx context.Context) (usable bool, err error) {
	there, err := s.hasOrigins(ctx)
	if err == nil && !there {
		err = s.again(ctx, func(ctx context.Context, _ int) error {
			_, err := s.pool.Exec(ctx, `CREATE TABLE IF NOT EXISTS `+originsTable+` (
				result_id text COLLATE "C" PRIMARY KEY REFERENCES wirelab_results.results (id) ON DELETE CASCADE, origin text NOT NULL)`)
			return err
		})
		if stateOf(err) == insufficientPrivilege {
			return false, nil
		}
	}
	return err == nil, err
}

// origin returns where a result came from; "" if it is not known.
func (s *Store) origin(ctx context.Context, id string) (origin string, err error) {
	if there, err := s.hasOrigins(ctx); err != nil || !there {
		return "", s.explain(ctx, "read result "+id, err)
	}
	err = s.again(ctx, func(ctx context.Context, _ int) error {
		return s.pool.QueryRow(ctx, `SELECT origin FROM `+originsTable+` WHERE result_id = $1`, id).Scan(&origin)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	return origin, s.explain(ctx, "read result "+id, err)
}

// hasOrigins reports whether the table of origins exists.
func (s *Store) hasOrigins(ctx context.Context) (there bool, err error) {
	err = s.again(ctx, func(ctx context.Context, _ int) error {
		return s.pool.QueryRow(ctx, `SELECT to_regclass($1) IS NOT NULL`, originsTable).Scan(&there)
	})
	return there, err
}
