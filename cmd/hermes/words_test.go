package main

import (
	"strings"
	"testing"

	"wirelab/cli/clitest"
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
cluster promote x
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
