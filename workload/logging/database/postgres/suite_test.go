package postgres

import (
	"testing"

	"wirelab"
	"wirelab/system/postgres/postgrestest"
	"wirelab/workload/logging/database/databasetest"
)

// A logger over PostgreSQL is a logger (ms-F23, ms-F24, ms-D16).
func TestDatabase(t *testing.T) {
	t.Parallel()
	databasetest.RunDatabase(t, Database(), func(t *testing.T) wirelab.DatabaseAddress {
		return wirelab.DatabaseAddress{Kind: Kind, Source: postgrestest.Database(t, server), Pool: 4}
	})
}
