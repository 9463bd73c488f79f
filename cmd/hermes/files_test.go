package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/hermes/client"
)

// limited is a node that is a separate process, with a bound on its open files.
type limited struct {
	*testing.T
	ctx context.Context
	dir string
	running
	errs    safeBuffer
	command *exec.Cmd
}

// begin starts it, or gives what ended it.
func (l *limited) begin(files int, args ...string) error {
	l.Helper()
	args = append([]string{
		"-c", `ulimit -n "$0" && exec "$@"`, fmt.Sprint(files), os.Args[0], "server", "--json", "--data-dir", l.dir,
		"--log-level", "error",
		"--grpc-listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0", "--peer-listen", "127.0.0.1:0", "--free-bytes",
		"1MiB",
	}, args...)
	l.command = exec.CommandContext(l.ctx, "sh", args...) //nolint:gosec // it is this program
	l.command.Env = append(os.Environ(), playHermes+"=yes")
	l.command.Stderr = &l.errs
	out, err := l.command.StdoutPipe()
	if err != nil {
		l.Fatal(err)
	}
	if err := l.command.Start(); err != nil {
		l.Fatal(err)
	}
	if err := json.NewDecoder(out).Decode(&l.running); err != nil {
		return errors.Join(errors.New("it is not running"), l.command.Wait())
	}
	return nil
}

func (l *limited) end() {
	l.Helper()
	if err := l.command.Process.Signal(syscall.SIGTERM); err != nil {
		l.Error(err)
	}
	if err := l.command.Wait(); err != nil && l.command.ProcessState.ExitCode() != exitInterrupted {
		l.Errorf("it ended with %v: %s", err, &l.errs)
	}
}

func (l *limited) client() *client.Client {
	l.Helper()
	c, err := client.New(client.Options{Addresses: []string{l.GRPC}})
	if err != nil {
		l.Fatal(err)
	}
	l.Cleanup(func() { _ = c.Close() }) // what failed has been told
	return c
}

// open counts the process's descriptors.
func (l *limited) open() int {
	l.Helper()
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", l.PID))
	if err != nil {
		l.Fatal(err)
	}
	return len(entries)
}

// disk is what its directory takes.
func (l *limited) disk() (bytes int64, files int) {
	l.Helper()
	err := filepath.WalkDir(l.dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it was just removed
		}
		if err == nil {
			bytes += info.Size()
			files++
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		l.Fatal(err)
	}
	return bytes, files
}

func bound(t *testing.T) *limited {
	t.Helper()
	if testing.Short() {
		t.Skip("starts processes")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	t.Cleanup(cancel)
	return &limited{T: t, ctx: ctx, dir: t.TempDir()}
}

// TestFewFiles: a node that may have too few files open says what it needs, and does not start.
func TestFewFiles(t *testing.T) {
	for _, args := range [][]string{nil, {"--open-files", "150"}} {
		l := bound(t)
		files, needs := 100, "at least 128"
		if args != nil {
			files, needs = 200, "at least 214"
		}
		err := l.begin(files, args...)
		if err == nil {
			l.end()
			t.Fatal("it started")
		}
		if said := l.errs.String(); l.command.ProcessState.ExitCode() != exitFailed || !strings.Contains(said, needs) ||
			!strings.Contains(said, "ulimit -n") {
			t.Errorf("%v: %s", err, said)
		}
	}
}

// TestOneDeadLetter: a dead letter that is kept for ever keeps neither a file nor much of the disk
// for what was published behind it and is not kept.
func TestOneDeadLetter(t *testing.T) {
	l := bound(t)
	if err := l.begin(256, "--segment-bytes", "64KiB"); err != nil {
		t.Fatalf("%v: %s", err, &l.errs)
	}
	c := l.client()
	for _, topic := range []broker.Topic{{Name: "jobs", RetentionBytes: 1}, {Name: "t", RetentionBytes: 300_000}} {
		if _, err := c.CreateTopic(l.ctx, topic); err != nil {
			t.Fatal(err)
		}
	}
	l.deadLetter(c)
	const size, count = 1000, 24_000
	for i := range count {
		m := &hermes.Message{Payload: fmt.Appendf(make([]byte, 0, size), "%0*d", size, i)}
		if err := c.Send(l.ctx, "t", hermes.Consistent, m, func(_ client.Receipt, err error) {
			if err != nil {
				t.Error(err)
			}
		}); err != nil {
			t.Fatal(err)
		}
		if i%20 == 0 { // or it would be a few large entries
			if err := c.Flush(l.ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := c.Flush(l.ctx); err != nil {
		t.Fatal(err)
	}
	var bytes int64
	var files int
	for l.ctx.Err() == nil { // retention and cleaning come by the second
		if bytes, files = l.disk(); bytes <= 2<<20 && files <= 60 && l.open() <= 40 {
			break
		}
	}
	t.Logf("%d bytes in %d files, %d open", bytes, files, l.open())
	if l.ctx.Err() != nil {
		t.Fatalf("the log takes %d bytes in %d files, %d are open", bytes, files, l.open())
	}
	s, err := c.Subscribe(l.ctx, broker.Start{Topic: "hermes.dlq", From: broker.FromOldest})
	if err != nil {
		t.Fatal(err)
	}
	if d, err := s.Next(l.ctx); err != nil || string(d.Payload) != "job" {
		t.Errorf("the dead letter is %q, %v", d.Payload, err)
	}
	if err := s.Close(l.ctx); err != nil {
		t.Error(err)
	}
	l.reads(c, "t", count, func(payload []byte, offset uint64) bool {
		return string(payload) == fmt.Sprintf("%0*d", size, offset)
	})
	l.end()
	if err := l.begin(256, "--segment-bytes", "64KiB"); err != nil {
		t.Fatalf("%v: %s", err, &l.errs)
	}
	if open := l.open(); open > 40 {
		t.Errorf("%d files are open behind a start", open)
	}
	l.end()
	if err := l.begin(128, "--segment-bytes", "64KiB", "--open-files", "4"); err != nil {
		t.Fatalf("%v: %s", err, &l.errs)
	}
	l.reads(l.client(), "t", count, func(payload []byte, offset uint64) bool {
		return string(payload) == fmt.Sprintf("%0*d", size, offset)
	})
	l.end()
}

// deadLetter makes one of a message that a group refuses.
func (l *limited) deadLetter(c *client.Client) {
	l.Helper()
	if _, err := c.CreateGroup(l.ctx, broker.Group{Topic: "jobs", Name: "g", MaxAttempts: 1},
		broker.Start{From: broker.FromOldest}); err != nil {
		l.Fatal(err)
	}
	if _, err := c.Publish(l.ctx, "jobs", hermes.Consistent, &hermes.Message{Payload: []byte("job")}); err != nil {
		l.Fatal(err)
	}
	s, err := c.Subscribe(l.ctx, broker.Start{Topic: "jobs", From: broker.FromGroup, Group: "g"})
	if err != nil {
		l.Fatal(err)
	}
	d, err := s.Next(l.ctx)
	if err == nil {
		err = s.Nack(l.ctx, "no", 0, broker.Range{First: d.Offset, Last: d.Offset})
	}
	if err == nil {
		err = s.Settle(l.ctx)
	}
	if err = errors.Join(err, s.Close(l.ctx)); err != nil {
		l.Fatal(err)
	}
}

// reads reads a topic from its oldest message to the one before offset next.
func (l *limited) reads(c *client.Client, topic string, next uint64, is func([]byte, uint64) bool) {
	l.Helper()
	s, err := c.Subscribe(l.ctx, broker.Start{Topic: topic, From: broker.FromOldest})
	if err != nil {
		l.Fatal(err)
	}
	last := ^uint64(0)
	for last != next-1 {
		d, err := s.Next(l.ctx)
		if err != nil {
			l.Fatalf("behind offset %d: %v", last, err)
		}
		if last != ^uint64(0) && d.Offset != last+1 || !is(d.Payload, d.Offset) {
			l.Fatalf("offset %d comes behind %d: %.40q", d.Offset, last, d.Payload)
		}
		last = d.Offset
	}
	if err := s.Close(l.ctx); err != nil {
		l.Error(err)
	}
}

// TestManySegmentsFewFiles: a log of many more segments than files may be open is kept, opened and read.
func TestManySegmentsFewFiles(t *testing.T) {
	l := bound(t)
	const count = 2000
	args := []string{"--segment-bytes", "4KiB"}
	if err := l.begin(256, args...); err != nil {
		t.Fatalf("%v: %s", err, &l.errs)
	}
	c := l.client()
	if _, err := c.CreateTopic(l.ctx, broker.Topic{Name: "t"}); err != nil {
		t.Fatal(err)
	}
	is := func(payload []byte, offset uint64) bool { return string(payload) == fmt.Sprintf("%03900d", offset) }
	for i := range count {
		if _, err := c.Publish(l.ctx, "t", hermes.Consistent, &hermes.Message{Payload: fmt.Appendf(nil, "%03900d",
			i)}); err != nil {
			t.Fatalf("message %d: %v: %s", i, err, &l.errs)
		}
	}
	for range 2 {
		l.reads(l.client(), "t", count, is)
		_, files := l.disk()
		for files < 2*count && l.ctx.Err() == nil { // all but the newest are sealed soon
			_, files = l.disk()
		}
		if open := l.open(); files < 2*count || open > 128 {
			t.Errorf("of %d files %d are open", files, open)
		}
		l.tells()
		l.end()
		if err := l.begin(256, args...); err != nil {
			t.Fatalf("%v: %s", err, &l.errs)
		}
	}
	l.end()
}

// TestFilesTakenByStrangers: connections that say nothing may take all the files that a node may have open. It
// stores nothing then, or its listeners left the log enough, and continues when they are gone.
func TestFilesTakenByStrangers(t *testing.T) {
	l := bound(t)
	if err := l.begin(filesLeast, "--segment-bytes", "4KiB"); err != nil {
		t.Fatalf("%v: %s", err, &l.errs)
	}
	c := l.client()
	if _, err := c.CreateTopic(l.ctx, broker.Topic{Name: "t"}); err != nil {
		t.Fatal(err)
	}
	var strangers []net.Conn
	for range 2 * filesLeast {
		conn, err := new(net.Dialer).DialContext(l.ctx, "tcp", l.HTTP)
		if err != nil {
			break // it has had enough of them
		}
		strangers = append(strangers, conn)
	}
	const count = 100 // each needs a segment
	done := make(chan error, count)
	go func() {
		for i := range count {
			_, err := c.Publish(l.ctx, "t", hermes.Consistent, &hermes.Message{Payload: fmt.Appendf(nil, "%03900d", i)})
			done <- err
		}
	}()
	for len(done) < count && !strings.Contains(l.errs.String(), "no more files") && l.ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	t.Logf("of %d messages %d were stored despite %d strangers; %s", count, len(done), len(strangers), l.errs.String())
	for _, conn := range strangers {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
	for i := range count {
		select {
		case err := <-done:
			if err != nil {
				t.Fatalf("message %d: %v; %s", i, err, l.errs.String())
			}
		case <-l.ctx.Done():
			t.Fatalf("message %d is not stored: %s", i, l.errs.String())
		}
	}
	l.reads(c, "t", count, func(payload []byte, offset uint64) bool {
		return string(payload) == fmt.Sprintf("%03900d", offset)
	})
	l.end()
}

// tells checks that the log's open files are reported.
func (l *limited) tells() {
	l.Helper()
	for page, want := range map[string][]string{
		"/metrics": {"\nhermes_log_open_files_limit 64\n", "\nhermes_log_open_files "},
		"/readyz":  {`"open_files_limit":64}`, `"open_files":`},
	} {
		request, err := http.NewRequestWithContext(l.ctx, http.MethodGet, "http://"+l.HTTP+page, nil)
		if err != nil {
			l.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			l.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		if err = errors.Join(err, response.Body.Close()); err != nil {
			l.Fatal(err)
		}
		for _, part := range want {
			if !strings.Contains(string(text), part) {
				l.Errorf("%s does not report open files: %.2000s", page, text)
			}
		}
	}
}
