package experiment_test

import (
	"context"
	"testing"
	"time"

	"wirelab"
	"wirelab/lab/control"
	"wirelab/lab/experiment"
	"wirelab/lab/result"
)

// two are processes that used something.
type two struct{ killed, stopped bool }

func (*two) CPU() (map[string]time.Duration, error) {
	return map[string]time.Duration{"a": time.Second, "b": 2 * time.Second}, nil
}

func (*two) Usage(context.Context) (result.Usage, error) { return result.Usage{ResidentBytes: 7}, nil }
func (t *two) Kill(context.Context)                      { t.killed = true }

func (t *two) Stop(ctx context.Context) error {
	_, t.stopped = ctx.Deadline()
	return wirelab.Errorf(wirelab.Unavailable, "b died")
}

// Several processes are one child: their CPU is added up, and the only order that they know is usage.
func TestTogether(t *testing.T) {
	t.Parallel()
	all := &two{}
	child := experiment.Together(all, func() control.Ready { return control.Ready{Address: "here:1"} }, time.Minute)
	if child.Ready().Address != "here:1" {
		t.Errorf("ready %+v", child.Ready())
	}
	if sum, err := child.CPU(); err != nil || sum != 3*time.Second {
		t.Errorf("used %v, %v", sum, err)
	}
	if parts, err := child.Parts(); err != nil || parts["b"] != 2*time.Second {
		t.Errorf("parts used %v, %v", parts, err)
	}
	if r, err := child.Ask(t.Context(), control.Order{Usage: &struct{}{}}); err != nil || r.Usage.ResidentBytes != 7 {
		t.Errorf("usage %+v, %v", r.Usage, err)
	}
	if _, err := child.Ask(t.Context(), control.Order{}); wirelab.CodeOf(err) != wirelab.Unimplemented {
		t.Errorf("another order: %v", err)
	}
	child.Kill()
	if err := child.Stop(); !all.killed || !all.stopped || wirelab.CodeOf(err) != wirelab.Unavailable {
		t.Errorf("killed %v, stopped within a limit %v: %v", all.killed, all.stopped, err)
	}
}
