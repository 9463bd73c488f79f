// Package sqlite opens an SQLite file, migrates it to its latest form, and makes
// its errors readable. It does not know what its callers store.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"time"

	driver "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"
)

// Open returns a pool of at most so many connections on a file, none of which is
// closed before the pool is. None is opened yet. Transactions take the lock for
// writing when they begin, since two that read first could each wait for the
// other; busy is how long a connection waits for another that writes.
func Open(path string, most int, busy time.Duration, pragmas ...string) (*sql.DB, error) {
	query := url.Values{
		"_txlock": {"immediate"},
		"_pragma": append([]string{fmt.Sprintf("busy_timeout(%d)", busy.Milliseconds())}, pragmas...),
	}
	// Escaped, since a path may hold a question mark or a percent sign.
	name := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: query.Encode()}
	db, err := sql.Open("sqlite", name.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(most)
	db.SetMaxIdleConns(most)
	return db, nil
}

// Code returns SQLite's primary code of an error, 0 if it is not SQLite's.
func Code(err error) int { return ExtendedCode(err) & 0xff } // the low byte

// ExtendedCode returns SQLite's extended code of an error, 0 if it is not SQLite's.
func ExtendedCode(err error) int {
	var failed *driver.Error
	if errors.As(err, &failed) {
		return failed.Code()
	}
	return 0
}

// pause is how long [WhileBusy] waits between two tries.
const pause = 10 * time.Millisecond

// WhileBusy does the first statement on a file, again and again while other processes do the same, until ctx
// ends. The connection's own patience does not cover that: where several turn on the log of a new file, SQLite
// tells all but one of them at once that it is busy, since their waiting could be for each other.
func WhileBusy(ctx context.Context, do func() error) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		err := do()
		if Code(err) != codes.SQLITE_BUSY {
			return err
		}
		timer.Reset(pause)
		select {
		case <-ctx.Done():
			return err
		case <-timer.C:
		}
	}
}
