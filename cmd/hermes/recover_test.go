package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"wirelab/internal/porttest"
)

// stoppedCluster is the data of three nodes that were published to and then killed, with the account of it: what was
// acknowledged, by payload, with its offset.
func stoppedCluster(t *testing.T) (dir string, account map[string]uint64) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts processes")
	}
	t.Setenv(playHermes, "yes")
	dir = t.TempDir()
	l := start(t, 3, "cluster", "--nodes", "3", "--log-level", "error", "--data-dir", dir)
	at := l.at()
	must(t, at, "", "topic", "create", "orders")
	p, stop := publishing(t, strings.Fields(at[serverVariable]), "orders")
	p.wait(t, 1000)
	must(t, at, "", "sub", "orders", "--group", "billing", "--count", "100")
	stop()
	for _, n := range l.nodes {
		process, err := os.FindProcess(n.PID)
		if err == nil {
			err = process.Kill()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	l.end(t)
	return dir, p.copy()
}

// has compares what a topic has with the account.
func has(t *testing.T, at map[string]string, account map[string]uint64) (next uint64) {
	t.Helper()
	var topic struct{ Next uint64 }
	if err := json.Unmarshal([]byte(must(t, at, "", "topic", "show", "orders", "--json")), &topic); err != nil {
		t.Fatal(err)
	}
	found := map[string]uint64{}
	for _, m := range historyOf(t, strings.Fields(at[serverVariable]), "orders", 0, topic.Next) {
		found[string(m.Payload)] = m.Offset
	}
	for payload, offset := range account {
		if got, ok := found[payload]; !ok || got != offset {
			t.Fatalf("%s was acknowledged at %d, and is at %d, %v", payload, offset, got, ok)
		}
	}
	return topic.Next
}

// served starts a node that listens where there is room.
func served(t *testing.T, id int, dir, peer string, more ...string) *lasting {
	t.Helper()
	return start(t, 1, append([]string{
		"server", "--id", strconv.Itoa(id), "--data-dir", dir, "--peer-listen", peer,
		"--grpc-listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0", "--log-level", "error", "--free-bytes", "1MiB",
	}, more...)...)
}

// ready waits until a node has what the leader had when it was asked.
func ready(t *testing.T, l *lasting) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		code, _, said := tried(t, nil, "", "ready", "--http", l.nodes[0].HTTP)
		if code == exitOK {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("node %d is not ready: %s; it says %s", l.nodes[0].ID, said, l.said)
		}
	}
}

// Two of three directories are lost. The rest becomes a new cluster, in which each acknowledged message is at
// its offset; nodes join it, and it takes more. Its export, restored into another cluster, has the same.
func TestRecoverOfThree(t *testing.T) {
	dir, account := stoppedCluster(t)
	left := filepath.Join(dir, "node-3")
	for _, lost := range []string{"node-1", "node-2"} {
		if err := os.RemoveAll(filepath.Join(dir, lost)); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(t.TempDir(), "orders.backup")
	var exported exportShown
	out := must(t, nil, "", "export", left, "--to", file, "--include-uncommitted", "--json")
	if err := json.Unmarshal([]byte(out), &exported); err != nil || exported.Node != 3 ||
		exported.Messages < uint64(len(account)) {
		t.Fatalf("%s, %v", out, err)
	}
	if out := must(t, nil, "", "backup", "--verify", file); !strings.Contains(out, "is whole") {
		t.Error(out)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	none, said := filepath.Join(t.TempDir(), "none"), new(safeBuffer)
	code := run(ended, []string{"export", left, "--to", none}, strings.NewReader(""), said, said, func(string) string {
		return ""
	})
	if halves, err := filepath.Glob(none + "*"); code != exitInterrupted || len(halves) > 0 || err != nil {
		t.Errorf("interrupted: %d %s, and %v is left", code, said, halves)
	}
	other := start(t, 1, dev...)
	must(t, other.at(), "", "restore", "--from", file)
	next := has(t, other.at(), account)

	if code, _, said := tried(t, nil, "", "recover", left); code != exitUsage || !strings.Contains(said, "--yes") ||
		!strings.Contains(said, "cluster hermes") {
		t.Errorf("without an answer: %d %s", code, said)
	}
	var recovered recoverShown
	out = must(t, nil, "", "recover", left, "--yes", "--json")
	if err := json.Unmarshal([]byte(out), &recovered); err != nil || recovered.Node != 3 ||
		len(recovered.Former) != 2 ||
		recovered.Messages != next {
		t.Fatalf("%s, %v", out, err)
	}
	if out := must(t, nil, "", "check", left); !strings.Contains(out, "is whole") {
		t.Error(out)
	}
	peer := porttest.Held(t)
	first := served(t, 3, left, peer)
	if code, _, said := tried(t, nil, "", "recover", left, "--yes"); code != exitInterrupted || !strings.Contains(said,
		"a node runs") {
		t.Errorf("in use: %d %s", code, said)
	}
	if again := has(t, first.at(), account); again != next {
		t.Errorf("recovered it has %d messages, and its export %d", again, next)
	}
	if out := must(t, first.at(), "", "pub", "orders", "new"); out != fmt.Sprintf("published 1 to orders, offsets %d "+
		"to %[1]d\n", next) {
		t.Error(out)
	}
	for id := 1; id <= 2; id++ { // under the ids of those that were lost
		more := served(t, id, filepath.Join(dir, "new", strconv.Itoa(id)), porttest.Held(t), "--join", peer)
		ready(t, more)
		if again := has(t, more.at(), account); again != next+1 {
			t.Errorf("node %d has %d messages of %d", id, again, next+1)
		}
	}
	if out := must(t, first.at(), "", "group", "list", "orders"); !strings.Contains(out, "billing") {
		t.Error(out)
	}
	if out := must(t, first.at(), "", "pub", "orders",
		"newer"); out != fmt.Sprintf("published 1 to orders, offsets %d "+
		"to %[1]d\n", next+1) {
		t.Error(out)
	}
}

// Three nodes that are started again at once at other addresses, with the right --member list, are ready.
func TestAllMovedAtOnce(t *testing.T) {
	dir, account := stoppedCluster(t)
	var peers, members []string
	for id := 1; id <= 3; id++ {
		peers = append(peers, porttest.Held(t))
		members = append(members, fmt.Sprintf("--member=%d@%s", id, peers[id-1]))
	}
	var nodes []*lasting
	for id := 1; id <= 3; id++ {
		nodes = append(nodes, served(t, id, filepath.Join(dir, fmt.Sprint("node-", id)), peers[id-1], members...))
	}
	for _, n := range nodes {
		ready(t, n)
		has(t, n.at(), account)
	}
	must(t, nodes[0].at(), "", "pub", "orders", "new")
}

// Where most nodes are gone, the commands that need a leader say what is not known and what there is to do, and not
// only that time is over.
func TestCommandsWithoutMajority(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	t.Setenv(playHermes, "yes")
	l := start(t, 3, "cluster", "--nodes", "3", "--log-level", "error")
	must(t, l.at(), "", "pub", "orders", "one", "--create")
	for _, n := range l.nodes[1:] {
		process, err := os.FindProcess(n.PID)
		if err == nil {
			err = process.Kill()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	at := map[string]string{serverVariable: l.nodes[0].GRPC}
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		if strings.HasPrefix(must(t, at, "", "status"), "no node leads") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("node 1 still leads")
		}
	}
	file := filepath.Join(t.TempDir(), "b")
	var all sync.WaitGroup
	for args, want := range map[string]string{
		"cluster remove 2": "hermes cluster remove 2: no leader confirmed it, so it is not known whether it " +
			"was done (",
		"cluster transfer 3":             "hermes cluster transfer 3: no leader confirmed it",
		"cluster promote 2":              "hermes cluster promote 2: no leader confirmed it",
		"cluster join 4@127.0.0.1:16000": "hermes cluster join 4@127.0.0.1:16000: no leader confirmed it",
		"backup --to " + file:            "no backup was made",
	} {
		all.Go(func() {
			code, _, said := tried(t, at, "", append(strings.Fields(args), "--timeout", "8s")...)
			if code != exitFailed || !strings.Contains(said, want) || !strings.Contains(said, "hermes recover") ||
				strings.Contains(said, "no answer in time)") {
				t.Errorf("%s: %d %s", args, code, said)
			}
		})
	}
	all.Wait()
}
