package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/hermes/client"
)

// published is what a topic was given, by payload, with the offset it was acknowledged at.
type published struct {
	mu  sync.Mutex
	all map[string]uint64
}

func (p *published) copy() map[string]uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make(map[string]uint64, len(p.all))
	for payload, offset := range p.all {
		all[payload] = offset
	}
	return all
}

// publishing publishes numbered messages until stopped, and notes each that is acknowledged.
func publishing(t *testing.T, addresses []string, topic string) (p *published, stop func()) {
	t.Helper()
	c, err := client.New(client.Options{Addresses: addresses})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	p = &published{all: map[string]uint64{}}
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				payload := fmt.Sprintf("%d-%d", w, i)
				v, err := c.Publish(ctx, topic, hermes.Consistent,
					&hermes.Message{
						Payload: []byte(payload), Key: []byte("key"),
						Headers: []hermes.Header{{Name: "h", Value: []byte(payload)}},
					})
				if err != nil {
					if ctx.Err() == nil {
						t.Error(err)
					}
					return
				}
				p.mu.Lock()
				p.all[payload] = v.Offset
				p.mu.Unlock()
			}
		})
	}
	return p, sync.OnceFunc(func() {
		cancel()
		all.Wait()
		_ = c.Close()
	})
}

func (p *published) wait(t *testing.T, n int) map[string]uint64 {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		if all := p.copy(); len(all) >= n {
			return all
		}
		select {
		case <-tick.C:
		case <-late.C:
			t.Fatalf("%d of %d messages are published", len(p.copy()), n)
		}
	}
}

// history is a topic's messages from first to next.
func historyOf(t *testing.T, addresses []string, topic string, first, next uint64) []hermes.Delivered {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c, err := client.New(client.Options{Addresses: addresses})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s, err := c.Subscribe(ctx, broker.Start{Topic: topic, From: broker.FromOffset, Offset: first})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(ctx)
	var all []hermes.Delivered
	for uint64(len(all)) < next-first {
		m, err := s.Next(ctx)
		if err != nil {
			t.Fatalf("after %d of %d: %v", len(all), next-first, err)
		}
		all = append(all, m)
	}
	return all
}

// A backup of three nodes that is made while they are published to has all that was
// acknowledged before, and restored into three new nodes it is the same, message by message.
func TestBackupWhilePublishing(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	t.Setenv(playHermes, "yes")
	from := start(t, 3, "cluster", "--nodes", "3", "--log-level", "error")
	at, dir := from.at(), t.TempDir()
	must(t, at, "", "topic", "create", "orders", "--keep-bytes", "1GiB")
	addresses := strings.Fields(at[serverVariable])
	p, stop := publishing(t, addresses, "orders")
	defer stop()
	p.wait(t, 2000)
	must(t, at, "", "sub", "orders", "--group", "billing", "--count", "700")
	file := filepath.Join(dir, "all.backup")
	var made backupShown
	var before map[string]uint64
	for _, n := range from.nodes { // each of them, the last file is restored
		before = p.copy()
		out := must(t, map[string]string{}, "", "backup", "--to", file, "--json", "--server", n.GRPC)
		if err := json.Unmarshal([]byte(out), &made); err != nil || made.Messages < uint64(len(before)) ||
			made.Groups != 1 {
			t.Fatalf("%+v with %d acknowledged before: %v", made, len(before), err)
		}
	}
	p.wait(t, int(made.Messages)+500)
	stop()
	groups := must(t, at, "", "group", "list", "orders", "--json")
	is := historyOf(t, addresses, "orders", 0, made.Messages)
	from.end(t)

	to := start(t, 3, "cluster", "--nodes", "3", "--log-level", "error")
	at = to.at()
	must(t, at, "", "restore", "--from", file)
	again := historyOf(t, strings.Fields(at[serverVariable]), "orders", 0, made.Messages)
	for i := range is {
		if got, want := fmt.Sprintf("%+v", again[i]), fmt.Sprintf("%+v", is[i]); got != want {
			t.Fatalf("message %d is %s and was %s", i, got, want)
		}
	}
	found := map[string]uint64{}
	for _, m := range again {
		found[string(m.Payload)] = m.Offset
	}
	for payload, offset := range before {
		if got, ok := found[payload]; !ok || got != offset {
			t.Fatalf("%s was acknowledged at %d before the backup began, and is at %d, %v", payload, offset, got, ok)
		}
	}
	var was, now struct{ Floor, Lag uint64 }
	if err := errors.Join(json.Unmarshal([]byte(groups), &was),
		json.Unmarshal([]byte(must(t, at, "", "group", "list", "orders", "--json")), &now)); err != nil {
		t.Fatal(err)
	}
	if was.Floor != now.Floor || was.Floor != 700 || now.Lag != made.Messages-700 {
		t.Errorf("the group is at %+v and was at %+v", now, was)
	}
	if out := must(t, at, "", "pub", "orders",
		"new"); out != fmt.Sprintf("published 1 to orders, offsets %d to %[1]d\n",
		made.Messages) {
		t.Errorf("published then: %s", out)
	}
	// There is nothing to restore into it any more.
	other := filepath.Join(dir, "other.backup")
	must(t, at, "", "backup", "--to", other)
	if code, _, errs := tried(t, at, "", "restore", "--from", other); code != exitUsage || !strings.Contains(errs,
		"the cluster has orders:") {
		t.Errorf("into a cluster that has it: %d %s", code, errs)
	}
}

// stalling hands connections on to a node, and holds back what the node says after so many bytes.
func stalling(t *testing.T, node string, bytes int64) (address string, stalled <-chan struct{}) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	full := make(chan struct{})
	once := sync.OnceFunc(func() { close(full) })
	var all sync.WaitGroup
	all.Go(func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", node)
			if err != nil {
				near.Close()
				continue
			}
			all.Go(func() {
				_, _ = io.Copy(far, near)
				far.Close()
			})
			all.Go(func() {
				defer near.Close()
				if n, _ := io.CopyN(near, far, bytes); n < bytes {
					return
				}
				once()
				_, _ = io.Copy(io.Discard, far) // until the node is gone, or the client
			})
		}
	})
	t.Cleanup(func() { listener.Close(); all.Wait() })
	return listener.Addr().String(), full
}

// A backup whose node is killed, and one that is interrupted, say so and leave what was there.
func TestBackupCutShort(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	t.Setenv(playHermes, "yes")
	for name, c := range map[string]struct {
		kill bool
		code int
		says string
	}{
		"killed":      {true, exitFailed, "went away"},
		"interrupted": {false, exitInterrupted, "interrupted: no backup was made"},
	} {
		t.Run(name, func(t *testing.T) {
			l := start(t, 2, "cluster", "--nodes", "2", "--log-level", "error")
			must(t, l.at(), strings.Repeat("x", 1<<20), "pub", "orders", "--raw", "--create")
			for range 5 {
				must(t, l.at(), strings.Repeat("x", 1<<20), "pub", "orders", "--raw")
			}
			address, stalled := stalling(t, l.nodes[0].GRPC, 2<<20)
			dir := t.TempDir()
			file := filepath.Join(dir, "all.backup")
			if err := os.WriteFile(file, []byte("the one before"), 0o600); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			ended := make(chan int, 1)
			var errs bytes.Buffer
			go func() {
				ended <- run(ctx, []string{"backup", "--to", file, "--server", address, "--timeout", "5s"},
					strings.NewReader(""),
					io.Discard, &errs, func(string) string { return "" })
			}()
			<-stalled
			if c.kill {
				if err := syscall.Kill(l.nodes[0].PID, syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
			} else {
				cancel()
			}
			if code := <-ended; code != c.code || !strings.Contains(errs.String(), c.says) ||
				!strings.Contains(errs.String(),
					"as it was") {
				t.Errorf("exit code %d: %s", code, errs.String())
			}
			found, err := os.ReadDir(dir)
			if text, _ := os.ReadFile(file); err != nil || len(found) != 1 || string(text) != "the one before" {
				t.Errorf("there is %v, %.20q: %v", found, text, err)
			}
		})
	}
}

// A file that cannot be written whole is none, and what was there stays.
func TestReplaceFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "f")
	write := func(text string, fails error) func(io.Writer) error {
		return func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return errors.Join(err, fails)
		}
	}
	if size, err := replaceFile(file, write("one", nil)); err != nil || size != 3 {
		t.Fatal(size, err)
	}
	if _, err := replaceFile(file, write("tw", syscall.ENOSPC)); !errors.Is(err, syscall.ENOSPC) {
		t.Error(err)
	}
	if text, err := os.ReadFile(file); string(text) != "one" || err != nil {
		t.Errorf("%q %v", text, err)
	}
	if _, err := os.Stat(file + ".part"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what was written of it stays: %v", err)
	}
	if err := os.WriteFile(file+".part", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := replaceFile(file, write("two", nil)); err == nil || !strings.Contains(err.Error(), "remove it") {
		t.Errorf("with another at it: %v", err)
	}
	if err := os.Remove(file + ".part"); err != nil {
		t.Fatal(err)
	}
	if _, err := replaceFile(file, write("two", nil)); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(file); string(text) != "two" || err != nil {
		t.Errorf("%q %v", text, err)
	}
}

// Files that are damaged, cut off or something else are reported, before anything is asked of a
// cluster; and what a restore would do is reported without doing it.
func TestRestoreCommand(t *testing.T) {
	l := start(t, 1, "dev", "--grpc-listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0")
	at, dir := l.at(), t.TempDir()
	must(t, at, "", "pub", "orders", "one", "two", "--create")
	must(t, at, "", "pub", "invoices", "three", "--create")
	good := filepath.Join(dir, "good")
	if out := must(t, at, "", "backup", "--to", good); !strings.Contains(out, "3 messages of 3 topics") {
		t.Error(out)
	}
	if out := must(t, nil, "", "backup", "--verify", good); !strings.Contains(out, "is whole") || !strings.Contains(out,
		"orders      0 to 2") {
		t.Error(out)
	}
	whole, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	flipped := bytes.Clone(whole)
	flipped[len(whole)/2] ^= 1
	bad := filepath.Join(dir, "bad")
	for _, c := range []struct {
		name, says string
		file       []byte
	}{
		{"damaged", "damaged at byte", flipped},
		{"cut off", "cut off", whole[:len(whole)-3]},
		{"foreign", "no backup of Hermes", []byte("PK\x03\x04 something else that is long enough")},
		{"empty", "no backup of Hermes", nil},
		{"of a later form", "form 9", append([]byte("hermesbk\x09\x00\x00\x00"), whole[12:]...)},
	} {
		if err := os.WriteFile(bad, c.file, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{
			{"backup", "--verify", bad},
			{"restore", "--from", bad, "--server", "127.0.0.1:1"},
		} {
			if code, _, errs := tried(t, nil, "", args...); code != exitFailed || !strings.Contains(errs, c.says) ||
				!strings.Contains(errs, bad) {
				t.Errorf("%s, %s: %d %s", args[0], c.name, code, errs)
			}
		}
	}
	for _, args := range [][]string{
		{"backup"},
		{"backup", "--to", good, "--verify", good},
		{"restore"},
		{"restore", "--from", filepath.Join(dir, "none")},
		{"restore", "--from", good, "--only", "none"},
		{"backup", "--to", bad, "--only", "none"},
	} {
		if code, _, errs := tried(t, at, "", args...); code != exitUsage {
			t.Errorf("%v: %d %s", args, code, errs)
		}
	}
	must(t, at, "", "topic", "delete", "orders")
	if out := must(t, at, "", "restore", "--from", good, "--only", "orders", "--dry-run"); !strings.Contains(out,
		"1 topics would be restored, 2 messages; nothing was changed") || !strings.Contains(out, "not there") {
		t.Error(out)
	}
	if code, out, errs := tried(t, at, "", "restore", "--from", good, "--dry-run"); code != exitUsage ||
		!strings.Contains(out, "there, and not from this backup") || !strings.Contains(errs, "has invoices") {
		t.Errorf("%d %s %s", code, out, errs)
	}
	if out := must(t, at, "", "restore", "--from", good, "--only", "orders"); !strings.Contains(out,
		"1 topics are restored, 2 messages") {
		t.Error(out)
	}
	if out := must(t, at, "", "sub", "orders", "--from", "oldest", "--count", "2"); out != "one\ntwo\n" {
		t.Error(out)
	}
}
