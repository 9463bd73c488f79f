package main

import "slices"

// slow are the packages whose tests take longest, the longest first. They begin
// first, so that none is left to run alone at the end.
var slow = []string{
	"wirelab/cmd/wirelab", "wirelab/queue/amqp", "wirelab/workload/routeguide/bind", "wirelab/workload/directory/bind",
	"wirelab/workload/ledger/bind", "wirelab/report/html", "wirelab/experiment", "wirelab/brokers/rabbitmq", "wirelab/dashboard",
	"wirelab/workload/logging/bind", "wirelab/store/postgres", "wirelab/hermes/sim", "wirelab/rabbitmq", "wirelab/internal/arch",
}

// first puts the slow packages first.
func first(packages []string) {
	rank := func(p string) int {
		if i := slices.Index(slow, p); i >= 0 {
			return i
		}
		return len(slow)
	}
	slices.SortStableFunc(packages, func(a, b string) int { return rank(a) - rank(b) })
}
