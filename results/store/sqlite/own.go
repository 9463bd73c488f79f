package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"

	"wirelab"
	"wirelab/system/sqlite"
)

// mark is the application_id of a store's file: "wlRS". In stores that an earlier version made it is 0 until a later
// version opens them.
const mark int32 = 0x776c5253

// own checks that an existing file is a store or an empty database before anything is written to it, since the first
// connection that writes changes its header. The error is Conflict.
func (s *Store) own(ctx context.Context) (err error) {
	if info, err := os.Stat(s.path); err != nil || info.Size() == 0 {
		return nil //nolint:nilerr // what is wrong with it is told when it is opened
	}
	// First without the log, and so without a new file next to it. The second look sees what is only in the log.
	var foreign bool
	for _, option := range []string{"immutable=1", "mode=ro"} {
		var empty bool
		foreign, empty, err = look(ctx, s.path, option)
		if err == nil && (foreign || !empty) {
			break
		}
	}
	switch {
	case err != nil:
		return nil //nolint:nilerr // damaged, or held by another: that is told when it is opened
	case foreign:
		return wirelab.Errorf(wirelab.Conflict,
			"%s is a database of something else, and nothing was written to it; give --results, or WIRELAB_STORE, "+
				"another file", s.path)
	}
	return nil
}

// look reports whether a file contains something other than results, and whether it is empty.
func look(ctx context.Context, path, option string) (foreign, empty bool, err error) {
	name := url.URL{
		Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(),
		RawQuery: option + "&_pragma=query_only(1)",
	}
	db, err := sql.Open("sqlite", name.String())
	if err != nil {
		return false, false, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1)
	var is, version int32
	var tables, ours int
	err = db.QueryRowContext(ctx,
		`SELECT (SELECT application_id FROM pragma_application_id), (SELECT user_version FROM pragma_user_version),
		(SELECT count(*) FROM sqlite_schema),
		(SELECT count(*) FROM pragma_table_info('results') WHERE name IN ('id', 'schema', 'body'))
			+ (SELECT count(*) FROM pragma_table_info('schema_version') WHERE name IN ('version', 'applied'))`).
		Scan(&is, &version, &tables, &ours)
	if err != nil {
		return false, false, err
	}
	switch {
	case is == mark:
		return false, false, nil
	case is != 0:
		return true, false, nil
	case tables == 0:
		return version != 0, version == 0, nil
	}
	return ours != 5, false, nil
}

// migrate brings the file to the latest version of the schema, and marks it.
func (s *Store) migrate(ctx context.Context) error {
	if err := migrate(ctx, s.write, migrationFiles, s.path); err != nil {
		return err
	}
	var is int32
	if err := s.write.QueryRowContext(ctx, `SELECT application_id FROM pragma_application_id`).Scan(&is); err != nil ||
		is == mark {
		return err
	}
	_, err := s.write.ExecContext(ctx, fmt.Sprintf(`PRAGMA application_id = %d`, mark)) // a pragma takes no arguments
	if sqlite.Code(err) != 0 {
		return nil // an unmarked store works as well: the disk may be full, or the file read-only
	}
	return err
}
