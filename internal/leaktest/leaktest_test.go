package leaktest_test

import (
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"wirelab/internal/leaktest"
)

// What ends late is waited for; what does not end is reported.
func TestFind(t *testing.T) {
	before := goleak.IgnoreCurrent()
	end, ended := make(chan struct{}), make(chan struct{})
	go func() { <-end; close(ended) }()
	if err := leaktest.Find(time.Nanosecond, before); err == nil || !strings.Contains(err.Error(), "TestFind") {
		t.Errorf("a goroutine that is left: %v", err)
	}
	late := time.AfterFunc(2*time.Second, func() { close(end) }) // goleak alone has given up by then
	defer late.Stop()
	leaktest.None(t, before)
	<-ended
}

// few are tests that leave a goroutine for a while.
type few struct{ code int }

func (f few) Run() int {
	left := make(chan struct{})
	time.AfterFunc(2*time.Second, func() { close(left) })
	go func() { <-left }()
	return f.code
}

func TestPatient(t *testing.T) {
	before := goleak.IgnoreCurrent()
	if code := leaktest.Patient(few{0}, before).Run(); code != 0 {
		t.Errorf("ended with %d", code)
	}
	if err := goleak.Find(before); err != nil {
		t.Errorf("did not wait: %v", err)
	}
	if code := leaktest.Patient(few{3}, before).Run(); code != 3 {
		t.Errorf("tests that fail end with %d", code)
	}
	leaktest.None(t, before)
}
