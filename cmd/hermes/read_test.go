package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"wirelab/cmd/internal/cli/clitest"
)

// reading is a command line with FILE for a file that it reads.
type reading struct{ line string }

func (r reading) with(file string) []string {
	return strings.Fields(strings.ReplaceAll(r.line, "FILE", file))
}

// readings are a line for each flag of each command that names a file to read, found in the commands themselves.
func readings(t *testing.T) (all []reading) {
	t.Helper()
	cert, secret, ca := issued(t)
	// What a flag is of no use without.
	others := map[string]string{
		"tls-cert": "--tls-key " + secret, "tls-key": "--tls-cert " + cert, "tls-client-ca": "--tls-cert " + cert +
			" --tls-key " + secret,
		"peer-tls-cert": "--peer-tls-key " + secret + " --peer-tls-ca " + ca,
		"peer-tls-key": "--peer-tls-cert " + cert +
			" --peer-tls-ca " + ca,
		"peer-tls-ca": "--peer-tls-cert " + cert + " --peer-tls-key " + secret,
	}
	node := strings.Join(dev[1:], " ") + " --data-dir " + t.TempDir()
	saved := filepath.Join(t.TempDir(), "saved")
	must(t, start(t, 1, dev...).at(), "", "backup", "--to", saved)
	needs := map[string]string{
		"dev": node, "server": node, "pub": "t m", "sub": "t", "cluster join": "9@127.0.0.1:1", "cluster promote": "1",
		"cluster remove": "1", "cluster transfer": "1", "topic create": "t", "topic configure": "t",
		"topic delete": "t",
		"topic show":   "t",
		"group create": "t g", "group delete": "t g", "group list": "t", "group show": "t g",
		"group seek": "t g --to tail",
		"backup":     "--to " + filepath.Join(t.TempDir(), "backup"), "restore": "--from " + saved,
	}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, inner := range c.Commands() {
			walk(inner)
		}
		name := strings.TrimPrefix(c.CommandPath(), "hermes ")
		c.Flags().VisitAll(func(f *pflag.Flag) {
			what, _ := pflag.UnquoteUsage(f)
			if what != "file" || f.Name == "to" || !c.Runnable() {
				return
			}
			line := name + " --" + f.Name + " FILE"
			if more := needs[name]; f.Name != "verify" && f.Name != "from" {
				line += " " + more
			}
			all = append(all, reading{line + " " + others[f.Name]})
		})
	}
	walk(newRootCommand(&app{getenv: func(string) string { return "" }}))
	return all
}

// Every command ends when it is instructed to, also while it waits for a file that nothing comes of. Of what
// has no end none reads on.
func TestReadingEnds(t *testing.T) {
	t.Parallel()
	all := readings(t)
	for _, flag := range []string{
		"config", "policy", "peer-key-file", "tls-cert", "tls-client-ca", "peer-tls-ca",
		"token-file", "verify", "from",
	} {
		if !slices.ContainsFunc(all, func(r reading) bool { return strings.Contains(r.line, "--"+flag+" FILE") }) {
			t.Errorf("nothing reads --%s", flag)
		}
	}
	for _, r := range all {
		t.Run(strings.Join(strings.Fields(r.line)[:3], " "), func(t *testing.T) {
			fifo := filepath.Join(t.TempDir(), "fifo")
			if err := syscall.Mkfifo(fifo, 0o600); err != nil {
				t.Skip(err)
			}
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			var errs bytes.Buffer
			ended := make(chan int, 1)
			go func() {
				ended <- runBy(ctx, clitest.Still{}, r.with(fifo), strings.NewReader(""), io.Discard, &errs,
					func(string) string {
						return ""
					})
			}()
			writer := opened(t, fifo, ended, &errs)
			interrupt()
			select {
			case code := <-ended:
				if code != exitInterrupted || !strings.Contains(errs.String(), "interrupted") {
					t.Errorf("exit code %d: %s", code, &errs)
				}
			case <-time.After(patience):
				t.Error("Ctrl-C does not end it")
			}
			_ = writer.Close() // which ends it otherwise
			if t.Failed() {
				return
			}
			code, _, says := tried(t, nil, "", r.with("/dev/zero")...)
			if code != exitUsage && code != exitFailed || !strings.Contains(says, "/dev/zero") {
				t.Errorf("of /dev/zero: exit code %d: %s", code, says)
			}
		})
	}
}

// opened is the writing end of a FIFO, once a command reads it. It writes nothing.
func opened(t *testing.T, fifo string, ended <-chan int, errs *bytes.Buffer) *os.File {
	t.Helper()
	poll := time.NewTicker(time.Millisecond)
	defer poll.Stop()
	limit := time.After(patience)
	for {
		fd, err := syscall.Open(fifo, syscall.O_WRONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
		if err == nil {
			return os.NewFile(uintptr(fd), fifo)
		}
		if !errors.Is(err, syscall.ENXIO) && !errors.Is(err, syscall.EINTR) {
			t.Fatal(err)
		}
		select {
		case code := <-ended:
			t.Fatalf("it does not read the file: exit code %d: %s", code, errs)
		case <-limit:
			t.Fatal("it does not read the file")
		case <-poll.C:
		}
	}
}

// Who publishes typed text, or what another program writes, can end it while nothing comes.
func TestPublishingOfInputEnds(t *testing.T) {
	t.Parallel()
	at := start(t, 1, dev...).at()
	stdin, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = stdin.Close(), writer.Close() }()
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	told, out := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		code := runBy(ctx, clitest.Still{}, []string{"pub", "orders", "--create", "--json"}, stdin, out, io.Discard,
			func(n string) string { return at[n] })
		_ = out.Close()
		ended <- code
	}()
	if _, err := io.WriteString(writer, "one\n"); err != nil {
		t.Fatal(err)
	}
	var first receiptShown
	if err := json.NewDecoder(told).Decode(&first); err != nil || first.Error != "" {
		t.Fatalf("%+v, %v", first, err)
	}
	interrupt()
	select {
	case code := <-ended:
		if code != exitInterrupted {
			t.Errorf("exit code %d", code)
		}
	case <-time.After(patience):
		t.Fatal("Ctrl-C does not end it")
	}
}
