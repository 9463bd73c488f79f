package postgres

import (
	"testing"

	"wirelab"
	"wirelab/system/postgres/postgrestest"
	"wirelab/workload/ledger/database/databasetest"
)

// The ledger in PostgreSQL is the ledger (docs/origins.md grb-D05 to grb-D07,
// grb-D10, grb-D11, grb-D13, grb-M17).
func TestDatabase(t *testing.T) {
	t.Parallel()
	databasetest.RunDatabase(t, Database(), func(t *testing.T) wirelab.DatabaseAddress {
		return wirelab.DatabaseAddress{Kind: Kind, Source: postgrestest.Database(t, server), Pool: 4}
	})
}
