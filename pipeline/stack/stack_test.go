package stack_test

import (
	"context"
	"encoding/json"
	"errors"
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

	"go.uber.org/goleak"

	"wirelab"
	"wirelab/broker/workqueue"
	"wirelab/hermes/local"
	"wirelab/internal/leaktest"
	"wirelab/internal/programtest"
	"wirelab/lab/agent"
	"wirelab/lab/control"
	"wirelab/pipeline/health"
	"wirelab/pipeline/stack"
	"wirelab/system/nats"
)

// The test binary is its own program: with a part's configuration in the
// environment it plays that part. endings is the file that each appends its name
// to when it stops.
const endings = "WIRELAB_TEST_ENDINGS"

func TestMain(m *testing.M) {
	if text := os.Getenv(stack.Variable); text != "" {
		if err := play(os.Args[2], text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(leaktest.Patient(m), goleak.Cleanup(func(code int) {
		http.DefaultClient.CloseIdleConnections()
		_ = built.Close() // the folder is a temporary one
		os.Exit(code)
	}))
}

// built are the programs of brokers, from this source.
var built programtest.Shared

// programs finds the programs of brokers.
func programs(t *testing.T) (getenv func(string) string) {
	t.Helper()
	found := map[string]string{}
	for name, variable := range map[string]string{
		"hermes":       local.ProgramVariable,
		"wirelab-nats": nats.ProgramVariable,
	} {
		program, err := built.Build(name)
		if err != nil {
			t.Fatal(err)
		}
		found[variable] = program
	}
	return func(key string) string { return found[key] }
}

// play is a part that does nothing but to be there: it shows its configuration
// at /config of each door. What the database's source says it cannot do, it does not.
func play(name, text string) error {
	config, err := stack.ParseConfig(text)
	if err != nil {
		return err
	}
	does := ""
	if config.Logger != nil {
		does = config.Logger.Database.Source
	}
	if does == "fails" {
		return errors.New("the cellar is flooded")
	}
	var checks []health.Check
	if does == "sick" {
		checks = append(checks, health.Check{Name: "database", Ask: func(context.Context) error {
			return wirelab.Errorf(wirelab.Unavailable, "it is away")
		}})
	}
	mux := http.NewServeMux()
	mux.Handle("/", health.Handler(nil, checks...))
	mux.HandleFunc("/config", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) })
	ready := control.Ready{Endpoints: map[string]string{}, Database: "nothing 1.0"}
	for endpoint, address := range config.Listen {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			return err
		}
		ready.Endpoints[endpoint] = listener.Addr().String()
		go func() { _ = http.Serve(listener, mux) }() // ends with the process
	}
	err = agent.Part(context.Background(), name, func(ctx context.Context) error {
		<-ctx.Done()
		return nil
	}, ready, os.Stdin, os.Stdout)
	file, failed := os.OpenFile(os.Getenv(endings), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if failed == nil {
		_, _ = file.WriteString(name + " ")
		_ = file.Close()
	}
	return err
}

// options are those of a pipeline with all there is, but for RabbitMQ, which the
// tests of the program start.
func options(t *testing.T, source string) stack.Options {
	t.Helper()
	return stack.Options{
		Getenv: programs(t), Program: os.Args[0], Database: wirelab.DatabaseAddress{Kind: "embedded", Source: source},
		Published: true,
		Brokers: []stack.Broker{
			{Kind: stack.NATSServer, Queue: workqueue.Options{Prefetch: 7}, Direct: true},
			{Kind: stack.RabbitMQ, URL: "amqp://elsewhere", Queue: workqueue.Options{Name: "other"}, OverHTTP: true},
		},
	}
}

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

// configOf asks a part what it was told to be.
func configOf(t *testing.T, address string) stack.Config {
	t.Helper()
	response, err := http.Get("http://" + address + "/config")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	config, err := stack.ParseConfig(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return config
}

func part(t *testing.T, s *stack.Stack, name string) stack.Part {
	t.Helper()
	p, err := s.Part(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A pipeline is started in the order in which its parts need each other, each is
// told where those before it are, and it is stopped in the other order; nothing
// is left.
func TestPipeline(t *testing.T) {
	file := filepath.Join(t.TempDir(), "endings")
	t.Setenv(endings, file)
	o := options(t, "a file")
	t.Setenv("TMPDIR", t.TempDir())
	var said []string
	o.Say = func(p stack.Part) { said = append(said, p.Name) }
	s, err := stack.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	order := []string{"nats", "logger", "listener-nats", "listener-nats-direct", "listener-rabbit", "gateway"}
	if !slices.Equal(said, order) {
		t.Errorf("started %v, want %v", said, order)
	}
	loggers, at := part(t, s, "logger").Endpoints, part(t, s, "nats").Endpoints["nats"]
	if len(loggers) != 4 || part(t, s, "logger").About != "nothing 1.0" {
		t.Errorf("the logger is %+v", part(t, s, "logger"))
	}
	of := func(name, endpoint string) stack.Config { return configOf(t, part(t, s, name).Endpoints[endpoint]) }
	if c := of("listener-nats", "watch").Listener; c.GRPC != loggers["grpc"] || c.HTTP != "" || c.Database != nil ||
		!strings.HasSuffix(c.Queue.URL, "@"+at) || c.Queue.Options.Name != stack.QueueName ||
		c.Queue.Options.Prefetch != 7 {
		t.Errorf("the listener is told %+v", c)
	}
	if c := of("listener-nats-direct", "watch").Listener; c.GRPC != "" || c.HTTP != "" || c.Database == nil ||
		c.Database.Source != "a file" || c.Queue.Options.Name != stack.QueueName+"-direct" {
		t.Errorf("the direct listener is told %+v", c)
	}
	if c := of("listener-rabbit", "watch").Listener; c.HTTP != loggers["http"] || c.Queue.URL != "amqp://elsewhere" ||
		c.Queue.Options.Name != "other" {
		t.Errorf("the listener of a broker elsewhere is told %+v", c)
	}
	g := of("gateway", "http").Gateway
	if g.HTTP != loggers["http"] || g.GRPC != loggers["grpc"] || g.RPC != loggers["net/rpc"] || !g.Published ||
		len(g.Queues) != 3 ||
		!strings.HasSuffix(g.Queues["log-nats"].URL, "@"+at) ||
		g.Queues["log-nats-direct"].Options.Name != stack.QueueName+"-direct" ||
		g.Queues["log-rabbit"].Broker != "rabbitmq" {
		t.Errorf("the gateway is told %+v", g)
	}
	if got := strings.Join(s.Paths(), " "); got != "log-http log-grpc log-rpc log-nats log-nats-direct log-rabbit "+
		"log-http-published log-grpc-published log-rpc-published log-nats-published log-nats-direct-published "+
		"log-rabbit-published" {
		t.Errorf("paths %s", got)
	}
	parts := s.Parts()
	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	for _, p := range parts {
		if alive(p.PID) {
			t.Errorf("%s is still there", p.Name)
		}
	}
	slices.Reverse(order)
	order = order[:len(order)-1] // the broker is no part of ours, and says nothing
	if text, err := os.ReadFile(file); err != nil || strings.TrimSpace(string(text)) != strings.Join(order, " ") {
		t.Errorf("stopped %q, %v, want %v", text, err, order)
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("left in the folder for temporary files: %v, %v", left, err)
	}
	select {
	case death := <-s.Died():
		t.Errorf("a part that was stopped is told to have died: %v", death)
	default:
	}
}

// A part that is killed is gone, is back at the same addresses when it is
// started again, while the others go on, and is nobody's surprise; one that dies
// by itself is told, with how.
func TestKillAndRestart(t *testing.T) {
	t.Setenv(endings, filepath.Join(t.TempDir(), "endings"))
	o := options(t, "a file")
	o.Brokers = o.Brokers[:1]
	s, err := stack.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Stop(context.WithoutCancel(t.Context())); err == nil || !strings.Contains(err.Error(), "killed") {
			t.Errorf("stop: %v, want how the gateway ended", err)
		}
	}()
	before, gateway := part(t, s, "logger"), part(t, s, "gateway")
	if err := s.Kill(t.Context(), "logger"); err != nil {
		t.Fatal(err)
	}
	if p := part(t, s, "logger"); p.PID != 0 || alive(before.PID) {
		t.Errorf("after a kill: %+v, process %d alive %v", p, before.PID, alive(before.PID))
	}
	for _, again := range []string{"killed", "running", "halted"} {
		if again == "halted" {
			if err := s.Halt(t.Context(), "logger"); err != nil {
				t.Error(err)
			}
		}
		if err := s.Restart(t.Context(), "logger"); err != nil {
			t.Fatalf("%s: %v", again, err)
		}
		after := part(t, s, "logger")
		if after.PID == before.PID || !alive(after.PID) || fmt.Sprint(after.Endpoints) != fmt.Sprint(before.Endpoints) {
			t.Errorf("%s, and started again: %+v, was %+v", again, after, before)
		}
	}
	if p := part(t, s, "gateway"); p.PID != gateway.PID || !alive(p.PID) {
		t.Errorf("the gateway did not go on: %+v, was %+v", p, gateway)
	}
	select {
	case death := <-s.Died():
		t.Errorf("a part that was killed here is told to have died: %v", death)
	default:
	}
	if err := syscall.Kill(gateway.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if death := <-s.Died(); death.Name != "gateway" ||
		!strings.Contains(death.Err.Error(), "gateway died: signal: killed") {
		t.Errorf("told %v", death)
	}
	for _, do := range []func(context.Context, string) error{s.Kill, s.Halt, s.Restart} {
		if err := do(t.Context(), "mailer"); err == nil || wirelab.CodeOf(err) != wirelab.InvalidArgument ||
			!strings.Contains(err.Error(), "listener-nats") {
			t.Errorf("a part that there is not: %v", err)
		}
	}
}

// What cannot come up says why, and leaves nothing running.
func TestStartFails(t *testing.T) {
	file := filepath.Join(t.TempDir(), "endings")
	t.Setenv(endings, file)
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	taken := options(t, "a file")
	taken.Listen = map[string]map[string]string{"gateway": {"http": busy.Addr().String()}}
	nowhere := options(t, "a file")
	nowhere.Program = "/no/such/program"
	for _, c := range []struct {
		why     string
		options stack.Options
		words   string
		ended   string
	}{
		{
			"a part that fails", options(t, "fails"),
			"logger died: exit status 1; its last words: the cellar is flooded",
			"",
		},
		{
			"a part that is not well", options(t, "sick"),
			"logger runs, but is not well: unavailable: database: it is away", "logger ",
		},
		{
			"a port that is taken", taken, "address already in use",
			"listener-rabbit listener-nats-direct listener-nats logger ",
		},
		{"a program that is not there", nowhere, "no such file", ""},
	} {
		t.Run(c.why, func(t *testing.T) {
			limit := time.Minute
			if strings.Contains(c.words, "not well") {
				limit = 2 * time.Second // which is waited for
			}
			var err error
			for said := false; !said; limit *= 4 { // a busy machine needs it to start the part
				_ = os.Remove(file)
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				var s *stack.Stack
				s, err = stack.Start(ctx, c.options)
				cancel()
				if err == nil {
					t.Fatalf("it came up: %v", s.Stop(t.Context()))
				}
				said = strings.Contains(err.Error(), c.words) || limit >= time.Minute
			}
			if !strings.Contains(err.Error(), c.words) {
				t.Errorf("%v, want %s", err, c.words)
			}
			if ended, _ := os.ReadFile(file); string(ended) != c.ended {
				t.Errorf("stopped %q, want %q", ended, c.ended)
			}
		})
	}
}

// What makes no sense is refused before anything is started.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why     string
		options stack.Options
		words   string
	}{
		{"a broker nobody knows", stack.Options{Brokers: []stack.Broker{{Kind: "kafka"}}}, "rabbitmq"},
		{"a broker twice", stack.Options{Brokers: []stack.Broker{
			{Kind: "nats", URL: "nats://a"},
			{Kind: "nats", URL: "nats://b"},
		}}, "twice"},
		{
			"storing in another's memory",
			stack.Options{Brokers: []stack.Broker{{Kind: "nats", URL: "nats://a", Direct: true}}},
			"memory",
		},
	} {
		if s, err := stack.Start(t.Context(), c.options); err == nil || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %v, %v, want %s", c.why, s, err, c.words)
		}
	}
}

// A configuration comes back as it was, and what is none is refused without
// being shown: it may hold passwords.
func TestConfig(t *testing.T) {
	t.Parallel()
	good := stack.Config{
		Listen: map[string]string{"http": "127.0.0.1:0"},
		Gateway: &stack.Gateway{HTTP: "a:1", Queues: map[string]stack.Queue{
			"log-nats": {
				Broker: "nats", URL: "nats://x",
				Options: workqueue.Options{Name: "q", Confirms: true, Retry: time.Second},
			},
		}},
	}
	text, err := json.Marshal(good)
	if err != nil {
		t.Fatal(err)
	}
	back, err := stack.ParseConfig(string(text))
	if err != nil || back.Gateway.Queues["log-nats"] != good.Gateway.Queues["log-nats"] ||
		back.Listen["http"] != "127.0.0.1:0" {
		t.Errorf("%+v, %v", back, err)
	}
	for why, text := range map[string]string{
		"nothing": "", "no JSON": "s3cret", "no part": `{"listen":{"s3cret":""}}`,
		"two parts": `{"logger":{"database":{"Source":"s3cret"}},"gateway":{}}`,
	} {
		_, err := stack.ParseConfig(text)
		if err == nil || wirelab.CodeOf(err) != wirelab.InvalidArgument || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", why, err)
		}
	}
}
