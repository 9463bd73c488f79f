// Package database lists the databases, other than memory, that can hold the ledger.
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
