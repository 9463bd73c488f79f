package load_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"wirelab/lab/load"
)

// Failures of one kind are distinguished by cause, over all callers, and only the first error of each cause is
// formatted.
func TestCausesAreRecorded(t *testing.T) {
	t.Parallel()
	reset, busy := errors.New("reset"), errors.New("busy")
	var n, told atomic.Int64
	call := func(context.Context) error {
		switch n.Add(1) % 4 {
		case 0:
			return reset
		case 1:
			return busy
		}
		return nil
	}
	rec, err := load.Run(t.Context(), load.Plan{
		Callers: []load.Call{call, call, call}, Duration: 20 * time.Millisecond,
		Classify: func(error) string { return "unavailable" },
		Cause:    error.Error,
		Tell:     func(err error) string { told.Add(1); return "it said " + err.Error() },
	})
	if err != nil {
		t.Fatal(err)
	}
	sum := uint64(0)
	for _, c := range rec.Causes {
		sum += c.Count
		if c.Kind != "unavailable" || c.First != "it said "+c.Cause {
			t.Errorf("%+v", c)
		}
	}
	if len(rec.Causes) != 2 || sum != rec.Errors["unavailable"] || told.Load() != 2 {
		t.Errorf("%d causes of %d calls, %d failed; %d were worded", len(rec.Causes), sum, rec.Errors["unavailable"],
			told.Load())
	}
	both := rec.Clone()
	both.Append(rec)
	if len(both.Causes) != 2 || both.Causes[0].Count != 2*rec.Causes[0].Count {
		t.Errorf("added up: %+v", both.Causes)
	}
}
