package main

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"wirelab/system/nats"
)

// The program says what it is, to people and to the one that looks for it, and never
// prints the password that it is started with.
func TestCommands(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why    string
		args   []string
		env    string
		code   int
		stdout string
		stderr string
	}{
		{"a person runs it", nil, "", 0, "wirelab up messaging --broker nats", ""},
		{"help", []string{"--help"}, "", 0, "nothing to start by hand", ""},
		{"version", []string{"version"}, "", 0, "NATS 2.", ""},
		{"an unknown word", []string{"start"}, "", 64, "", "start"},
		{"options cut off", nil, `{"password":"verysecret"`, 64, "", nats.Environment},
	} {
		var stdout, stderr bytes.Buffer
		getenv := func(key string) string { return map[string]string{nats.Environment: c.env}[key] }
		code := run(t.Context(), c.args, strings.NewReader(""), &stdout, &stderr, getenv)
		said := stdout.String() + stderr.String()
		if code != c.code || !strings.Contains(stdout.String(), c.stdout) ||
			!strings.Contains(stderr.String(), c.stderr) ||
			strings.Contains(said, "verysecret") {
			t.Errorf("%s: exit code %d, want %d\nstdout: %s\nstderr: %s", c.why, code, c.code, &stdout, &stderr)
		}
	}
	var stdout bytes.Buffer
	if code := run(t.Context(), []string{"version", "--json"}, nil, &stdout, &stdout,
		func(string) string { return "" }); code != 0 {
		t.Fatalf("exit code %d: %s", code, &stdout)
	}
	var said struct{ Version, Commit, Platform, NATS string }
	if err := json.Unmarshal(stdout.Bytes(), &said); err != nil || said.Version == "" || said.Commit == "" ||
		said.Platform == "" || said.NATS == "" {
		t.Errorf("%+v, %v from %s", said, err, &stdout)
	}
}

// The other programs do not hold the server, which is why this one exists.
func TestOthersAreWithoutTheServer(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"wirelab", "hermes"} {
		linked, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "wirelab/cmd/"+program).Output()
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(linked, []byte("nats-io/nats-server")) ||
			!bytes.Contains(linked, []byte("wirelab/cmd/internal/cli\n")) {
			t.Errorf("%s is linked with nats-server, or its packages could not be read", program)
		}
	}
}
