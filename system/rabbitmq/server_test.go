package rabbitmq_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"wirelab"
	"wirelab/system/rabbitmq"
	"wirelab/system/rabbitmq/rabbitmqtest"
)

// A server's whole life: it starts, keeps durable messages through a kill of all its processes and through a
// restart, is accounted for, and leaves nothing.
func TestServer(t *testing.T) {
	t.Parallel()
	parent := open(t)
	rabbitmqtest.Need(t)
	s, err := rabbitmq.Start(t.Context(), rabbitmq.Options{Parent: parent})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop(context.Background()) })
	directory := s.Directory()
	if of := members(t, directory); len(of) < 2 {
		t.Fatalf("the server's processes %v are not known as its", of)
	}
	// Its children alone would leave the daemon out, that Erlang would start.
	for _, pid := range members(t, directory) {
		name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
		if strings.Contains(string(name), "epmd") {
			t.Errorf("it has Erlang's daemon, process %d", pid)
		}
	}
	address(t, s)
	account, err := s.Account()
	if err != nil {
		t.Fatal(err)
	}
	used, err := account.Read()
	if err != nil || used.CPU <= 0 || !used.Storage || account.PID() != s.PID() {
		t.Errorf("it used %+v as process %d, want some CPU of %d: %v", used, account.PID(), s.PID(), err)
	}
	put(t, s, "kept")
	first := s.PID()
	if err := s.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := members(t, directory); len(left) > 0 || s.PID() != 0 {
		t.Fatalf("processes %v are left of the one that was killed", left)
	}
	if _, err := account.Read(); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("the account of a killed server: %v", err)
	}
	if err := s.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s.PID() == first {
		t.Error("the same process runs after a restart")
	}
	if got := get(t, s); got != "kept" {
		t.Errorf("after a kill and a restart %q is in the queue", got)
	}
	for range 2 { // the second does nothing
		if err := s.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if left := members(t, directory); len(left) > 0 {
		t.Errorf("processes %v are left of the one that was stopped", left)
	}
	if _, err := os.Stat(directory); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its directory is there: %v", err)
	}
	if err := s.Restart(t.Context()); err == nil || wirelab.CodeOf(err) != wirelab.NotFound {
		t.Errorf("a stopped server started again: %v", err)
	}
}

// open makes a directory that another user may enter.
func open(t *testing.T) string {
	t.Helper()
	parent, err := os.MkdirTemp("", "wirelab-test-") //nolint:usetesting // t.TempDir lies in one that only we may enter
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(parent) })
	if err := os.Chmod(parent, 0o755); err != nil {
		t.Fatal(err)
	}
	return parent
}

// members are the processes that have a directory in their environment.
func members(t *testing.T, directory string) []int {
	t.Helper()
	var all []int
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(text, []byte(directory)) {
			continue
		}
		var pid int
		if _, err := fmt.Sscanf(file, "/proc/%d/environ", &pid); err != nil {
			t.Fatal(err)
		}
		if pid != os.Getpid() && pid != os.Getppid() {
			all = append(all, pid)
		}
	}
	return all
}

// address checks that the server listens on 127.0.0.1 alone, that it wants its password, and that no one sees
// it: not in a command line, not in a file that others may read.
func address(t *testing.T, s *rabbitmq.Server) {
	t.Helper()
	at, err := url.Parse(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	password, _ := at.User.Password()
	_, port, _ := net.SplitHostPort(s.Address())
	for _, other := range []string{"127.0.0.2", "[::1]"} {
		conn, err := net.DialTimeout("tcp", other+":"+port, time.Second)
		if err == nil {
			_ = conn.Close()
			t.Errorf("it listens on %s", other)
		}
	}
	at.User = url.UserPassword("guest", "guest")
	if conn, err := amqp.Dial(at.String()); err == nil {
		_ = conn.Close()
		t.Error("the default user is let in")
	}
	for _, pid := range members(t, s.Directory()) {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if bytes.Contains(line, []byte(password)) {
			t.Errorf("the password is in the command line of process %d", pid)
		}
	}
	about, err := os.Stat(s.Directory())
	if err != nil || about.Mode().Perm() != 0o700 {
		t.Errorf("its directory: %v %v", about, err)
	}
}

// put puts a message into a durable queue, and waits until it is on disk.
func put(t *testing.T, s *rabbitmq.Server, body string) {
	t.Helper()
	channel := channel(t, s)
	if err := channel.Confirm(false); err != nil {
		t.Fatal(err)
	}
	if _, err := channel.QueueDeclare("test", true, false, false, false, nil); err != nil {
		t.Fatal(err)
	}
	confirmed, err := channel.PublishWithDeferredConfirmWithContext(t.Context(), "", "test", true, false,
		amqp.Publishing{DeliveryMode: amqp.Persistent, Body: []byte(body)})
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := confirmed.WaitContext(t.Context()); err != nil || !ok {
		t.Fatal("it was not confirmed:", err)
	}
	// RabbitMQ answers before the queue's definition is in a file, up to two seconds later: a server that is
	// killed before that has no such queue. Nor has one that is killed in the middle of writing it, so we wait for
	// the text after it.
	if _, err := channel.QueueDeclare("after", true, false, false, false, nil); err != nil {
		t.Fatal(err)
	}
	for !defined(t, s.Directory()) {
		select {
		case <-t.Context().Done():
			t.Fatal("the queue's definition came into no file")
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// defined is whether a file of the database of definitions has the queue "after".
func defined(t *testing.T, directory string) (found bool) {
	t.Helper()
	name := []byte("m\x00\x00\x00\x05after") // a binary in Erlang's external term format
	err := filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return nil //nolint:nilerr // what came and went is of no interest
		}
		if base := entry.Name(); base != "LATEST.LOG" && !strings.HasPrefix(base, "rabbit_durable_queue.DC") {
			return nil
		}
		text, err := os.ReadFile(path)
		found = found || err == nil && bytes.Contains(text, name)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// get takes a message out of the queue.
func get(t *testing.T, s *rabbitmq.Server) string {
	t.Helper()
	message, ok, err := channel(t, s).Get("test", true)
	if err != nil || !ok {
		t.Fatal("nothing is in the queue:", err)
	}
	return string(message.Body)
}

// channel opens a channel for the time of the test.
func channel(t *testing.T, s *rabbitmq.Server) *amqp.Channel {
	t.Helper()
	conn, err := amqp.Dial(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	channel, err := conn.Channel()
	if err != nil {
		t.Fatal(err)
	}
	return channel
}

// parentVariable has this binary start a server, tell where, and wait.
const parentVariable = "WIRELAB_TEST_PARENT"

func TestMain(m *testing.M) {
	if parent := os.Getenv(parentVariable); parent != "" {
		s, err := rabbitmq.Start(context.Background(), rabbitmq.Options{Parent: parent})
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(s.Directory())
		select {}
	}
	os.Exit(m.Run())
}

// A server whose starter is killed dies with it, all its processes, and the next
// start removes what it leaves.
func TestStarterKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts two servers more")
	}
	rabbitmqtest.Need(t)
	t.Parallel()
	parent := open(t)
	command := exec.Command(os.Args[0], "-test.run=^$")
	command.Env = append(os.Environ(), parentVariable+"="+parent)
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	directory, err := bufio.NewReader(out).ReadString('\n')
	directory = strings.TrimSpace(directory)
	if err != nil || !strings.HasPrefix(directory, parent) {
		t.Fatalf("it said %q: %v", directory, err)
	}
	if err := command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = command.Wait() // killed
	deadline := time.Now().Add(5 * time.Minute)
	for len(members(t, directory)) > 0 {
		if time.Now().After(deadline) {
			t.Fatalf("processes %v outlive who started them", members(t, directory))
		}
		time.Sleep(10 * time.Millisecond) // nothing tells that a process of another's ended
	}
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(directory, "owned.lock"), old, old); err != nil {
		t.Fatal(err)
	}
	rabbitmqtest.Need(t)
	if _, err := rabbitmq.Start(t.Context(), rabbitmq.Options{Parent: parent, Settings: []rabbitmq.Setting{
		{Name: "no.such", Value: "setting"},
	}}); err == nil {
		t.Error("a server with a wrong setting started")
	} else if !strings.Contains(err.Error(), "no.such") {
		t.Errorf("the error does not tell which setting is wrong: %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(parent, "*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}
