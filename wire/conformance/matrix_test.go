package conformance

import (
	"slices"
	"strings"
	"testing"

	"wirelab"
)

const toyReason = "No library of it exists for Go."

// A whole protocol declared a hole has no cell to judge and is no absence.
func TestWholeHoleIsDeclared(t *testing.T) {
	protocols := toyProtocols()
	w := toyWorkload(
		toyWire{protocol: protocols[0]}.binding(), wirelab.Hole[toy](protocols[1], toyReason))
	w.Bindings[0].Clients = nil // nothing to judge: this is of the declared ones
	t.Run("is not judged", func(t *testing.T) {
		w := w
		w.Bindings = w.Bindings[1:]
		Run(t, w, toySuite())
	})
	works := []wirelab.Work{w.Erase()}
	if got := works[0].Missing; !slices.Equal(got, []wirelab.Missing{{Protocol: protocols[1], Why: toyReason}}) ||
		len(works[0].Cells) > 0 {
		t.Errorf("erased to the holes %v and %d cells", got, len(works[0].Cells))
	}
	if absent := Absences(works, []string{protocols[1].Name}); len(absent) > 0 {
		t.Errorf("the hole is absent: %v", absent)
	}
	if absent := Absences(append(works, wirelab.Work{Name: "bare"}), nil); len(absent) != 1 ||
		!strings.Contains(absent[0],
			"bare has no binding of "+protocols[1].Name) {
		t.Errorf("a hole of one workload is owed by the next: %v", absent)
	}
}

func TestWholeHoleIsOnlyThat(t *testing.T) {
	t.Parallel()
	p := toyProtocols()[0]
	sound := toyWire{protocol: p}.binding()
	both := sound
	both.Missing = toyReason
	neither := sound
	neither.Clients = nil
	for why, c := range map[string]struct {
		binding wirelab.Binding[toy]
		want    string // "" for no fault
	}{
		"a binding":             {sound, ""},
		"a hole":                {wirelab.Hole[toy](p, toyReason), ""},
		"a hole with libraries": {both, "and yet has servers"},
		"no client and no hole": {neither, "has no server or no client"},
		"a hole without reason": {wirelab.Hole[toy](p, ""), "has no server or no client"},
		"a hole with a word":    {wirelab.Hole[toy](p, "later"), "not a sentence"},
	} {
		got := strings.Join(unserved(c.binding), "\n")
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", why, got, c.want)
		}
	}
	carried := toyWorkload(sound, wirelab.Hole[toy](p, toyReason)).Erase()
	if got := Absences([]wirelab.Work{carried}, nil); len(got) != 1 || !strings.Contains(got[0],
		"declared a hole and carried too") {
		t.Errorf("a protocol that is both: %v", got)
	}
}

func TestProtocolIsOneThing(t *testing.T) {
	t.Parallel()
	p := toyProtocols()[0]
	other := p
	other.Multiplexed = !p.Multiplexed
	works := []wirelab.Work{
		toyWorkload(toyWire{protocol: p}.binding()).Erase(),
		{Name: "same", Missing: []wirelab.Missing{{Protocol: p, Why: toyReason}}},
	}
	if faults := Absences(works, nil); len(faults) > 0 {
		t.Errorf("the same facts: %v", faults)
	}
	works[1] = wirelab.Work{Name: "other", Cells: []wirelab.Cell{
		{Protocol: other, Server: "a"}, {Protocol: other, Server: "b"},
	}}
	want := p.Name + " is one thing in toy and another in other: "
	if faults := Absences(works, nil); len(faults) != 1 || !strings.HasPrefix(faults[0], want) {
		t.Errorf("other facts: %v, want one %q", faults, want)
	}
	works[1] = wirelab.Work{Name: "other", Missing: []wirelab.Missing{{Protocol: other, Why: toyReason}}}
	if faults := Absences(works, nil); len(faults) != 1 {
		t.Errorf("other facts of a hole: %v", faults)
	}
}
