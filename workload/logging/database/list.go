// Package database is the list of what a logger's entries can be kept in beside
// memory.
package database

import (
	"wirelab"
	"wirelab/workload/logging"
	"wirelab/workload/logging/database/embedded"
	"wirelab/workload/logging/database/postgres"
)

// Databases returns the logger's databases, the usual one first.
func Databases() []wirelab.Database[logging.Service] {
	return []wirelab.Database[logging.Service]{
		postgres.Database(),
		embedded.Database(),
	}
}
