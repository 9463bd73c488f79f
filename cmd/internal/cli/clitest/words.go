package clitest

import (
	"regexp"
	"strings"
	"testing"
)

// lineLimit is the greatest length of an error in bytes: users do not read more than two lines of a terminal.
const lineLimit = 400

// forbidden are words of libraries and of our code that users must not see.
var forbidden = []struct{ pattern, of string }{
	{`arg\(s\)`, "cobra"},
	{`required flag\(s\)`, "cobra"},
	{`flags in the group`, "cobra"},
	{`unknown (shorthand )?flag`, "pflag"},
	{`flag needs an argument`, "pflag"},
	{`invalid argument "`, "pflag"},
	{`time: `, "package time"},
	{`strconv\.`, "package strconv"},
	{`\bjson: (unknown|cannot|invalid|unsupported)|looking for beginning of`, "package encoding/json"},
	{`yaml: |sequence end token`, "goccy/go-yaml"},
	{`(^|[:;,"] )(open|stat|lstat|mkdir|read|write|rename|remove|unlinkat|fork/exec|chdir) /`, "os.PathError"},
	{`no such file or directory`, "errno"},
	{`\b(dial|listen|lookup) (tcp|udp|unix)`, "net.OpError"},
	{`connect: connection refused|bind: `, "errno"},
	{`desc = |rpc error|transport: |server preface`, "grpc"},
	{`context (canceled|deadline exceeded)`, "package context"},
	{`exec: "`, "os/exec"},
	{`exit status \d|signal: `, "os/exec"},
	{`pq:|pgx|SQLSTATE|failed to connect to `, "pgx"},
	{`amqp|Exception \(`, "amqp"},
	{`nats: `, "nats.go"},
	{`kgo|franz`, "franz-go"},
	{`unable to open database file|\(14\)|SQL logic error`, "SQLite"},
	{`0x[0-9a-f]{6,}`, "a pointer"},
	{`\{[A-Z][A-Za-z]*:`, "a Go struct"},
	{`map\[|&\{|<nil>|%!`, "fmt"},
	{`\.wirelab-\d+|\.tmp-?\d+`, "a temporary file's name"},
	{`goroutine \d+|panic:`, "the Go runtime"},
	{`\bload \d+: call \d+|before the warm-up`, "the engine"},
	{`driver of `, "the engine"},
	{
		`(^|[:;,] |\()(internal|conflict|canceled|unavailable|unauthenticated|unimplemented): `,
		"a code, which is for programs",
	},
	{
		`\b(invalid_argument|not_found|permission_denied|resource_exhausted|deadline_exceeded)\b`,
		"a code, which is for programs",
	},
	{`\bEOF\b`, "package io"},
	{`core dumped|\bE(NOENT|ACCES|NOSPC|PIPE|ADDRINUSE|CONNREFUSED|NOTDIR)\b|errno`, "the system"},
	{
		`(permission denied|not a directory|is a directory|read-only file system|no space left on device|broken pipe)$`,
		"errno",
	},
}

// Refused checks the error of a failed command: the text on standard error, and the exit code.
func Refused(t *testing.T, command string, code int, said string) {
	t.Helper()
	if code == 0 {
		t.Errorf("%s: exit code 0 of a command that failed; it says %q", command, said)
	}
	if strings.TrimSpace(said) == "" {
		t.Errorf("%s: exit code %d, and not a word on standard error", command, code)
	}
	for line := range strings.Lines(said) {
		if len(line) > lineLimit {
			t.Errorf("%s: a line of %d bytes: %s", command, len(line), line)
		}
	}
	Plain(t, command, said)
}

// Plain checks that a text contains nothing that only the authors of the program understand.
func Plain(t *testing.T, command, text string) {
	t.Helper()
	for _, f := range forbidden {
		if found := regexp.MustCompile(`(?m)` + f.pattern).FindString(text); found != "" {
			t.Errorf("%s: says %q, the words of %s: %s", command, found, f.of, strings.TrimSpace(text))
		}
	}
}
