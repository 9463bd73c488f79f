package main

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"wirelab/internal/prereq"
)

// module makes a module of packages with one test file each, and goes there.
func module(t *testing.T, packages map[string]string) {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{"go.mod": "module mill\n\ngo 1.26\n"}
	for name, tests := range packages {
		files[name+"/"+name+".go"] = "package " + name + "\n"
		files[name+"/"+name+"_test.go"] = "package " + name + "\n\n" + tests
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	t.Setenv("GOFLAGS", "")
	t.Setenv("CI", "")
	t.Setenv("GOGC", "") // so that it is set back at the end
	if err := os.Unsetenv("GOGC"); err != nil {
		t.Fatal(err)
	}
}

// The compiler collects its garbage seldom, and the tests do not inherit that; a setting of
// the user's holds for both.
func TestSparing(t *testing.T) {
	flags, env := sparing([]string{"HOME=/home/a"})
	if !slices.Equal(flags, []string{"-exec", "env -u GOGC"}) ||
		!slices.Equal(env, []string{"HOME=/home/a", "GOGC=2000"}) {
		t.Errorf("%q with %q", flags, env)
	}
	flags, env = sparing([]string{"GOGC=50"})
	if flags != nil || !slices.Equal(env, []string{"GOGC=50"}) {
		t.Errorf("set by the user: %q with %q", flags, env)
	}
}

// What passed, failed and was skipped is counted; what failed is reported with its output, what passed in a
// line, and why something was skipped in one table.
func TestRun(t *testing.T) {
	module(t, map[string]string{
		"whole": `import ("testing"; "os")
func TestA(t *testing.T) {
	// The compiler's setting is not the tests'.
	if gc, set := os.LookupEnv("GOGC"); set { t.Errorf("GOGC is %q", gc) }
}
func TestB(t *testing.T) { t.Run("c", func(t *testing.T) {}) }`,
		"broken": `import "testing"
func TestD(t *testing.T) { t.Run("e", func(t *testing.T) { t.Error("one is two") }) }`,
		"left": `import ("testing"; "os")
func TestF(t *testing.T) { t.Skip("no wind") }
func TestG(t *testing.T) {
	// As package prereq notes it.
	note := "{\"Package\":\"mill/left\",\"Test\":\"TestG\",\"Thing\":\"PostgreSQL\",\"Why\":\"not installed\"}\n"
	if err := os.WriteFile(os.Getenv("` + prereq.FolderVariable +
			`")+"/1.jsonl", []byte(note), 0o600); err != nil { t.Fatal(err) }
	t.Skip("needs PostgreSQL")
}`,
		"unbuilt": `import "testing"
func TestH(t *testing.T) { t.Nothing() }`,
		"dies": `import ("testing"; "os")
func TestI(t *testing.T) { println("last words"); os.Exit(3) }`,
	})
	totals := filepath.Join(t.TempDir(), "totals")
	if err := os.WriteFile(totals, []byte("100 passed, 20 failed, 30 skipped\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	if err := run(t.Context(), []string{"-totals", totals, "--", "-count=1"}, &said); err == nil {
		t.Error("it passed")
	}
	out := said.String()
	for _, want := range []string{
		`(?m)^ok   mill/whole .* 3 passed$`,
		`(?m)^FAIL mill/broken TestD/e \(`, `one is two`,
		`(?m)^FAIL mill/unbuilt \(`, `t\.Nothing undefined`,
		`(?m)^FAIL mill/dies `, `last words`,
		`(?m)^    1  PostgreSQL +not installed$`,
		`(?m)^    1  left out by the test +no wind$`,
		// Of those that failed two are tests of broken, and one each stands for unbuilt and dies.
		`(?m)^103 passed, 24 failed, 32 skipped\n\z`,
	} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("it does not say %s", want)
		}
	}
	if strings.Contains(out, "no caller asks") {
		t.Error("it tells what a test said that passed")
	}
	if t.Failed() {
		t.Log(out)
	}
}

// Who interrupts it ends the tests, and what they have started.
func TestInterrupted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	t.Setenv("PID_FILE", file)
	module(t, map[string]string{"long": `import ("os"; "os/exec"; "strconv"; "syscall"; "testing")
func TestLong(t *testing.T) {
	child := exec.Command("sleep", "1000")
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := child.Start(); err != nil { t.Fatal(err) }
	name := os.Getenv("PID_FILE")
	if err := os.WriteFile(name+".new", []byte(strconv.Itoa(child.Process.Pid)), 0o600); err != nil { t.Fatal(err) }
	if err := os.Rename(name+".new", name); err != nil { t.Fatal(err) }
	_ = child.Wait()
}`})
	ctx, cancel := context.WithCancel(t.Context())
	var said bytes.Buffer
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, []string{"--", "-count=1"}, &said) }()
	var text []byte
	for len(text) == 0 {
		select {
		case err := <-ended:
			t.Fatalf("it ended: %v\n%s", err, &said)
		case <-time.After(10 * time.Millisecond):
			text, _ = os.ReadFile(file)
		}
	}
	cancel()
	if err := <-ended; err == nil || !strings.Contains(said.String(), "Interrupted") {
		t.Errorf("%v\n%s", err, &said)
	}
	pid, err := strconv.Atoi(string(text))
	if err != nil {
		t.Fatal(err)
	}
	for syscall.Kill(pid, 0) == nil && alive(pid) {
		time.Sleep(10 * time.Millisecond) // it is another's child: nothing tells that it ended
	}
}

// alive tells whether a process runs, and is not only not yet waited for.
func alive(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

// With CI set all that is missing is notified at once, and nothing is run.
func TestAnnounce(t *testing.T) {
	lacking := []lack{
		{prereq.Chromium, errors.New("no")},
		{prereq.RabbitMQ, errors.New("no")},
		{prereq.Root, errors.New("no")},
	}
	t.Setenv("CI", "")
	var said bytes.Buffer
	if err := announce(&said, lacking); err != nil || !strings.HasPrefix(said.String(),
		"Not here: Chromium, RabbitMQ, root.") {
		t.Errorf("%v, %q", err, &said)
	}
	t.Setenv("CI", "true")
	err := announce(&said, lacking)
	if err == nil || !strings.Contains(err.Error(), "make tools says how to install chromium fonts-dejavu-core "+
		"rabbitmq-server.") || !strings.Contains(err.Error(), "what needs root") {
		t.Error(err)
	}
}

// A command whose prerequisite is missing is not run, and is counted; the others are.
func TestCommands(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(prereq.FolderVariable, dir)
	t.Setenv("CI", "")
	steps := []step{
		{name: "fuzz", command: []string{"false"}, needs: []prereq.Thing{prereq.Curl, prereq.Python}},
		{name: "whole", command: []string{"true"}},
		{name: "broken", command: []string{"sh", "-c", "echo last words; exit 1"}},
	}
	lacking := []lack{{prereq.Python, errors.New("none is here")}}
	var said bytes.Buffer
	tell := newTeller(&said, steps)
	err := perform(t.Context(), steps, os.Environ(), lacking, tell)
	tell.close()
	skipped, failed := prereq.Noted(dir)
	tell.summarise(skipped, false, lacking)
	if err == nil || failed != nil || tell.counts != (counts{1, 1, 1}) || tell.done != 3 {
		t.Errorf("%v, %v: %v", err, failed, tell.counts)
	}
	for _, want := range []string{
		`(?m)^    1  Python +none is here$`, `(?m)^ok   whole`,
		`(?m)^FAIL broken broken.*\n +last words$`, `make tools says how to install python3 python3-venv`,
	} {
		if !regexp.MustCompile(want).MatchString(said.String()) {
			t.Errorf("it does not say %s:\n%s", want, &said)
		}
	}
}

// TestTestsApartExist: a name that no test has would run nothing in the rest, and pass. One that
// a test of another package has too would leave that one out: -skip knows no packages.
func TestTestsApartExist(t *testing.T) {
	t.Parallel()
	root, name := filepath.Join("..", ".."), regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`)
	dirs := map[string][]string{}
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path) //nolint:gosec // a path below root
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		for _, found := range name.FindAllSubmatch(source, -1) {
			dirs[string(found[1])] = append(dirs[string(found[1])], dir)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	left := regexp.MustCompile(withPackages()[1])
	for _, a := range append(experiments(), selfTest()) {
		for _, test := range a.tests {
			if !slices.Equal(dirs[test], []string{a.dir}) {
				t.Errorf("%s is a test of %q, want of %s alone", test, dirs[test], a.dir)
			}
			if !left.MatchString(test) {
				t.Errorf("%s runs twice", test)
			}
		}
	}
}
