package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// check tells a directory in use, one that is whole, one that is damaged, and none.
func TestCheckCommand(t *testing.T) {
	dir := t.TempDir()
	l := start(t, 1, "dev", "--data-dir", dir, "--grpc-listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0")
	must(t, nil, "", "pub", "orders", "one", "two", "--create", "--server", l.nodes[0].GRPC)
	if code, _, errs := tried(t, nil, "", "check", dir); code != exitInterrupted || !strings.Contains(errs,
		"a node runs") {
		t.Errorf("in use: %d %s", code, errs)
	}
	l.end(t)
	if out := must(t, nil, "", "check", dir); !strings.Contains(out, "is whole") {
		t.Error(out)
	}
	var shown checkShown
	if err := json.Unmarshal([]byte(must(t, nil, "", "check", "--json", dir)), &shown); err != nil {
		t.Fatal(err)
	}
	if !shown.Whole || !shown.Complete || shown.Messages != 2 || shown.Topics != 2 || shown.Node != 1 {
		t.Errorf("%+v", shown)
	}
	name := filepath.Join(dir, "0000000000000001.log")
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	b[80] ^= 1
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, _ := tried(t, nil, "", "check", dir)
	if code != exitFailed || !strings.Contains(out, "broken frame") || !strings.Contains(out, name) ||
		!strings.Contains(out, "restore a backup") {
		t.Errorf("damaged: %d %s", code, out)
	}
	if code, _, errs := tried(t, nil, "", "check", t.TempDir()); code != exitUsage ||
		!strings.Contains(errs, "no log") {
		t.Errorf("none: %d %s", code, errs)
	}
}
