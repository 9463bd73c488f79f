package main

import (
	"context"
	"os"
	"strings"
	"syscall"

	"wirelab/internal/fault"
	"wirelab/results/store"
	pgstore "wirelab/results/store/postgres"
	"wirelab/results/store/sqlite"
	"wirelab/system/postgres"
)

// resultsFlag names the flag of every command that opens the store.
const resultsFlag = "results"

// openStore opens the store that --results names, else the environment. The
// caller closes it.
func (a *app) openStore(ctx context.Context) (store.Store, error) {
	where, err := a.storePlace()
	if err != nil {
		return nil, err
	}
	return openStoreAt(ctx, where)
}

// openToRead opens the store for a command that only reads: where --results names a file that is not there,
// to make an empty one and find nothing in it would hide the slip.
func (a *app) openToRead(ctx context.Context) (store.Store, error) {
	if a.results != "" && !isDatabase(a.results) {
		if _, err := os.Stat(a.results); err != nil {
			return nil, fault.Read("--results", a.results, err)
		}
	}
	return a.openStore(ctx)
}

// storePlace is where results are kept: a file or a connection string.
func (a *app) storePlace() (string, error) {
	if a.results != "" {
		return a.results, nil
	}
	return store.DefaultPath(a.Getenv)
}

// openStoreAt opens the store in a file or a database.
func openStoreAt(ctx context.Context, where string) (store.Store, error) {
	if isDatabase(where) {
		return pgstore.Open(ctx, where)
	}
	if info, err := os.Stat(where); err == nil && info.IsDir() {
		return nil, fault.Read("the store", where, syscall.EISDIR)
	}
	return sqlite.Open(ctx, where)
}

// isDatabase reports whether a place is a connection string, and no file: also
// one in words, whose password would else become a file's name.
func isDatabase(where string) bool {
	if strings.HasPrefix(where, "postgres://") || strings.HasPrefix(where, "postgresql://") {
		return true
	}
	for _, word := range strings.Fields(where) {
		switch name, _, ok := strings.Cut(word, "="); {
		case !ok:
		case name == "host", name == "port", name == "dbname", name == "user", name == "password", name == "service":
			return true
		}
	}
	return false
}

// shownPlace is what may be shown of a place.
func shownPlace(where string) string {
	if isDatabase(where) {
		return "postgres://" + postgres.Redact(where)
	}
	return where
}
