package launch_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"wirelab"
	"wirelab/internal/affinity"
	"wirelab/internal/prereq"
	"wirelab/internal/process"
	"wirelab/lab/control"
	"wirelab/lab/launch"
	"wirelab/lab/probe"
)

// spec starts the test binary in one of its parts.
func spec(name string) launch.Spec {
	self, err := filepath.Abs(os.Args[0])
	if err != nil {
		self = os.Args[0]
	}
	return launch.Spec{
		Name: "server of shop", Run: []string{self}, Env: []string{part + "=" + name},
		StartTime: time.Minute, Grace: time.Hour,
	}
}

func begin(t *testing.T, s launch.Spec) *launch.Process {
	t.Helper()
	p, err := launch.Start(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Kill()
		_ = p.Stop()
	})
	return p
}

func get(t *testing.T, p *launch.Process, path string) []byte {
	t.Helper()
	response, err := http.Get("http://" + p.Ready().Address + path)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// stopped stops a server, and fails if one of its processes still lives.
func stopped(t *testing.T, p *launch.Process, family []process.TreeProcess) {
	t.Helper()
	if err := p.Stop(); err != nil {
		t.Errorf("stopped with %v", err)
	}
	if left, err := process.InGroup(p.PID()); err != nil || len(left) > 0 {
		t.Errorf("of the group there live %v: %v", left, err)
	}
	for _, one := range family {
		for end := time.Now().Add(time.Minute); one.Lives(); time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("process %d lives on", one.PID)
			}
		}
	}
}

// A server of each kind is ready when it signals so in its way, can be called at its reported address, is accounted
// for, and ends when stopped.
func TestServers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		part  string
		ready launch.Ready
		http  bool
	}{
		{"http", "", true},
		{"http", launch.TCP, true},
		{"http", "http:/healthz", true},
		{"https", "https:/healthz", false},
		{"grpc", launch.GRPC, false},
		{"grpc", launch.TCP, false},
		{"line", launch.Line, true},
		{"line", launch.TCP, true}, // the line counts although another way was asked for
		{"chatty", launch.TCP, true},
	} {
		t.Run(c.part+" "+string(c.ready), func(t *testing.T) {
			t.Parallel()
			s := spec(c.part)
			s.Ready = c.ready
			var all bytes.Buffer
			s.Stderr = &all
			p := begin(t, s)
			if c.http {
				get(t, p, "/told")
			}
			before, err := p.CPU()
			if err != nil || before <= 0 {
				t.Errorf("CPU time %v, %v", before, err)
			}
			reply, err := p.Ask(t.Context(), control.Order{Usage: &struct{}{}})
			if err != nil {
				t.Fatal(err)
			}
			if u := reply.Usage; u == nil || time.Duration(u.CPU) < before || u.ResidentBytes == 0 ||
				u.Allocations != nil {
				t.Errorf("it used %+v after %v", reply.Usage, before)
			}
			if used, err := p.Used(); err != nil || used.PeakBytes < used.Usage.ResidentBytes || len(used.Living) != 1 {
				t.Errorf("it used %+v, %v", used, err)
			}
			if _, err := p.Ask(t.Context(),
				control.Order{Leave: &struct{}{}}); wirelab.CodeOf(err) != wirelab.Unimplemented {
				t.Errorf("an order that it does not know: %v", err)
			}
			stopped(t, p, nil)
			if p.Forced() {
				t.Error("it had to be killed")
			}
			if c.part == "chatty" && all.Len() < 100*100_000 {
				t.Errorf("%d bytes of what it wrote came through", all.Len())
			}
			if _, err := p.CPU(); err == nil || !strings.Contains(err.Error(), "server of shop was stopped") {
				t.Errorf("after the end: %v", err)
			}
		})
	}
}

// A server gets its port by environment and arguments, and its folder and environment.
func TestWhatAServerIsTold(t *testing.T) {
	t.Parallel()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := spec("http")
	s.Run = append(s.Run, "--port=$PORT", "${PORT}", "{port}", "{host}:{port}", "$HOST", "$OTHER")
	s.Env = append(s.Env, "OWN=mine", "PORT=1")
	s.Dir = folder
	p := begin(t, s)
	var told struct {
		Args                 []string
		Port, Host, Own, Dir string
	}
	if err := json.Unmarshal(get(t, p, "/told"), &told); err != nil {
		t.Fatal(err)
	}
	_, port, _ := strings.Cut(p.Ready().Address, ":")
	want := []string{"--port=" + port, port, port, "127.0.0.1:" + port, "127.0.0.1", "$OTHER"}
	if !slices.Equal(told.Args, want) || told.Port != port || told.Host != "127.0.0.1" ||
		told.Own != "mine" || told.Dir != folder {
		t.Errorf("it was told %+v, want %v", told, want)
	}
}

// After Stop no process of a server lives: not its workers, not those that ignore the signal, not an orphan of its
// group, and not a worker in a separate session.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	s := spec("family")
	s.Grace = time.Millisecond
	p := begin(t, s)
	var used probe.GroupUse
	// The server, its worker, the worker's worker, an orphan, and one in a separate session.
	for end := time.Now().Add(time.Minute); len(used.Living) != 5 || !both(p); time.Sleep(time.Millisecond) {
		var err error
		if used, err = p.Used(); err != nil || time.Now().After(end) {
			t.Fatalf("there live %v: %v", used.Living, err)
		}
	}
	if group, err := process.InGroup(p.PID()); err != nil || len(group) != 4 {
		t.Errorf("in the group are %v, want all but one: %v", group, err)
	}
	stopped(t, p, used.Living)
	if !p.Forced() {
		t.Error("what ignores the signal ended by it")
	}
}

// both reports whether the two processes that ignore the signal have set that up.
func both(p *launch.Process) bool {
	return strings.Count(strings.Join(p.Words(99), "\n"), "no signal ends this one") == 2
}

// A server that ignores the signal is killed. This is not a failure, but is reported.
func TestStubbornServer(t *testing.T) {
	t.Parallel()
	s := spec("stubborn")
	s.Grace = time.Millisecond
	p := begin(t, s)
	stopped(t, p, nil)
	if !p.Forced() {
		t.Error("it is not told that it was killed")
	}
}

// If a server does not become ready, the error says why, with the server's last words, and no process of it is left.
func TestServersThatAreNotReady(t *testing.T) {
	t.Parallel()
	const soon = 200 * time.Millisecond // usually enough to start a process; if not, the outcome is the same
	for _, c := range []struct {
		part  string
		ready launch.Ready
		time  time.Duration
		want  []string
	}{
		{"stillborn", "", time.Hour, []string{
			"server of shop died before it was ready: exit status 1", "reading shop.conf | shop.conf: no such file",
		}},
		{"done", "", time.Hour, []string{"ended by itself before it was ready, and reported no error"}},
		{"mute", "", soon, []string{
			"server of shop was not ready: it got 200ms", "waited for a connection to 127.0.0.1:", "refused",
		}},
		{"mute", launch.Line, soon, []string{`waited for a line {"ready"`, "it printed no such line"}},
		{"healthless", launch.GRPC, time.Hour, []string{
			"it never will be", "grpc.health.v1.Health/Check at 127.0.0.1:", "wait for tcp",
		}},
		{"http", "http:/nowhere", soon, []string{"GET http://127.0.0.1:", "/nowhere to be answered with 2xx"}},
		{"http", "http:/moved", soon, []string{"/moved to be answered with 2xx"}},
		{"http", "https:/healthz", soon, []string{"GET https://127.0.0.1:"}},
		{"deaf", launch.GRPC, soon, []string{"to answer SERVING"}},
	} {
		t.Run(c.part+" "+string(c.ready), func(t *testing.T) {
			t.Parallel()
			s := spec(c.part)
			s.Ready, s.StartTime = c.ready, c.time
			p, err := launch.Start(t.Context(), s)
			if err == nil {
				p.Kill()
				_ = p.Stop()
				t.Fatal("it is said to be ready")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v\nwant %q", err, want)
				}
			}
			if wirelab.CodeOf(err) != wirelab.Unavailable {
				t.Errorf("code %v", wirelab.CodeOf(err))
			}
		})
	}
}

// If the start is cancelled, its error is the cause, and no process of the server is left.
func TestStartThatIsGivenUp(t *testing.T) {
	t.Parallel()
	why := errors.New("the user went home")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	s := spec("stubborn")
	s.Ready = launch.Line
	s.Stderr = writer(func() { cancel(why) })
	if _, err := launch.Start(ctx, s); !errors.Is(err, why) || !strings.Contains(err.Error(), "was not ready yet") {
		t.Errorf("the start ended with %v", err)
	}
}

// writer calls a function when it is written to.
type writer func()

func (w writer) Write(p []byte) (int, error) {
	w()
	return len(p), nil
}

// A server runs only on its CPUs.
func TestCores(t *testing.T) {
	t.Parallel()
	var ours, its unix.CPUSet
	if err := unix.SchedGetaffinity(0, &ours); err != nil {
		t.Fatal(err)
	}
	core := 0
	for !ours.IsSet(core) {
		core++
	}
	s := spec("http")
	s.CPUs = []int{core}
	p := begin(t, s)
	if err := unix.SchedGetaffinity(p.PID(), &its); err != nil || its.Count() != 1 || !its.IsSet(core) {
		t.Errorf("it may run on %d cores: %v", its.Count(), err)
	}
}

// A server in another network namespace is checked for readiness there.
func TestNamespace(t *testing.T) {
	t.Parallel()
	prereq.NeedNamespaces(t)
	space, err := affinity.NewNamespace()
	if err != nil {
		t.Fatal(err)
	}
	defer space.Close()
	ip, err := prereq.FindTool("ip")
	if err != nil {
		t.Fatal(err)
	}
	up := exec.Command(ip, "link", "set", "lo", "up")
	if err := errors.Join((affinity.Place{Namespace: space}).Start(up), up.Wait()); err != nil {
		t.Fatal(err)
	}
	for part, ready := range map[string]launch.Ready{
		"http": "http:/healthz", "https": "https:/healthz", "grpc": launch.GRPC,
	} {
		s := spec(part)
		s.Ready, s.Namespace = ready, space
		p := begin(t, s)
		if conn, err := net.Dial("tcp", p.Ready().Address); err == nil {
			conn.Close()
			t.Errorf("%s can be reached at %s from here", part, p.Ready().Address)
		}
		stopped(t, p, nil)
	}
}

// If a server listens at another address, the error says so.
func TestServerThatListensElsewhere(t *testing.T) {
	t.Parallel()
	s := spec("elsewhere")
	for s.StartTime = 100 * time.Millisecond; ; s.StartTime *= 2 { // until it has begun to listen
		_, err := launch.Start(t.Context(), s)
		if err == nil {
			t.Fatal("it is said to be ready")
		}
		if said := err.Error(); strings.Contains(said, "and listens at 127.0.0.1:") &&
			strings.Contains(said, "have it listen at $HOST:$PORT, which is 127.0.0.1:") {
			return
		}
		if s.StartTime > time.Minute {
			t.Fatal(err)
		}
	}
}

// The death of a server is noticed, and every later call returns how it died.
func TestServerThatDies(t *testing.T) {
	t.Parallel()
	p := begin(t, spec("http"))
	select {
	case <-p.Done():
		t.Error("it is over before it died")
	default:
	}
	_, _ = http.Get("http://" + p.Ready().Address + "/die") //nolint:bodyclose // it does not reply
	<-p.Done()
	const want = "server of shop died: exit status 3; its last words: out of luck"
	_, err := p.Ask(t.Context(), control.Order{Usage: &struct{}{}})
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("asked: %v", err)
	}
	if err := p.Stop(); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("stopped: %v", err)
	}
	if got := p.Words(1); !slices.Equal(got, []string{"out of luck"}) {
		t.Errorf("last words %q", got)
	}
}

// If a server cannot be started, the error says what to do.
func TestWhatCannotBeStarted(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for name, mode := range map[string]os.FileMode{"plain": 0o600, "text": 0o700} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("no program"), mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name string
		spec launch.Spec
		code wirelab.Code
		want string
	}{
		{
			"no such file",
			launch.Spec{Run: []string{"./shop"}, Dir: folder},
			wirelab.NotFound, "there is no program ./shop in " + folder + "; build it first",
		},
		{
			"not on the path",
			launch.Spec{Run: []string{"no-such-shop"}},
			wirelab.NotFound, "there is no program no-such-shop; build it first",
		},
		{
			"no folder",
			launch.Spec{Run: []string{"true"}, Dir: folder + "/none"},
			wirelab.NotFound, "there is no folder " + folder + "/none",
		},
		{"no program", launch.Spec{Run: []string{"./plain"}, Dir: folder}, wirelab.NotFound, "chmod +x"},
		{"text", launch.Spec{Run: []string{"./text"}, Dir: folder}, wirelab.NotFound, "begins with #!"},
		{"nothing", launch.Spec{}, wirelab.InvalidArgument, "no command"},
		{
			"a name as host",
			launch.Spec{Run: []string{"true"}, Host: "localhost"},
			wirelab.InvalidArgument, "not an IP address",
		},
		{
			"a way that is not known",
			launch.Spec{Run: []string{"true"}, Ready: "udp"},
			wirelab.InvalidArgument, `"udp" is not known; write tcp`,
		},
	} {
		_, err := launch.Start(t.Context(), c.spec)
		if err == nil || wirelab.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func TestParseReady(t *testing.T) {
	t.Parallel()
	for text, ok := range map[string]bool{
		"": true, "tcp": true, "grpc": true, "line": true, "http:/": true, "https:/healthz?deep=1": true,
		"http": false, "http:": false, "http://localhost/x": false, "http:/a b\x7f": false, "TCP": false,
		"http:healthz": false,
	} {
		if got, err := launch.ParseReady(text); (err == nil) != ok || ok && text != "" && string(got) != text {
			t.Errorf("%q is read as %q, %v", text, got, err)
		}
	}
}
