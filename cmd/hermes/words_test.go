package main

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wirelab/cmd/internal/cli/clitest"
)

// Bad command lines end with a line in our words, and never with 0.
func TestBadCommandLines(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, line := range badLines {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			code, _, said := tried(t, nil, "", strings.Fields(strings.ReplaceAll(line, "DIR", dir))...)
			clitest.Refused(t, line, code, said)
		})
	}
}

var badLines = strings.Split(strings.TrimSpace(`
stauts
topics
publish a b
-x
--nosuch
help foo
help topic foo
help pub foo
completion foo
completion zsh more
topic creat x
topic create
group seek a
group create a
group seek a b
group create a b --from yesterday
group create a b --ack-timeout 5
group create a b --max-attempts -1
cluster jion
cluster join x
cluster promote 0
cluster remove 0
cluster transfer
cluster --nodes 0
cluster --nodes -1
cluster --nodes x
cluster --nodes 10
status more
status --servr x
status --timeout 5
status --server
pub
pub t m --mode fast
pub t m --header x
sub
sub t --from x
sub t --no-ack
sub t --group g --from oldest
sub t --count x
check
config --config x
server
server --data-dir DIR --log-level loud
server --data-dir DIR --max-in-flight 5XB
server --data-dir DIR --member x
server --data-dir DIR --id x
dev --member 1@127.0.0.1:1
ready --timeout x
backup
restore
token more
version more
`), "\n")

// One fault has one text and one exit code, whichever command meets it.
func TestOneFaultOneText(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "text"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	clitest.OneText(t, []clitest.Fault{
		{
			Code: exitFailed, Says: "cannot listen at TAKEN: another program uses this port; choose another --",
			Lines: []string{
				"dev --grpc-listen TAKEN", "dev --grpc-listen 127.0.0.1:0 --http-listen TAKEN",
				"server --data-dir DIR/node " +
					"--grpc-listen TAKEN",
			},
		},
		{
			Code: exitFailed, Says: "no node answers: nothing listens at 127.0.0.1:1; start one with hermes dev",
			Lines: []string{
				"status --server 127.0.0.1:1", "pub t m --server 127.0.0.1:1", "sub t --server 127.0.0.1:1",
				"topic list --server 127.0.0.1:1",
				"group list t --server 127.0.0.1:1", "cluster remove 3 --server 127.0.0.1:1",
				"backup --to DIR/b --server " +
					"127.0.0.1:1",
			},
		},
		{Code: exitUsage, Says: "there is no file or folder DIR/absent", Lines: []string{
			"restore --from DIR/absent", "server --config DIR/absent", "status --tls-ca DIR/absent",
			"status --token-file DIR/absent",
		}},
		{Code: exitUsage, Says: "DIR/text/x: a part of this path is a file, not a folder", Lines: []string{
			"restore --from DIR/text/x", "server --config DIR/text/x", "status --tls-ca DIR/text/x",
			"status --token-file DIR/text/x",
		}},
		{Code: exitFailed, Says: "no permission for /sys/bus/platform/uevent", Lines: []string{
			"restore --from /sys/bus/platform/uevent", "server --config /sys/bus/platform/uevent",
			"status --tls-ca /sys/bus/platform/uevent", "status --token-file /sys/bus/platform/uevent",
		}},
		{Code: exitUsage, Says: "DIR: it is a folder, not a file", Lines: []string{
			"restore --from DIR", "server --config DIR", "status --tls-ca DIR", "status --token-file DIR",
		}},
		{Code: exitFailed, Says: "DIR/text: a part of this path is a file, not a folder", Lines: []string{
			"server --data-dir DIR/text/x --grpc-listen 127.0.0.1:0 --http-listen 127.0.0.1:0",
			"server --data-dir DIR/text " +
				"--grpc-listen 127.0.0.1:0 --http-listen 127.0.0.1:0",
			"dev --data-dir DIR/text/x --grpc-listen 127.0.0.1:0 --http-listen 127.0.0.1:0",
		}},
		{Code: exitUsage, Says: "is not HOST:PORT", Lines: []string{
			"status --server nohost",
			"dev --grpc-listen 127.0.0.1:0 --http-listen nohost",
		}},
	}, strings.NewReplacer("TAKEN", taken.Addr().String(), "DIR", dir).Replace, func(args ...string) (int, string) {
		code, _, said := tried(t, nil, "", args...)
		return code, said
	})
}

// What cannot be written to standard output is a failure of every command, help too, in the same words.
func TestFullDiskOfStandardOutput(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"version", "--version", "--help", "pub --help", "help exit-codes", "config",
		"completion bash", "token",
	} {
		var said bytes.Buffer
		code := runBy(t.Context(), clitest.Still{}, strings.Fields(line), strings.NewReader(""), clitest.FullDisk{},
			&said,
			func(string) string { return "" })
		if code != exitFailed || said.String() != "hermes: cannot write to standard output: the disk is full\n" {
			t.Errorf("%s: exit code %d, says %q", line, code, said.String())
		}
	}
}
