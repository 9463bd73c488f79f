package load

import (
	"testing"

	"go.uber.org/goleak"

	"wirelab/internal/leaktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(leaktest.Patient(m)) }
