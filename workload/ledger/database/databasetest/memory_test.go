package databasetest_test

import (
	"testing"

	"go.uber.org/goleak"

	"wirelab/internal/leaktest"
	"wirelab/workload/ledger"
	"wirelab/workload/ledger/database/databasetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(leaktest.Patient(m)) }

// The reference passes what databases are held to.
func TestMemory(t *testing.T) {
	t.Parallel()
	data, err := ledger.Sized(databasetest.Data)
	if err != nil {
		t.Fatal(err)
	}
	databasetest.Run(t, func(*testing.T) ledger.Service { return data.New() })
}
