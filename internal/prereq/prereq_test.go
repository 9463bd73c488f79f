package prereq

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// fake is a test that tells what became of it.
type fake struct{ name, skipped, failed string }

func (f *fake) Helper()                           {}
func (f *fake) Name() string                      { return f.name }
func (f *fake) Skipf(format string, args ...any)  { f.skipped = fmt.Sprintf(format, args...) }
func (f *fake) Fatalf(format string, args ...any) { f.failed = fmt.Sprintf(format, args...) }

// A thing that is there stops no test; whatever is not there skips it and is noted; with CI set it fails.
func TestNeed(t *testing.T) {
	missing := errors.New("nowhere\n to be found")
	for _, c := range []struct {
		ci              string
		missing         error
		skipped, failed bool
	}{
		{"", nil, false, false},
		{"true", nil, false, false},
		{"", missing, true, false},
		{"false", missing, true, false},
		{"true", missing, false, true},
		{"1", missing, false, true},
	} {
		dir := t.TempDir()
		t.Setenv("CI", c.ci)
		t.Setenv(FolderVariable, dir)
		f := fake{name: "TestX/y"}
		Chromium.Need(&f, c.missing)
		if (f.skipped != "") != c.skipped || (f.failed != "") != c.failed {
			t.Errorf("CI %q, missing %v: skipped %q, failed %q", c.ci, c.missing, f.skipped, f.failed)
		}
		noted, err := Noted(dir)
		if err != nil {
			t.Fatal(err)
		}
		var want []Skip
		if c.skipped {
			want = []Skip{{"wirelab/internal/prereq", "TestX/y", "Chromium", "nowhere to be found"}}
		}
		if !slices.Equal(noted, want) {
			t.Errorf("CI %q, missing %v: noted %v, want %v", c.ci, c.missing, noted, want)
		}
	}
}

// poorVariable has this program be a package that lacks something, and sharedVariable one whose tests share a server.
const (
	poorVariable   = "WIRELAB_TEST_POOR"
	sharedVariable = "WIRELAB_TEST_SHARED"
)

func TestMain(m *testing.M) {
	if os.Getenv(poorVariable) != "" {
		os.Exit(RabbitMQ.Package(m, errors.New("none here")))
	}
	if os.Getenv(sharedVariable) != "" {
		if err := Short(); err != nil {
			os.Exit(RabbitMQ.LeaveOut(err))
		}
	}
	os.Exit(m.Run())
}

// A package whose tests share a server leaves them out with -short, with CI set too, and reports each. Without
// -short it runs them, and it lists them with both.
func TestShortLeavesOut(t *testing.T) {
	run := func(args ...string) (string, []Skip) {
		dir := t.TempDir()
		command := exec.Command(os.Args[0], args...)
		command.Env = append(os.Environ(), sharedVariable+"=1", FolderVariable+"="+dir, "CI=true")
		out, err := command.CombinedOutput()
		if err != nil {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
		noted, err := Noted(dir)
		if err != nil {
			t.Fatal(err)
		}
		return string(out), noted
	}
	out, noted := run("-test.v", "-test.short", "-test.run=^TestNeed$")
	if !strings.Contains(out, "--- SKIP: TestNeed (") ||
		!slices.Equal(noted, []Skip{{"wirelab/internal/prereq", "TestNeed", "RabbitMQ", errShort.Error()}}) {
		t.Errorf("with -short: noted %v\n%s", noted, out)
	}
	if out, noted := run("-test.v", "-test.run=^TestNeed$"); !strings.Contains(out, "--- PASS: TestNeed (") ||
		len(noted) > 0 {
		t.Errorf("without -short: noted %v\n%s", noted, out)
	}
	if out, noted := run("-test.short", "-test.list=^TestNeed$"); !strings.HasPrefix(out, "TestNeed\n") ||
		len(noted) > 0 {
		t.Errorf("with -short it lists %q, and notes %v", out, noted)
	}
}

// A package whose tests all need a missing thing passes, and each of its tests counts as skipped; with CI set
// it fails.
func TestPackage(t *testing.T) {
	dir := t.TempDir()
	run := func(ci string, args ...string) (string, error) {
		command := exec.Command(os.Args[0], args...)
		command.Env = append(os.Environ(), poorVariable+"=1", FolderVariable+"="+dir, "CI="+ci)
		out, err := command.CombinedOutput()
		return string(out), err
	}
	out, err := run("", "-test.v", "-test.run=^TestNeed$/x")
	if err != nil || !strings.Contains(out, "--- SKIP: TestNeed (") || strings.Contains(out, "TestPackage") {
		t.Errorf("%v\n%s", err, out)
	}
	if !strings.HasSuffix(out, "\nPASS\n") {
		t.Errorf("it does not end as the tests of a package do:\n%s", out)
	}
	noted, err := Noted(dir)
	if err != nil || !slices.Equal(noted, []Skip{{"wirelab/internal/prereq", "TestNeed", "RabbitMQ", "none here"}}) {
		t.Errorf("noted %v, %v", noted, err)
	}
	if out, err := run("true"); err == nil || !strings.Contains(out, "RabbitMQ is missing") {
		t.Errorf("with CI set: %v\n%s", err, out)
	}
}
