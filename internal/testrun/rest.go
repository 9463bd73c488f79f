package main

import "wirelab/internal/prereq"

// rest is what is not run with the packages: go vet, which with an empty cache looks
// through every package that ours import, what takes a network, what takes a
// machine that does nothing else, and a module of its own. One after the other:
// what they measure would be spoiled by one another.
func rest() []step {
	return []step{
		{name: "go vet", command: []string{"go", "vet", "./..."}},
		// What is in deploy, held to the types of Kubernetes and the schema of compose files.
		{dir: "internal/manifests", args: []string{"-count=1", "./..."}, packages: 1},
		{name: "scripts/openapi", command: []string{"scripts/openapi"}, needs: []prereq.Thing{prereq.Python, prereq.Curl}},
		{args: []string{"-count=1", "-timeout", "10m", "./hermes/torture", "-real"}, packages: 1, tell: true},
		{args: []string{"-count=1", "-timeout", "12m", "-run", "^TestSelfTest$", "./cmd/wirelab"}, packages: 1},
	}
}
