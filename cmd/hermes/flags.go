package main

import "wirelab/cli"

// flagGroups say under which heading a flag stands that few people need. What is in none is common.
var flagGroups = []cli.FlagGroup{
	{"Addresses", []string{"peer-listen", "peer-address", "grpc-address", "http-address", "http-origin"}},
	{"TLS and access", []string{
		"tls-cert", "tls-key", "tls-client-ca", "peer-tls-cert", "peer-tls-key", "peer-tls-ca", "http-token", "policy", "insecure", "no-origin-api",
		"ca", "cert", "key", "server-name", "token",
	}},
	{"Limits", []string{"free-bytes", "segment-bytes", "tail-bytes", "in-hand-bytes", "memory-bytes", "metric-topics"}},
	{"Timing", []string{"tick", "sync-limit"}},
	{"Logs and profiles", []string{"log-json", "profile"}},
}
