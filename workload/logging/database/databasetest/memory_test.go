package databasetest_test

import (
	"testing"

	"go.uber.org/goleak"

	"wirelab/internal/leaktest"
	"wirelab/workload/logging"
	"wirelab/workload/logging/database/databasetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(leaktest.Patient(m)) }

// The reference passes what databases are held to.
func TestMemory(t *testing.T) {
	t.Parallel()
	databasetest.Run(t, func(*testing.T) logging.Service { return logging.New() })
}
