// Package leaktest finds goroutines that tests leave behind, as goleak does, and has more patience: goleak
// waits half a second for goroutines that are about to end, in which a machine with much to do may not come to
// it. It knows nothing of what the tests test.
package leaktest

import (
	"testing"
	"time"

	"go.uber.org/goleak"
)

// patience is how long goroutines that are to end may take.
const patience = time.Minute

// Find waits until there are no goroutines but those that are ignored. The error, after
// so long, tells which are left.
func Find(long time.Duration, ignored ...goleak.Option) error {
	for end := time.Now().Add(long); ; {
		if err := goleak.Find(ignored...); err == nil || time.Now().After(end) {
			return err
		}
	}
}

// None fails a test after which goroutines are left.
func None(t testing.TB, ignored ...goleak.Option) {
	t.Helper()
	if err := Find(patience, ignored...); err != nil {
		t.Error(err)
	}
}

// Patient are a package's tests, followed by a wait for goroutines that are about to end:
// func TestMain(m *testing.M) { goleak.VerifyTestMain(leaktest.Patient(m)) }.
func Patient(m goleak.TestingM, ignored ...goleak.Option) goleak.TestingM {
	return tests{m, ignored}
}

type tests struct {
	goleak.TestingM
	ignored []goleak.Option
}

func (t tests) Run() int {
	code := t.TestingM.Run()
	if code == 0 {
		_ = Find(patience, t.ignored...) // the rest is reported by goleak
	}
	return code
}
