package main

import "slices"

// slow are the packages whose tests take longest, the longest first. They begin
// first, so that none is left to run alone at the end.
var slow = []string{
	"wirelab/cmd/wirelab", "wirelab/broker/rabbitmq", "wirelab/workload/ledger/bind", "wirelab/workload/directory/bind",
	"wirelab/lab/messaging/bench", "wirelab/workload/routeguide/bind", "wirelab/results/report/html",
	"wirelab/system/rabbitmq",
	"wirelab/results/store/postgres", "wirelab/lab/messaging/drive", "wirelab/results/dashboard",
	"wirelab/workload/logging/bind", "wirelab/lab/result", "wirelab/hermes/sim", "wirelab/wire/raw",
	"wirelab/broker/hermes",
	"wirelab/cmd/hermes", "wirelab/broker/jetstream", "wirelab/wire/conformance",
	"wirelab/workload/ledger/database/postgres",
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
