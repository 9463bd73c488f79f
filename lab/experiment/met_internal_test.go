package experiment

import (
	"fmt"
	"slices"
	"testing"

	"wirelab/lab/control"
	"wirelab/lab/result"
)

// Addresses that drivers report are stored once each, sorted and bounded. Through a relay they are not stored, since
// they are the relay's.
func TestAddressesAreKept(t *testing.T) {
	t.Parallel()
	r := &result.Result{Arms: make([]result.Arm, 1)}
	w, a := &round{result: r}, &armRun{}
	for _, told := range [][]string{{"b:1"}, nil, {"a:1", "b:1"}} {
		w.met(a, control.Reply{Met: told})
	}
	if got := r.Arms[0].Addresses; !slices.Equal(got, []string{"a:1", "b:1"}) {
		t.Errorf("kept %q", got)
	}
	for i := range 500 {
		w.met(a, control.Reply{Met: []string{fmt.Sprintf("c%d:1", i)}})
	}
	if n := len(r.Arms[0].Addresses); n != control.MetMost {
		t.Errorf("kept %d, want at most %d", n, control.MetMost)
	}
	r.Arms[0].Addresses = nil
	a.relay = anyChild{}
	if w.met(a, control.Reply{Met: []string{"relay:1"}}); r.Arms[0].Addresses != nil {
		t.Errorf("the relay's address is kept as the target's: %q", r.Arms[0].Addresses)
	}
}

// anyChild is a child that gets no orders.
type anyChild struct{ Child }
