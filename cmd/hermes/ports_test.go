package main

import (
	"net"
	"strings"
	"testing"
)

// Ports that cannot be meant, or had, are refused before a node is started, with what to change.
func TestPortsOfAClusterAreChecked(t *testing.T) {
	t.Parallel()
	held, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	_, taken, err := net.SplitHostPort(held.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{"--nodes 3 --grpc-ports 50051,50052", exitUsage, "--grpc-ports has 2 ports, and --nodes is 3"},
		{"--nodes 1 --http-ports 8080,8081", exitUsage, "--http-ports has 2 ports, and --nodes is 1"},
		{"--nodes 1 --grpc-ports 0", exitUsage, `--grpc-ports has "0"; a port is a number from 1 to 65535`},
		{"--nodes 1 --grpc-ports 65536", exitUsage, `"65536"`},
		{"--nodes 1 --http-ports -1", exitUsage, `"-1"`},
		{"--nodes 2 --http-ports 8080,", exitUsage, `""`},
		{"--nodes 1 --http-ports http", exitUsage, `"http"`},
		{"--nodes 2 --grpc-ports 50051,50051", exitUsage, "port 50051 is given twice"},
		{"--nodes 1 --grpc-ports 8080 --http-ports 8080", exitUsage, "port 8080 is given twice"},
		{"--grpc-ports 50051", exitUsage, "--nodes"},
		{"--nodes 1 --grpc-ports " + taken, exitFailed, "another program uses this port"},
	} {
		code, out, errs := tried(t, nil, "", append([]string{"cluster"}, strings.Fields(c.args)...)...)
		if code != c.code || out != "" || !strings.Contains(errs, c.says) {
			t.Errorf("hermes cluster %s: exit code %d: %s%s; want %d and %s", c.args, code, out, errs, c.code, c.says)
		}
	}
}
