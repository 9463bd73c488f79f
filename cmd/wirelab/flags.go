package main

import (
	"wirelab/cmd/internal/cli"
)

// flagGroups are the headings for flags that few users need. A flag without a group is common.
var flagGroups = []cli.FlagGroup{
	{Heading: "How calls are made", Names: []string{
		"arrivals", "speed-up", "replay", "spread", "driver", "requests", "data", "deadline", "connections", "tls",
		"encoding", "transport", "steps",
	}},
	{Heading: "Services of your own", Names: []string{
		"operation", "start", "base", "head", "build", "i-may-load", "http", "proto", "protoset", "import-path",
		"messages",
		"cookies", "proxy", "unix-socket", "rows", "expect", "ignore", "dry-run",
	}},
	{Heading: "Targets over TLS", Names: []string{"ca", "cert", "key", "server-name", "insecure"}},
	{Heading: "Streams", Names: []string{"streams", "reader"}},
	{
		Heading: "Message brokers",
		Names:   []string{"scenario", "size", "batch", "groups", "reader-delay", "durability", "nodes"},
	},
	{Heading: "Database", Names: []string{"db", "pool"}},
	{
		Heading: "Rounds and slices",
		Names:   []string{"max-rounds", "slices", "slice", "seed", "primary", "probe", "every", "patience"},
	},
	{Heading: "Machine", Names: []string{"pin", "pid", "certificate"}},
	{Heading: "Output", Names: []string{"junit", "markdown", "print-plan"}},
	{Heading: "Addresses", Names: []string{"logger-http", "logger-grpc", "logger-rpc", "amqp", "nats", "hermes"}},
	{
		Heading: "Queue and listeners",
		Names: []string{
			"queue", "no-confirms", "transient", "prefetch", "direct", "listener-http",
			"published-topology", "published",
		},
	},
}
