package register_test

import (
	"testing"

	"wirelab/hermes/api/register"
	"wirelab/hermes/broker"
	"wirelab/wire/status"
)

type feed struct{ broker.Feed }

func TestRegister(t *testing.T) {
	t.Parallel()
	r := register.New(2)
	one, two := &feed{}, &feed{}
	for range 2 {
		if err := r.Reserve(); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Reserve(); err == nil || status.CodeOf(err) != status.ResourceExhausted {
		t.Errorf("beyond the limit: %v", err)
	}
	a, b := r.Add(1<<64-1, one, true), r.Add(7, two, false)
	if got, group, ok := r.Find(a); got != one || !group || !ok {
		t.Errorf("%v, %v, %v", got, group, ok)
	}
	if got, group, ok := r.Find(b); got != two || group || !ok {
		t.Errorf("%v, %v, %v", got, group, ok)
	}
	if node, ok := register.NodeOf(a); node != 1<<64-1 || !ok {
		t.Errorf("%s is of %d, %v", a, node, ok)
	}
	for _, id := range []string{"", "-", "x-y", "1", "18446744073709551616-a"} {
		if _, ok := register.NodeOf(id); ok {
			t.Errorf("%q has a node", id)
		}
	}
	r.Remove(a)
	if _, _, ok := r.Find(a); ok {
		t.Error("what was removed is there")
	}
	r.Release()
	if err := r.Reserve(); err != nil {
		t.Errorf("a place that was given back: %v", err)
	}
	if again := r.Add(1<<64-1, one, true); again == a || len(again) < 40 {
		t.Errorf("%s can be guessed", again)
	}
}
