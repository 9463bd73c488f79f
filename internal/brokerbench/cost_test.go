package main

import (
	"io"
	"os"
	"testing"

	"wirelab/lab/control"
)

// What is counted is by message, and the busiest node comes first.
func TestCost(t *testing.T) {
	got := reading{3, 1.001, 1.002}.since(reading{1, 1, 1}, 1000)
	if got.String() != "2003 µs: driver 2000, nodes 2 1" {
		t.Error(got)
	}
	if none := (reading{3}).since(reading{1}, 0); none.String() != "–" {
		t.Errorf("of no message: %v", none)
	}
	m := meter{os.Getpid()}
	before := m.read()
	for m.read()[0] == before[0] {
		// until this process has used some
	}
	if c := m.read().since(before, 1); c.Driver <= 0 {
		t.Errorf("%+v", c)
	}
}

// The floor answers each call, and ends with its parent.
func TestFloor(t *testing.T) {
	input, parent := io.Pipe()
	said, output := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- serveFloor(t.Context(), input, output) }()
	first, err := control.NewReader[control.Reply](said).Read()
	if err != nil || first.Ready == nil {
		t.Fatalf("%+v, %v", first, err)
	}
	all, err := unary(first.Ready.Address, "t", 3)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		if err := p.Publish(t.Context(), []byte("x")); err != nil {
			t.Error(err)
		}
	}
	for _, p := range all {
		p.Close()
	}
	if err := parent.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
