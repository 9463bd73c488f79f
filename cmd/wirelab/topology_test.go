package main

import (
	"testing"

	"wirelab/cmd/internal/desk"
)

// Flags that exclude --published-topology are refused before anything starts.
func TestTopologyRefused(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"--broker", "none"},
		{"--broker", "nats"},
		{"--broker", "rabbitmq", "--direct", "--db", "embedded"},
		{"--broker", "rabbitmq", "--queue", "classic"},
	} {
		args = append([]string{"up", "logging", "--published-topology"}, args...)
		newShell(t).run(args...).wants(t, desk.ExitUsage, nil, []string{"--published-topology"})
	}
	for _, path := range []string{"log-grpc", "log-nats", "log-rabbit-direct"} {
		newShell(t).run("chaos", "logging", path, "--published-topology").
			wants(t, desk.ExitUsage, nil, []string{"--published-topology is RabbitMQ's", path})
	}
	newShell(t).run("chaos", "logging", "log-rabbit", "--published-topology", "--queue", "classic").
		wants(t, desk.ExitUsage, nil, []string{"--published-topology"})
}
