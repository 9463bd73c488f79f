// Package prereq is how a test asks for what not every machine has: root, a browser, a database server. Where
// it is there, the test runs. Where it is not, the test is skipped, and what was missing is noted for the
// runner of all tests (internal/testrun), which tells it in one table. With CI set nothing may be missing, so
// there the test fails. The package must not know what is tested, nor how a server is started: postgrestest and
// rabbitmqtest ask for theirs here.
package prereq

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"wirelab"
)

// FolderVariable names the folder that each process of a test notes in what it skipped, in its own file.
// Without it nothing is noted.
const FolderVariable = "WIRELAB_TEST_SKIPPED"

// Thing is what a test can ask for.
type Thing struct {
	Name     string
	Packages []string // of Debian, that bring it; none: a package does not
	Hint     string   // what to do in addition to installing packages, or ""
}

// All that tests ask for.
var (
	Root       = Thing{Name: "root", Hint: "run the tests as root"}
	Mount      = Thing{Name: "mounting a disk", Hint: "run the tests as root"}
	Loop       = Thing{Name: "mounting a file", Packages: []string{"mount", "e2fsprogs"}, Hint: "run the tests as root"}
	Namespaces = Thing{Name: "network namespaces", Packages: []string{"iproute2"}, Hint: "run the tests as root"}
	Strace     = Thing{Name: "strace", Packages: []string{"strace"}}
	Chromium   = Thing{Name: "Chromium", Packages: []string{"chromium", "fonts-dejavu-core"}}
	PostgreSQL = Thing{Name: "PostgreSQL", Packages: []string{"postgresql"}}
	RabbitMQ   = Thing{Name: "RabbitMQ", Packages: []string{"rabbitmq-server"}}
	Python     = Thing{Name: "Python", Packages: []string{"python3", "python3-venv"}}
	Node       = Thing{Name: "Node.js", Packages: []string{"nodejs", "npm"}}
	Curl       = Thing{Name: "curl", Packages: []string{"curl", "ca-certificates"}}
	CCompiler  = Thing{Name: "a C compiler", Packages: []string{"gcc", "libc6-dev"}}
)

// T is the required part of a test: *testing.T and testing.TB have it.
type T interface {
	Helper()
	Name() string
	Skipf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Skip is one test that was not run for want of something.
type Skip struct {
	Package, Test string
	Thing         string // its name
	Why           string
}

// CI reports whether nothing may be missing.
func CI() bool { return demanding(os.Getenv("CI")) }

func demanding(ci string) bool {
	return !slices.Contains([]string{"", "0", "false"}, strings.ToLower(ci))
}

// Need lets the test run where missing is nil: the thing is there. Where it is not, the test is skipped and
// that is noted; with CI set it fails.
func (x Thing) Need(t T, missing error) {
	t.Helper()
	if missing == nil {
		return
	}
	if CI() {
		t.Fatalf("%s is missing, and with CI set nothing may be: %v", x.Name, missing)
		return
	}
	if err := Note(Skip{Package: self(), Test: t.Name(), Thing: x.Name, Why: oneLine(missing)}); err != nil {
		t.Fatalf("note that the test is skipped: %v", err)
		return
	}
	t.Skipf("needs %s: %s", x.Name, oneLine(missing))
}

// self is the import path of the package that this process tests.
func self() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	return strings.TrimSuffix(info.Path, ".test")
}

// oneLine is what an error says, without the code that programs go by.
func oneLine(err error) string {
	said := err.Error()
	if coded := (*wirelab.Error)(nil); errors.As(err, &coded) {
		said = coded.Message
	}
	return strings.Join(strings.Fields(said), " ")
}

// Note notes skips in the folder that [FolderVariable] names.
func Note(all ...Skip) (err error) {
	dir := os.Getenv(FolderVariable)
	if dir == "" || len(all) == 0 {
		return nil
	}
	// The process's own file, so that no two write to one.
	file, err := os.OpenFile(filepath.Join(dir, strconv.Itoa(os.Getpid())+".jsonl"),
		os.O_APPEND|os.O_CREATE|os.O_WRONLY,
		0o600)
	if err != nil {
		return err
	}
	for _, s := range all {
		line, err := json.Marshal(s)
		if err != nil {
			return err
		}
		// One write a line: tests run next to one another.
		if _, err := file.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return file.Close()
}

// Noted reads what was noted in a folder.
func Noted(dir string) (all []Skip, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil {
		return nil, err
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(text)) {
			var s Skip
			if err := json.Unmarshal([]byte(line), &s); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			all = append(all, s)
		}
	}
	return all, nil
}
