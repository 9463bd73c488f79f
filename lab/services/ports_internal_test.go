package services

import (
	"slices"
	"strings"
	"testing"

	"wirelab/workload/external"
)

// A service with several wires gets the port of each, however its command is written.
func TestPortsOfWires(t *testing.T) {
	t.Parallel()
	run := external.Start{Run: []string{
		"./shop", "--rest", "127.0.0.1:$PORT_REST", "--grpc", "${PORT_GRPC}",
		"$PORT_GRPC_WEB",
	}}
	command := external.Start{Command: "./shop --rest 127.0.0.1:$PORT_REST --grpc ${PORT_GRPC} $PORT_GRPC_WEB"}
	for name, start := range map[string]external.Start{"run": run, "command": command} {
		s := started{Start: start, wires: []string{"grpc", "grpc-web", "rest"}}
		for wire, at := range map[string]int{"rest": 2, "grpc": 4, "grpc-web": 5} {
			words, err := s.Words(wire)
			if err != nil {
				t.Fatalf("%s, %s: %v", name, wire, err)
			}
			if got := strings.TrimPrefix(words[at], "127.0.0.1:"); got != "$PORT" && got != "${PORT}" {
				t.Errorf("%s: the port of %s is %q in %q", name, wire, got, words)
			}
			if rest := strings.Join(slices.Delete(slices.Clone(words), at, at+1), " "); strings.Contains(rest, "$") {
				t.Errorf("%s: of %s, ports are left open in %q", name, wire, words)
			}
		}
	}
}
