package broker_test

import (
	"context"
	"errors"
	"testing"

	"wirelab"
	"wirelab/broker"
)

func isDone(r *broker.Reading) bool {
	select {
	case <-r.Done():
		return true
	default:
		return false
	}
}

// A subscriber that failed returns its first error. One that was stopped did not fail, whatever follows.
func TestReadingFails(t *testing.T) {
	t.Parallel()
	first := errors.New("first")
	r := broker.NewReading(t.Context())
	if isDone(r) || r.Err() != nil || r.Stopped() {
		t.Error("it ended before it began")
	}
	r.Fail(first)
	r.Fail(errors.New("second"))
	if !isDone(r) || !errors.Is(r.Err(), first) {
		t.Errorf("done %v, %v; want the first reason", isDone(r), r.Err())
	}

	stopped := broker.NewReading(t.Context())
	stopped.Stop()
	stopped.Fail(first)
	if isDone(stopped) || stopped.Err() != nil || !stopped.Stopped() {
		t.Errorf("one that was stopped failed: %v", stopped.Err())
	}
}

// TestReadingCloses checks that Close waits until all goroutines have ended, but not beyond its context, and that a
// reading outlives the context it began under.
func TestReadingCloses(t *testing.T) {
	t.Parallel()
	opening, cancel := context.WithCancel(t.Context())
	r := broker.NewReading(opening)
	cancel()
	if r.Stopped() {
		t.Error("it ended with the context of Subscribe")
	}
	if err := r.Close(opening); wirelab.CodeOf(err) != wirelab.CodeOf(broker.ErrStuck()) {
		t.Errorf("it runs still, and Close says %v", err)
	}
	if r.Life().Err() == nil {
		t.Error("Close did not stop it")
	}
	r.Over()
	if err := r.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
