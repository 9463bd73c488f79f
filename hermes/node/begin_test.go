package node_test

import (
	"slices"
	"testing"

	"wirelab/hermes/broker"
	"wirelab/hermes/vfs"
	"wirelab/wire/status"
)

// A topic that begins at an offset gives it to its first message, to those who
// subscribe, and after a restart.
func TestBeginTopic(t *testing.T) {
	fs := vfs.NewMemory()
	n := start(t, options(fs))
	create(t, n, broker.Topic{Name: "a", First: 70})
	f, err := n.Subscribe(t.Context(), broker.Start{Topic: "a", From: broker.FromTail})
	if err != nil {
		t.Fatal(err)
	}
	if v := publish(t, n, "a", "x", "y"); v.Offset != 70 {
		t.Errorf("the first message has offset %d", v.Offset)
	}
	if got := next(t, f, 2); !slices.Equal(got, []string{"70:x", "71:y"}) {
		t.Error(got)
	}
	f.Close()
	g, err := n.Subscribe(t.Context(), broker.Start{Topic: "a", From: broker.FromGroup, Group: "g"})
	if err != nil {
		t.Fatal(err)
	}
	if got := next(t, g, 2); !slices.Equal(got, []string{"70:x", "71:y"}) {
		t.Error(got)
	}
	g.Close()
	if _, err := n.CreateTopic(t.Context(), broker.Topic{Name: "a", First: 9}); status.CodeOf(err) != status.Conflict {
		t.Errorf("begun elsewhere: %v", err)
	}
	stop(t, n)
	n = open(t, options(fs))
	if got := history(t, n, "a", 2); !slices.Equal(got, []string{"70:x", "71:y"}) {
		t.Error(got)
	}
	if v := publish(t, n, "a", "z"); v.Offset != 72 {
		t.Errorf("after a restart the next offset is %d", v.Offset)
	}
}
