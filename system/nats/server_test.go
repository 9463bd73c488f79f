package nats_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"wirelab"
	"wirelab/internal/leaktest"
	"wirelab/internal/process"
	"wirelab/system/nats"
	natsserver "wirelab/system/nats/server"
)

// The test binary is the child, where it is asked to be.
func TestMain(m *testing.M) {
	if os.Getenv(nats.Environment) != "" {
		if err := natsserver.Serve(context.Background(), os.Getenv, os.Stdin, os.Stdout, os.Stderr); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(leaktest.Patient(m))
}

func start(t *testing.T, o nats.Options) *nats.Server {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s, err := nats.Start(t.Context(), process.Command{Path: self}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	return s
}

func dial(t *testing.T, url string) *client.Conn {
	t.Helper()
	conn, err := client.Connect(url, client.Timeout(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}

// keep publishes a message to a stream, with an acknowledgement.
func keep(t *testing.T, url string) {
	t.Helper()
	js, err := jetstream.New(dial(t, url))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "s", Subjects: []string{"s"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(t.Context(), "s", []byte("x")); err != nil {
		t.Fatal(err)
	}
}

// kept returns how many messages the stream holds.
func kept(t *testing.T, url string) uint64 {
	t.Helper()
	js, err := jetstream.New(dial(t, url))
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	return stream.CachedInfo().State.Msgs
}

// A server keeps what it acknowledged over a kill and a restart, at the same
// address, and leaves neither process nor directory.
func TestServer(t *testing.T) {
	s := start(t, nats.Options{})
	first, url := s.PID(), s.URL()
	if first == os.Getpid() || first == 0 {
		t.Fatalf("process %d is not a child", first)
	}
	keep(t, url)
	if err := s.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s.PID() != 0 {
		t.Errorf("a killed server has process %d", s.PID())
	}
	if c, err := net.Dial("tcp", s.Address()); err == nil {
		_ = c.Close()
		t.Errorf("a killed server takes connections")
	}
	for range 2 { // after a kill, and while it runs
		if err := s.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		if s.URL() != url || s.PID() == first {
			t.Errorf("restarted as process %d at another address", s.PID())
		}
		if n := kept(t, url); n != 1 {
			t.Errorf("%d messages were kept, want 1", n)
		}
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(s.Directory()); !os.IsNotExist(err) {
		t.Errorf("its directory is still there: %v", err)
	}
	if err := s.Restart(t.Context()); err == nil || wirelab.CodeOf(err) != wirelab.NotFound {
		t.Errorf("restart after the end: %v", err)
	}
}

// No one is let in without the password, and the server is not to be seen from elsewhere. Guards ms-D14.
func TestServerIsPrivate(t *testing.T) {
	s := start(t, nats.Options{})
	for name, url := range map[string]string{
		"no user":            "nats://" + s.Address(),
		"the wrong password": "nats://wirelab:x@" + s.Address(),
		"the wrong user":     strings.Replace(s.URL(), "wirelab:", "admin:", 1),
	} {
		if conn, err := client.Connect(url); err == nil {
			conn.Close()
			t.Errorf("%s: is let in", name)
		}
	}
	others, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(s.Address())
	for _, other := range others {
		ip := other.(*net.IPNet).IP
		if ip.IsLoopback() || ip.IsLinkLocalUnicast() {
			continue
		}
		if c, err := net.DialTimeout("tcp", net.JoinHostPort(ip.String(), port), time.Second); err == nil {
			_ = c.Close()
			t.Errorf("the server takes connections at %v", ip)
		}
	}
}

// A server in this process ends with its context, and keeps a directory that
// was given.
func TestRun(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "streams")
	for round := range 2 {
		ctx, cancel := context.WithCancel(t.Context())
		urls := make(chan string, 1)
		var running sync.WaitGroup
		running.Go(func() {
			defer close(urls)
			if err := natsserver.Run(ctx, nats.Options{Directory: directory, SyncEvery: time.Minute}, nil,
				func(url string) {
					urls <- url
				}); err != nil {
				t.Error(err)
			}
		})
		switch url := <-urls; {
		case url == "":
		case round == 0:
			keep(t, url)
		default:
			if n := kept(t, url); n != 1 {
				t.Errorf("%d messages were kept, want 1", n)
			}
		}
		cancel()
		running.Wait()
	}
}

// What cannot be run says why, without the password.
func TestFailures(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	taken := l.Addr().(*net.TCPAddr).Port
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]nats.Options{
		"a port that is taken":            {Port: taken},
		"a directory that is a file":      {Directory: file},
		"a port that there is none of":    {Port: 70_000},
		"a limit of less than nothing":    {StoreLimit: -1},
		"a disk that is ahead of writing": {SyncEvery: -1},
	} {
		o.Password = "verysecret"
		err := natsserver.Run(t.Context(), o, nil, func(string) { t.Errorf("%s: is ready", name) })
		if err == nil || strings.Contains(err.Error(), o.Password) {
			t.Errorf("%s: error %v", name, err)
		}
		t.Logf("%s: %v", name, err)
	}
	bad := func(string) string { return `{"password":"verysecret"` }
	if err := natsserver.Serve(t.Context(), bad, strings.NewReader(""), os.Stderr, nil); err == nil ||
		strings.Contains(err.Error(), "secret") {
		t.Errorf("half an option: %v", err)
	}
}
