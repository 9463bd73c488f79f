// Package database is the list of what the ledger can be kept in beside memory.
package database

import (
	"wirelab"
	"wirelab/workload/ledger"
	"wirelab/workload/ledger/database/embedded"
	"wirelab/workload/ledger/database/postgres"
)

// Databases returns the ledger's databases, the usual one first.
func Databases() []wirelab.Database[ledger.Service] {
	return []wirelab.Database[ledger.Service]{
		postgres.Database(),
		embedded.Database(),
	}
}
