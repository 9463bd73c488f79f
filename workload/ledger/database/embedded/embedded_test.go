package embedded_test

import (
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"wirelab"
	"wirelab/workload/ledger/database/databasetest"
	"wirelab/workload/ledger/database/embedded"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestDatabase(t *testing.T) {
	t.Parallel()
	databasetest.RunDatabase(t, embedded.Database(), func(t *testing.T) wirelab.DatabaseAddress {
		return wirelab.DatabaseAddress{Kind: "embedded", Source: filepath.Join(t.TempDir(), "ledger.db")}
	})
}
