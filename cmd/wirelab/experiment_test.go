package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"wirelab/cmd/internal/cli"
	"wirelab/cmd/internal/desk"
	"wirelab/internal/porttest"
	"wirelab/internal/prereq"
	"wirelab/lab/result"
	"wirelab/results/measure"
	"wirelab/results/store"
	"wirelab/results/store/storetest"
)

// asProgram is set in processes that are to be wirelab itself: the test
// binary then is the program, and so are the servers and drivers it starts.
const asProgram = "WIRELAB_TEST_PROGRAM"

// program is one wirelab process and what it started.
type program struct {
	t       *testing.T
	command *exec.Cmd
	mark    string // in the environment of it and of all it starts
	stdout  bytes.Buffer
	stderr  *bufio.Reader
	said    strings.Builder // of stderr, as far as read
	over    chan struct{}   // closed once it has ended, by itself or killed
}

// begin starts wirelab in a separate directory with a store there.
func begin(t *testing.T, dir string, args ...string) *program {
	t.Helper()
	return beginWith(t, dir, nil, args...)
}

// beginWith is begin with more in the environment.
func beginWith(t *testing.T, dir string, environment []string, args ...string) *program {
	t.Helper()
	p := prepared(t, dir, append([]string{measure.CertificateEnv + "=" + measure.CertificateNone}, environment...),
		args...)
	p.command.Stdout = &p.stdout
	p.start()
	return p
}

// prepared is wirelab as a separate process that has not started yet.
func prepared(t *testing.T, dir string, environment []string, args ...string) *program {
	p := &program{t: t, command: exec.Command(os.Args[0], args...), mark: filepath.Join(dir, "results.db")}
	p.command.Dir = dir
	p.command.Env = append(os.Environ(), asProgram+"=1", "WIRELAB_STORE="+p.mark)
	if strings.Contains(strings.Join(args, " "), "nats") {
		p.command.Env = append(p.command.Env, natsProgram(t))
	}
	p.command.Env = append(p.command.Env, environment...)
	return p
}

// start starts what was prepared.
func (p *program) start() {
	p.t.Helper()
	stderr, err := p.command.StderrPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	p.stderr = bufio.NewReader(stderr)
	if err := p.command.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.over = make(chan struct{})
	go p.watch(stderr.(*os.File))
	// A test that fails half way must leave nothing behind either.
	p.t.Cleanup(func() {
		for pid := range p.processes("") {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
}

// watch notes that it has ended, and leaves it to be collected by [program.end]. What it
// left running may hold standard error for longer: nobody waits for that for good.
func (p *program) watch(stderr *os.File) {
	defer close(p.over)
	for errors.Is(unix.Waitid(unix.P_PID, p.command.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
	}
	_ = stderr.SetReadDeadline(time.Now().Add(time.Minute))
}

// eventually waits until something holds of a program that runs. It fails the test at
// once, with what the program said, where it ends before.
func (p *program) eventually(what string, holds func() bool) {
	p.t.Helper()
	last, limited := p.t.Deadline()
	for over := false; !holds(); {
		switch {
		case over:
			p.t.Fatalf("it ended with exit code %d before this: %s\n%s", p.end(), what, p.said.String())
		case limited && time.Until(last) < 10*time.Second: // later only the stacks of all tests would be told
			p.t.Fatalf("the tests' time is over before this: %s", what)
		}
		select {
		case <-p.over:
			over = true // what it did at last counts too
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// until reads standard error up to a line that holds text.
func (p *program) until(text string) {
	p.t.Helper()
	p.untilMatches(regexp.MustCompile(regexp.QuoteMeta(text)))
}

func (p *program) untilMatches(wanted *regexp.Regexp) {
	p.t.Helper()
	for {
		line, err := p.stderr.ReadString('\n')
		p.said.WriteString(line)
		if wanted.MatchString(line) {
			return
		}
		if err != nil {
			p.t.Fatalf("standard error ended without %q:\n%s", wanted, p.said.String())
		}
	}
}

// untilRound reads standard error until a round is over. A slow machine says before that
// that it is under way.
func (p *program) untilRound(n int) {
	p.t.Helper()
	p.untilMatches(regexp.MustCompile(fmt.Sprintf(`round %d\b.* · done after `, n)))
}

// within asks the program for its goroutines' stacks, which ends it, if it has
// not ended after so long: a test that only ran out of time would not say where.
func (p *program) within(patience time.Duration) *program {
	quit := time.AfterFunc(patience, func() { _ = p.command.Process.Signal(syscall.SIGQUIT) })
	p.t.Cleanup(func() { quit.Stop() })
	return p
}

// end waits and returns the exit code.
func (p *program) end() int {
	p.t.Helper()
	rest, err := io.ReadAll(p.stderr)
	p.said.Write(rest)
	if err != nil { // a process that it left holds standard error
		p.t.Fatalf("standard error: %v; running: %v\n%s", err, p.processes(""), p.said.String())
	}
	_ = p.command.Wait() // the code tells
	return p.command.ProcessState.ExitCode()
}

// processes are those that p is or started, with their command lines, if they
// hold word.
func (p *program) processes(word string) map[int]string {
	found := map[int]string{}
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		environment, _ := os.ReadFile("/proc/" + entry.Name() + "/environ")
		if !bytes.Contains(environment, []byte("WIRELAB_STORE="+p.mark+"\x00")) {
			continue
		}
		line, _ := os.ReadFile("/proc/" + entry.Name() + "/cmdline")
		if text := string(bytes.ReplaceAll(line, []byte{0}, []byte{' '})); strings.Contains(text, word) &&
			len(line) > 0 {
			found[pid] = text
		}
	}
	return found
}

// wantNoneLeft checks that no process stayed behind. One that was killed may
// take a moment to be gone.
func (p *program) wantNoneLeft() {
	p.t.Helper()
	var left map[int]string
	for began := time.Now(); time.Since(began) < time.Minute; {
		if left = p.processes(""); len(left) == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	p.t.Errorf("processes stayed behind: %v", left)
}

func (p *program) want(code int, stderr ...string) {
	p.t.Helper()
	if got := p.end(); got != code {
		p.t.Errorf("exit code %d, want %d; standard error:\n%s", got, code, p.said.String())
	}
	for _, text := range stderr {
		if !strings.Contains(p.said.String(), text) {
			p.t.Errorf("standard error lacks %q:\n%s", text, p.said.String())
		}
	}
	p.wantNoneLeft()
}

// brief are the flags of an experiment that is quick rather than good.
func brief(rounds int, more ...string) []string {
	n := strconv.Itoa(rounds)
	return append([]string{
		"compare", "http1-json", "grpc", "--workload", "routeguide.GetFeature", "--seed", "11",
		"--rounds", n, "--max-rounds", n, "--slices", "2", "--slice", "30ms",
	}, more...)
}

// stored returns the only result in the store.
func (p *program) stored() *result.Result {
	p.t.Helper()
	command := exec.Command(os.Args[0], "results", "show", "--json")
	command.Env = p.command.Env
	out, err := command.Output()
	if err != nil {
		p.t.Fatalf("results show: %v\n%s", err, out)
	}
	var shown struct {
		Result result.Result `json:"result"`
	}
	if err := json.Unmarshal(out, &shown); err != nil {
		p.t.Fatal(err)
	}
	return &shown.Result
}

// A comparison runs from end to end: fresh processes, a report, a stored result, and
// files for who set a threshold, which two rounds leave undecided.
func TestCompare(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	c := compared(t)
	if c.code != desk.ExitUndecided {
		t.Errorf("exit code %d, want %d\n%s", c.code, desk.ExitUndecided, c.said)
	}
	original, err := measured()
	if err != nil {
		t.Fatal(err)
	}
	(&program{t: t, mark: original.mark()}).wantNoneLeft()
	r := c.result(t)
	if len(r.Rounds) != 2 || len(r.Rounds[0].Trials) != 4 || r.Ending != result.RoundsDone {
		t.Fatalf("stored %d rounds, ending %q", len(r.Rounds), r.Ending)
	}
	c.shell(t).run("results", "show", "--full").wants(t, desk.ExitOK,
		[]string{"http1-json", "grpc", r.ID, "seed", "1 call in flight", "4"}, nil)
	for _, trial := range r.Rounds[0].Trials {
		if trial.OK == 0 || trial.Server.CPU == 0 || trial.Driver.CPU == 0 || trial.WireSent == 0 ||
			*trial.Server.Allocations == 0 {
			t.Errorf("trial %+v lacks a cost", trial)
		}
	}
	if r.Environment.Kernel == "" || r.Plan.Seed != 11 {
		t.Errorf("environment %+v, seed %d", r.Environment, r.Plan.Seed)
	}
	for file, begins := range map[string]string{"comment.md": "## wirelab: inconclusive", "junit.xml": "<?xml"} {
		if text, err := os.ReadFile(filepath.Join(c.dir, file)); err != nil || !bytes.HasPrefix(text, []byte(begins)) {
			t.Errorf("%s: %v: %.300s", file, err, text)
		}
	}
	if r.Certificate != nil {
		t.Errorf("a certificate without a request for one: %+v", r.Certificate)
	}
}

// killOne kills a child of an experiment.
func killOne(t *testing.T, p *program, kind string) {
	t.Helper()
	p.eventually("a process "+kind, func() bool {
		for pid, line := range p.processes(" " + kind + " ") {
			if !strings.Contains(line, "compare") && syscall.Kill(pid, syscall.SIGKILL) == nil {
				return true
			}
		}
		return false
	})
}

// Nobody listens at the target: the error says where and what to check, and
// comes before anything is measured.
func TestUnreachableTarget(t *testing.T) {
	t.Parallel()
	address := porttest.Refusing(t)
	p := begin(t, t.TempDir(), "compare", "grpc,target="+address, "--workload", "routeguide.GetFeature")
	p.want(desk.ExitFailed, "nothing listens at "+address)
}

func TestPortInUse(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	p := begin(t, t.TempDir(), "serve", "routeguide", "grpc", "--addr", listener.Addr().String())
	p.want(desk.ExitFailed, listener.Addr().String(), "another program uses this port", "--addr")
}

// Serve says where it is, and stops on a signal with 0.
func TestServeUntilSignal(t *testing.T) {
	t.Parallel()
	p := begin(t, t.TempDir(), "serve", "routeguide", "http1-json", "--addr", "127.0.0.1:0")
	p.until("wirelab call routeguide.GetFeature")
	_ = p.command.Process.Signal(syscall.SIGTERM)
	p.want(desk.ExitOK)
}

// A plan file with a mistake is shown with the place of the mistake.
func TestMalformedPlan(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := "workload: routeguide\noperation: GetFeature\narms:\n  - protocl: grpc\n"
	if err := os.WriteFile(filepath.Join(dir, "bad.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	begin(t, dir, "run", "./bad.yaml").want(desk.ExitUsage, "bad.yaml", "protocl", "4")
	begin(t, dir, "run", "./absent.yaml").want(desk.ExitUsage, "absent.yaml", "presets")
	begin(t, dir, "run", "quikc").want(desk.ExitUsage, "quikc", "did you mean quick?", "wirelab presets")
}

// A disk that is full when the result is to be stored loses nothing: neither
// what was stored before nor the new result, which is put into a file that
// can be imported once there is room.
func TestFullDisk(t *testing.T) {
	prereq.NeedMount(t)
	disk := t.TempDir()
	if err := unix.Mount("wirelab-test", disk, "tmpfs", 0, "size=2m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(disk, unix.MNT_DETACH) })
	t.Chdir(disk) // where a file is tried first
	s := &shell{t, map[string]string{"WIRELAB_STORE": filepath.Join(disk, "results.db")}}
	s.stored(1)
	filler := filepath.Join(disk, "filler")
	a := newApp(cli.Terminal{}, nil, func(key string) string { return s.env[key] })
	err := a.WithStore(t.Context(), func(results store.Store) error {
		if err := fill(filler); err != nil {
			t.Fatal(err)
		}
		return a.Keep(t.Context(), results, storetest.Sample(1))
	})
	if err == nil || desk.ExitCodeOf(err) != desk.ExitFailed ||
		!strings.Contains(desk.Describe(err), "results import") {
		t.Fatalf("on a full disk: %v", err)
	}
	file := regexp.MustCompile(`the result is in (\S+\.json)`).FindStringSubmatch(desk.Describe(err))
	if file == nil {
		t.Fatalf("no file is named: %v", err)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(file[1]) })
	s.run("results", "import", file[1]).wants(t, desk.ExitOK, []string{storetest.Sample(1).ID}, nil)
	if list := decode[[]store.Summary](t, s.run("results", "list", "--json").stdout); len(list) != 2 {
		t.Errorf("%d results are stored, want the old one and the imported one: %+v", len(list), list)
	}
}

// fill writes a file until there is no room.
func fill(name string) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	block := make([]byte, 4096)
	for {
		if _, err := f.Write(block); err != nil {
			return nil
		}
	}
}
