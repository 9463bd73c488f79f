package main

import (
	"testing"

	"wirelab/hermes/api/intake"
	"wirelab/hermes/descriptors"
)

// All listeners together leave the log its descriptors, whatever is asked for.
func TestBounds(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{128, 600, 1024, 4096, 1 << 20} {
		for _, c := range []config{{connections: 10_000, requests: intake.Least}, {
			connections: 8, perAddress: 100,
			requests: intake.Least,
		}, {connections: 1 << 30, requests: intake.Least}} {
			b, err := c.bounds(limit)
			if err != nil {
				t.Fatal(err)
			}
			if sum := b.peer.Total + 2*b.clients.Total; sum > descriptors.Room(limit, descriptors.Log(limit)) ||
				b.peer.Total < 1 {
				t.Errorf("of %d files, connections may have %d: %+v", limit, sum, b)
			}
			if one := b.clients.PerAddress; one < 1 || one > b.clients.Total {
				t.Errorf("of %d files, one address may have %d: %+v", limit, one, b)
			}
		}
	}
	for _, c := range []config{
		{requests: intake.Least},
		{connections: 10, perAddress: -1, requests: intake.Least},
		{connections: 10, requests: 1},
	} {
		if _, err := c.bounds(1024); err == nil {
			t.Errorf("%d, %d and %d are taken", c.connections, c.perAddress, c.requests)
		}
	}
	if _, err := (&config{connections: 100, requests: intake.Least}).bounds(16); err == nil {
		t.Error("a node starts that may open next to nothing")
	}
}
