package prereq

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// M is the required part of the tests of a package: *testing.M has it.
type M interface{ Run() int }

// Package runs the tests of a package of which each needs the thing, for a
// TestMain: it returns the exit code. Where the thing is missing every test counts as
// skipped; with CI set the package fails.
func (x Thing) Package(m M, missing error) int {
	if !flag.Parsed() {
		flag.Parse()
	}
	listing := value("test.list") != ""
	if missing == nil || listing {
		return m.Run()
	}
	if CI() {
		_, _ = fmt.Fprintf(os.Stderr, "%s is missing, and with CI set nothing may be: %v\n", x.Name, missing)
		return 1
	}
	return x.LeaveOut(missing)
}

// Short says why the tests of a package that share a server are left out, for a TestMain: with
// -short none is started, since it takes longer than the tests may. The error is nil without.
// Who has it calls [Thing.LeaveOut].
func Short() error {
	if !flag.Parsed() {
		flag.Parse()
	}
	if value("test.short") != "true" || value("test.list") != "" {
		return nil
	}
	return errShort
}

var errShort = errors.New("with -short no server is started")

// LeaveOut counts every test of a package as skipped, for a TestMain: it returns the exit code.
func (x Thing) LeaveOut(missing error) int {
	// The program lists its own tests: package testing tells them in no other way.
	first, _, _ := strings.Cut(value("test.run"), "/")
	names, err := exec.CommandContext(context.Background(), os.Args[0], "-test.list="+
		cmp.Or(first, ".")).Output() //nolint:gosec // it is this program
	if err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "list the tests that are skipped: %v\n", err)
		return 1
	}
	if err := x.skipAll(os.Stdout, strings.Fields(string(names)), missing); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// skipAll reports each test as skipped, as package testing would.
func (x Thing) skipAll(to io.Writer, names []string, missing error) error {
	verbose := value("test.v") != "" && value("test.v") != "false"
	for _, name := range names {
		if !strings.HasPrefix(name, "Test") && !strings.HasPrefix(name, "Fuzz") && !strings.HasPrefix(name, "Example") {
			continue // a benchmark, which is run by no one here
		}
		if err := Note(Skip{Package: self(), Test: name, Thing: x.Name, Why: oneLine(missing)}); err != nil {
			return fmt.Errorf("note that %s is skipped: %w", name, err)
		}
		if verbose {
			if _, err := fmt.Fprintf(to, "=== RUN   %s\n    needs %s: %s\n--- SKIP: %s (0.00s)\n", name, x.Name,
				oneLine(missing), name); err != nil {
				return err
			}
		}
	}
	// As package testing ends: who reads the output takes what follows to be of the package.
	_, err := fmt.Fprintln(to, "PASS")
	return err
}

// value is that of a flag of the test's program, or "".
func value(name string) string {
	if f := flag.Lookup(name); f != nil {
		return f.Value.String()
	}
	return ""
}
