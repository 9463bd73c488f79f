package raw_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"wirelab/internal/leaktest"
)

// The test binary is also the server of the benchmarks, in a separate process.
func TestMain(m *testing.M) {
	if name := os.Getenv(serveVariable); name != "" {
		os.Exit(serveAlone(name))
	}
	goleak.VerifyTestMain(leaktest.Patient(m))
}
