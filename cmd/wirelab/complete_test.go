package main

import (
	"slices"
	"strings"
	"testing"

	"wirelab/cmd/internal/desk"
	"wirelab/results/store/storetest"
)

// A shell is offered the words of the program, and no files where there are none to give.
func TestCompletion(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.stored(1)
	id := storetest.Sample(0).ID
	s.run("results", "name", id, "before cache").wants(t, desk.ExitOK, nil, nil)
	for line, want := range map[string]string{
		"compare |":                      "http1-json",
		"compare -w messaging |":         "nats-jetstream",
		"compare -w |":                   "routeguide.GetFeature",
		"compare grpc --network |":       "cloud",
		"compare grpc --scenario live,|": "live,leader-kill",
		"compare grpc --primary |":       "server-cpu",
		"curve |":                        "grpc",
		"run |":                          "quick",
		"presets |":                      "quick",
		"matrix |":                       "ledger",
		"serve |":                        "routeguide",
		"serve routeguide |":             "h2c-proto",
		"explain |":                      "directory.GetPerson",
		"results show |":                 id,
		"report |":                       "before cache",
		"results export --format |":      "markdown",
		"report x --format |":            "jmh",
		"results list --protocol |":      "connect",
		"up logging --broker |":          "rabbitmq",
	} {
		words := strings.Fields(strings.TrimSuffix(line, "|"))
		last := ""
		if !strings.HasSuffix(line, " |") {
			last, words = words[len(words)-1], words[:len(words)-1]
		}
		o := s.run(append(append([]string{"__complete"}, words...), last)...)
		if !slices.Contains(strings.Split(o.stdout, "\n"), want) {
			t.Errorf("%s does not offer %s: %s", line, want, o.stdout)
		}
	}
	for _, line := range []string{"compare grpc --rate", "results list --host", "doctor", "compare"} {
		o := s.run(append(append([]string{"__complete"}, strings.Fields(line)...), "")...)
		if !strings.HasSuffix(o.stdout, ":4\n") { // cobra's word for no files
			t.Errorf("%s offers files: %s", line, o.stdout)
		}
	}
}
