package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"wirelab"
	"wirelab/broker"
	"wirelab/broker/jetstream"
	"wirelab/broker/kinds"
	"wirelab/broker/workqueue"
	"wirelab/cmd/internal/desk"
	"wirelab/pipeline/journal"
	"wirelab/pipeline/stack"
	"wirelab/system/nats"
	natsserver "wirelab/system/nats/server"
	"wirelab/system/postgres/postgrestest"
	"wirelab/system/rabbitmq"
	"wirelab/system/rabbitmq/rabbitmqtest"
	"wirelab/workload/logging"
	"wirelab/workload/logging/bind"
)

// rise runs "up logging" as a separate process until all is up.
func rise(t *testing.T, environment []string, args ...string) (*program, upStatus) {
	t.Helper()
	p, stdout := rising(t, environment, args...)
	p.until("all is up")
	said, err := os.ReadFile(stdout)
	if err != nil {
		t.Fatal(err)
	}
	return p, decode[upStatus](t, string(said))
}

// rising runs "up logging" as a process of its own, and returns the file of its
// standard output.
func rising(t *testing.T, environment []string, args ...string) (*program, string) {
	t.Helper()
	dir := t.TempDir()
	p := prepared(t, dir, environment, append([]string{"up", "logging", "--json"}, args...)...)
	stdout, err := os.Create(filepath.Join(dir, "stdout"))
	if err != nil {
		t.Fatal(err)
	}
	defer stdout.Close() // the child has its own by then
	p.command.Stdout = stdout
	p.start()
	return p, stdout.Name()
}

// interrupt presses Ctrl-C.
func (p *program) interrupt() {
	p.t.Helper()
	if err := p.command.Process.Signal(os.Interrupt); err != nil {
		p.t.Fatal(err)
	}
}

// posted is the gateway's reply.
type posted struct {
	Error   bool   `json:"error"`
	Message string `json:"message"`
	Data    struct {
		ID   string `json:"id"`
		Code string `json:"code"`
	} `json:"data"`
}

// post logs an entry by a path's URL.
func post(ctx context.Context, url string, e logging.Entry) (int, posted, error) {
	var reply posted
	body, err := json.Marshal(map[string]any{
		"action": "log",
		"log":    map[string]string{"id": e.ID, "name": e.Name, "data": e.Data},
	})
	if err != nil {
		return 0, reply, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return 0, reply, err
	}
	request.Header.Set("Content-Type", "application/json")
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // so that nothing of it is left over
	response, err := client.Do(request)
	if err != nil {
		return 0, reply, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, reply, err
	}
	return response.StatusCode, reply, json.Unmarshal(text, &reply)
}

// loggerAt is a stub of the logger of a pipeline, over plain HTTP.
func loggerAt(t *testing.T, parts []stack.Part) logging.Service {
	t.Helper()
	for _, p := range parts {
		if p.Name != stack.LoggerPart {
			continue
		}
		for _, b := range bind.Bindings() {
			if b.Protocol.Name == "http1-json" {
				service, closer, err := b.Clients[0].Dial(t.Context(),
					wirelab.Dialing{Address: p.Endpoints[stack.EndpointHTTP]})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = closer.Close() })
				return service
			}
		}
	}
	t.Fatal("there is no logger")
	return nil
}

// eventually waits until something holds, and fails the test where it does not
// within a minute.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for began := time.Now(); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Since(began) > time.Minute {
			t.Fatalf("%s: not within a minute", what)
		}
	}
}

// wantDead checks that the processes of a pipeline are gone: those of brokers
// have another environment than ours, and so are known by their ids alone.
func wantDead(t *testing.T, parts []stack.Part) {
	t.Helper()
	for _, part := range parts {
		eventually(t, "the end of "+part.Name, func() bool {
			state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", part.PID))
			if err != nil {
				return true
			}
			_, after, _ := strings.Cut(string(state), ") ")
			return strings.HasPrefix(after, "Z") // dead, and not collected by who has it now
		})
	}
}

// journals are what all parts noted, as "id what".
func journals(t *testing.T, parts []stack.Part) map[string]int {
	t.Helper()
	noted := map[string]int{}
	for _, p := range parts {
		if p.Journal == "" {
			continue
		}
		page, err := journal.Read(t.Context(), p.Journal, 0)
		if err != nil {
			t.Fatalf("%s: %v", p.Name, err)
		}
		for _, e := range page.Events {
			noted[e.ID+" "+e.What.String()]++
		}
	}
	http.DefaultClient.CloseIdleConnections()
	return noted
}

// The calls: an entry goes from a client through the gateway into the store by
// each, and is noted on its way by the wall clock; Ctrl-C ends all of it
// (ms-F13, F15, F20 to F22; ms-D15).
func TestUpLoggingCalls(t *testing.T) {
	t.Parallel()
	temporary := t.TempDir()
	p, up := rise(t, []string{"TMPDIR=" + temporary}, "--broker", "none", "--db", "embedded")
	if len(up.Parts) != 2 || up.Parts[0].Name != "logger" || !strings.HasPrefix(up.Parts[0].About, "SQLite") ||
		len(up.Paths) != 3 {
		t.Fatalf("up is %+v", up)
	}
	for i, url := range up.Paths {
		e := logging.Entry{ID: fmt.Sprintf("e-%d", i), Name: "event", Data: url}
		if status, reply, err := post(t.Context(), url, e); err != nil || status != http.StatusAccepted ||
			reply.Message != "logged" || reply.Data.ID != e.ID {
			t.Errorf("%s: %d %+v, %v", url, status, reply, err)
		}
	}
	if status, reply, err := post(t.Context(), up.Gateway+"/handle",
		logging.Entry{ID: "h", Name: "event"}); err != nil || status != http.StatusAccepted {
		t.Errorf("handle: %d %+v, %v", status, reply, err)
	}
	list, err := loggerAt(t, up.Parts).ListEntries(t.Context(), logging.Query{Name: "event"})
	if err != nil || len(list.Entries) != 4 || list.Entries[0].ID != "h" || list.Entries[3].ID != "e-0" ||
		list.Entries[3].Data != up.Paths[0] {
		t.Errorf("stored are %v, %v", list, err)
	}
	noted := journals(t, up.Parts)
	for _, id := range []string{"e-0", "e-1", "e-2", "h"} {
		for _, what := range []string{"accepted", "stored", "confirmed"} {
			if noted[id+" "+what] != 1 {
				t.Errorf("%s is noted as %s %d times", id, what, noted[id+" "+what])
			}
		}
	}
	if _, reply, err := post(t.Context(), up.Paths[0],
		logging.Entry{ID: "e-0", Name: "event", Data: up.Paths[0]}); err != nil || reply.Error {
		t.Errorf("the same again: %+v, %v", reply, err)
	}
	if noted = journals(t, up.Parts); noted["e-0 duplicate"] != 1 || noted["e-0 stored"] != 1 {
		t.Errorf("the same again is noted as %v", noted)
	}
	status, reply, err := post(t.Context(), up.Gateway+"/log-rabbit", logging.Entry{Name: "event"})
	if err != nil || status != http.StatusServiceUnavailable || reply.Data.Code != "unavailable" ||
		!strings.Contains(reply.Message, "without") {
		t.Errorf("a path that leads nowhere: %d %+v, %v", status, reply, err)
	}
	breakStore(t, temporary)
	for range 20 {
		if status, reply, err := post(t.Context(), up.Paths[1],
			logging.Entry{Name: "payload", Data: "secret data"}); err != nil ||
			status != http.StatusInternalServerError {
			t.Errorf("a broken store: %d %+v, %v", status, reply, err)
		}
	}
	p.interrupt()
	p.want(desk.ExitOK, "stopping", "part=logger", "failed: store an entry", "code=internal", "part=gateway",
		"failed: pass an entry on by log-grpc")
	if said := p.said.String(); strings.Contains(said, "secret data") || strings.Count(said, "failed: ") > 10 {
		t.Errorf("there is a line per message, or a message in a line:\n%s", said)
	}
	wantDead(t, up.Parts)
}

// breakStore takes the table from a logger's database, which is a fault of ours
// that callers are told nothing of.
func breakStore(t *testing.T, temporary string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(temporary, "*", "data.db"))
	if err != nil || len(files) != 1 {
		t.Fatalf("databases %v, %v", files, err)
	}
	db, err := sql.Open("sqlite", files[0])
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), "DROP TABLE entries"); err != nil {
		t.Fatal(err)
	}
}

// Every path there is, over the real brokers and PostgreSQL, ends in the store, and
// refuses what is wrong as the others do; neither leaves a line on anybody's standard
// error; and a kill -9 of the parent leaves no process behind, brokers' included.
func TestUpLoggingAll(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	postgrestest.Need(t)
	rabbitmqtest.Need(t)
	temporary := openTemporary(t)
	p, up := rise(t, []string{"TMPDIR=" + temporary, "WIRELAB_DB=", "XDG_STATE_HOME=" + temporary},
		"--broker", "rabbitmq,nats", "--direct", "--published", "--db", "postgres")
	if len(up.Paths) != 14 || len(up.Parts) != 8 {
		t.Fatalf("up is %+v", up)
	}
	wantTaken(t, up.Parts)
	for i, url := range up.Paths {
		e := logging.Entry{ID: fmt.Sprintf("e-%d", i), Name: "all", Data: url}
		if status, reply, err := post(t.Context(), url, e); err != nil || status != http.StatusAccepted ||
			reply.Data.ID != e.ID {
			t.Errorf("%s: %d %+v, %v", url, status, reply, err)
		}
	}
	service := loggerAt(t, up.Parts)
	for i, url := range up.Paths {
		id := fmt.Sprintf("e-%d", i)
		p.eventually(url, func() bool {
			stored, err := service.GetEntry(t.Context(), logging.EntryID{ID: id})
			return err == nil && stored.Data == url
		})
	}
	for i, url := range up.Paths {
		queued := 0
		if strings.Contains(url, "rabbit") || strings.Contains(url, "nats") {
			queued = 1
		}
		want := [4]int{1, 1, queued, 1}
		var is [4]int
		// A logger notes what it has stored after others can read it.
		p.eventually(url+" is noted", func() bool {
			noted := journals(t, up.Parts)
			for j, what := range []string{"accepted", "confirmed", "received", "stored"} {
				is[j] = noted[fmt.Sprintf("e-%d %s", i, what)]
			}
			return is == want || slices.Max(is[:]) > 1
		})
		if is != want {
			t.Errorf("%s is noted as accepted, confirmed, received, stored %v times, want %v", url, is, want)
		}
	}
	for _, part := range up.Parts {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", part.PID))
		if err != nil || strings.Contains(string(line), "amqp://") || strings.Contains(string(line), "nats://") ||
			strings.Contains(string(line), "postgres://") {
			t.Errorf("%s, by its command line %q, %v, tells others too much", part.Name, line, err)
		}
	}
	if all := strings.Join(inhabitants(t, temporary), "\n"); !strings.Contains(all, "erl_child_setup") ||
		strings.Contains(all, "epmd -daemon") {
		t.Errorf("there run\n%s", all)
	}
	refusesAlike(t, up)
	before := p.said.Len()
	if err := p.command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	p.end()
	if said := strings.Split(strings.TrimSpace(p.said.String()[before:]), "\n"); len(said) > 2*len(up.Parts) {
		t.Errorf("%d lines were said, at last: %s", len(said), said[max(0, len(said)-5):])
	}
	p.wantNoneLeft()
	wantDead(t, up.Parts)
	eventually(t, "the end of the servers' helpers", func() bool { return len(inhabitants(t, temporary)) == 0 })
}

// A broker that runs elsewhere is used, is no part of the pipeline, and keeps
// what it holds when that ends.
func TestUpLoggingBrokerElsewhere(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	at, ran := make(chan string, 1), make(chan error, 1)
	go func() { ran <- natsserver.Run(ctx, nats.Options{}, nil, func(url string) { at <- url }) }()
	url := <-at
	defer func() {
		stop()
		if err := <-ran; err != nil {
			t.Error(err)
		}
	}()
	there, err := jetstream.Open(t.Context(), broker.Config{Addresses: []string{url}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = there.Close() }()
	p, up := rise(t, []string{kinds.NATSVariable + "=" + url}, "--broker", "nats", "--db", "memory")
	if len(up.Parts) != 3 || up.Parts[0].Name != stack.LoggerPart {
		t.Errorf("up is %+v", up)
	}
	if status, reply, err := post(t.Context(), up.Gateway+"/log-nats", logging.Entry{ID: "a", Name: "n"}); err != nil ||
		status != http.StatusAccepted {
		t.Errorf("%d %+v, %v", status, reply, err)
	}
	service := loggerAt(t, up.Parts)
	p.eventually("the entry", func() bool {
		_, err := service.GetEntry(t.Context(), logging.EntryID{ID: "a"})
		return err == nil
	})
	p.interrupt()
	p.want(desk.ExitOK)
	if waiting, dead, err := workqueue.New(there).Depth(t.Context(),
		workqueue.Options{Name: stack.QueueName, Confirms: true, Persistent: true}); err != nil || waiting != 0 ||
		dead != 0 {
		t.Errorf("the queue holds %d and %d dead, %v", waiting, dead, err)
	}
}

// A part that dies is told with its last words, and ends the rest: half a
// pipeline that looks like one would be worse than none.
func TestUpLoggingAPartDies(t *testing.T) {
	t.Parallel()
	for _, name := range []string{stack.LoggerPart, stack.NATSServer} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, up := rise(t, nil, "--broker", "nats", "--db", "memory")
			for _, part := range up.Parts {
				if part.Name == name {
					if err := syscall.Kill(part.PID, syscall.SIGKILL); err != nil {
						t.Fatal(err)
					}
				}
			}
			p.want(desk.ExitFailed, "was killed (signal 9)", "the others are stopped")
			wantDead(t, up.Parts)
		})
	}
}

// Ctrl-C during the start ends the components that run already.
func TestUpLoggingInterruptedEarly(t *testing.T) {
	t.Parallel()
	p, _ := rising(t, nil, "--broker", "nats", "--db", "memory")
	p.until("nats is up")
	p.interrupt()
	if code := p.end(); code != desk.ExitNoWord && code != desk.ExitOK { // it may have been up just then
		t.Errorf("exit code %d:\n%s", code, p.said.String())
	}
	p.wantNoneLeft()
}

// Where RabbitMQ is not installed the rest comes up, says so, and tells callers
// of its path why; asked for by name it is an error. Nothing else stands in for it.
func TestUpLoggingWithoutRabbitMQ(t *testing.T) {
	t.Parallel()
	none := rabbitmq.BinVariable + "=" + t.TempDir()
	p, up := rise(t, []string{none}, "--db", "memory")
	status, reply, err := post(t.Context(), up.Gateway+"/log-rabbit", logging.Entry{Name: "event"})
	if err != nil || status != http.StatusServiceUnavailable || !strings.Contains(reply.Message, "rabbitmq-server") {
		t.Errorf("the path is described as %d %+v, %v", status, reply, err)
	}
	p.interrupt()
	p.want(desk.ExitOK, "no RabbitMQ", "--broker nats")
	s := newShell(t)
	s.env[rabbitmq.BinVariable] = t.TempDir()
	s.run("up", "logging", "--broker", "rabbitmq", "--db", "memory").wants(t, desk.ExitUsage, nil,
		[]string{"rabbitmq-server"})
}

// What is wrong with the command is told before anything is started, and a port
// that is taken as what it is.
func TestUpLoggingRefuses(t *testing.T) {
	t.Parallel()
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	taken := busy.Addr().String()
	for _, c := range []struct {
		args  string
		code  int
		words []string
	}{
		{
			"--broker none --addr " + taken, desk.ExitFailed,
			[]string{"--addr", taken, "another program uses this port", "port 0"},
		},
		{
			"--broker none --logger-grpc " + taken, desk.ExitFailed,
			[]string{"--logger-grpc", "another program uses this port"},
		},
		{"--broker none --addr 8080", desk.ExitUsage, []string{"host:port"}},
		{"--broker kafka", desk.ExitUsage, []string{"kafka", "rabbitmq", "nats", "hermes", "none"}},
		{"--broker nats,nats", desk.ExitUsage, []string{"twice"}},
		{"--broker none,nats", desk.ExitUsage, []string{"none"}},
		{"--broker none --direct", desk.ExitUsage, []string{"--direct"}},
		{"--broker nats --direct --db memory", desk.ExitUsage, []string{"--direct", "--db"}},
		{"--broker nats --queue quorum", desk.ExitUsage, []string{"--queue"}},
		{"--broker nats --hermes hermes://s3cret@127.0.0.1:9090", desk.ExitUsage, []string{"--hermes"}},
		{"--broker rabbitmq --queue mirrored", desk.ExitUsage, []string{"quorum", "classic"}},
		{"--broker nats --prefetch -1", desk.ExitUsage, []string{"prefetch"}},
		{"--broker nats --amqp amqp://me:s3cret@127.0.0.1/", desk.ExitUsage, []string{"--amqp"}},
		{"--broker none --db oracle", desk.ExitUsage, []string{"postgres", "embedded"}},
		{"--broker none 8080", desk.ExitUsage, []string{"no arguments"}},
	} {
		o := newShell(t).run(append([]string{"up", "logging"}, strings.Fields(c.args)...)...)
		o.wants(t, c.code, nil, c.words)
		if strings.Contains(o.stderr, "s3cret") || o.stdout != "" {
			t.Errorf("%s printed %s%s", c.args, o.stdout, o.stderr)
		}
	}
	newShell(t).run("up", "mailer").wants(t, desk.ExitUsage, nil, []string{"logging"})
}
