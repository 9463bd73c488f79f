package main

import "wirelab/cli"

// flagGroups say under which heading a flag stands that few people need. What is in none is common.
var flagGroups = []cli.FlagGroup{
	{"How calls are made", []string{
		"arrivals", "speed-up", "replay", "spread", "driver", "requests", "data", "deadline", "connections", "tls", "encoding", "transport", "steps",
	}},
	{"Streams", []string{"streams", "reader"}},
	{"Message brokers", []string{"scenario", "size", "batch", "groups", "reader-delay", "durability", "nodes"}},
	{"Database", []string{"db", "pool"}},
	{"Rounds and slices", []string{"max-rounds", "slices", "slice", "seed", "primary", "probe", "every", "patience"}},
	{"Machine", []string{"pin", "certificate"}},
	{"Output", []string{"junit", "markdown", "print-plan"}},
	{"Addresses", []string{"logger-http", "logger-grpc", "logger-rpc", "amqp", "nats", "hermes"}},
	{"Queue and listeners", []string{"queue", "no-confirms", "transient", "prefetch", "direct", "listener-http", "published"}},
}
