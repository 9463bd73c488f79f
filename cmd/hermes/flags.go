package main

import "wirelab/cmd/internal/cli"

// flagGroups say under which heading a flag stands that few people need. Flags in no group are common.
var flagGroups = []cli.FlagGroup{
	{Heading: "Addresses", Names: []string{
		"peer-listen", "peer-address", "grpc-address", "http-address",
		"http-origin",
	}},
	{Heading: "TLS and access", Names: []string{
		"tls-cert", "tls-key", "tls-client-ca", "peer-tls-cert", "peer-tls-key", "peer-tls-ca", "peer-key-file",
		"http-token",
		"policy", "insecure", "no-origin-api",
		"ca", "cert", "key", "server-name", "token",
	}},
	{Heading: "Limits", Names: []string{
		"free-bytes", "segment-bytes", "tail-bytes", "in-hand-bytes", "request-bytes", "memory-bytes",
		"connections", "connections-per-address", "open-files", "scrub-bytes", "metric-topics",
	}},
	{Heading: "Timing", Names: []string{"tick", "sync-limit", "clock-skew"}},
	{Heading: "Logs and profiles", Names: []string{"log-json", "profile"}},
}
