// Package sqlite is how a file of SQLite is opened, by whatever keeps something
// in one. What that is it does not know.
package sqlite

import (
	"database/sql"
	"fmt"
	"net/url"
	"time"

	_ "modernc.org/sqlite" // the driver
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
