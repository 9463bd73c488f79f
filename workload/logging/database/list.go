// Package database lists the databases, other than memory, that can hold the entries of a logger.
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
