package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wirelab/cmd/internal/cli/clitest"
	"wirelab/cmd/internal/desk"
	"wirelab/lab/result/resulttest"
	"wirelab/results/store/sqlite"
)

// storing is a shell whose store holds one result, and a folder with a file "text" in it.
func storing(t *testing.T) (s *shell, dir string) {
	t.Helper()
	s = newShell(t)
	kept, err := sqlite.Open(t.Context(), s.env["WIRELAB_STORE"])
	if err == nil {
		err = errors.Join(kept.Put(t.Context(), resulttest.Short(2)), kept.Close())
	}
	dir = t.TempDir()
	err = errors.Join(err, os.WriteFile(filepath.Join(dir, "text"), []byte("x"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	return s, dir
}

// A fault of the file system has one text and one exit code, whichever command meets it. None of these
// depends on the rights of who runs the test: what is under a file cannot be had by root either.
func TestOneFaultOneTextOfFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	s, dir := storing(t)
	compare := "compare grpc grpc -w routeguide.GetFeature --rate 5 "
	call := "call routeguide.GetFeature --protocol grpc-tls --target 127.0.0.1:1 "
	clitest.OneText(t, []clitest.Fault{
		{
			Code: desk.ExitFailed, Says: "cannot write DIR/text/x: a part of this path is a file, not a folder",
			Lines: []string{
				"report latest -o DIR/text/x", "results export latest -o DIR/text/x",
				"serve routeguide grpc-tls --addr 127.0.0.1:0 --ca DIR/text/x",
			},
		},
		{Code: desk.ExitFailed, Says: "cannot write /dev/full: the disk is full", Lines: []string{
			"report latest -o /dev/full", "results export latest -o /dev/full",
			"results export latest --format csv -o /dev/full",
		}},
		{Code: desk.ExitFailed, Says: "cannot write /sys/kernel/notes: no permission", Lines: []string{
			"report latest -o /sys/kernel/notes", "results export latest -o /sys/kernel/notes",
			"serve routeguide grpc-tls --addr 127.0.0.1:0 --ca /sys/kernel/notes",
		}},
		{Code: desk.ExitFailed, Says: "no permission for /sys/bus/platform/uevent", Lines: []string{
			"run /sys/bus/platform/uevent", "results import /sys/bus/platform/uevent",
			"verify /sys/bus/platform/uevent",
			"decide /sys/bus/platform/uevent", "results list --results /sys/bus/platform/uevent",
			"report /sys/bus/platform/uevent",
			compare + "--arrivals /sys/bus/platform/uevent", call + "--ca /sys/bus/platform/uevent",
			call + "--request @/sys/bus/platform/uevent",
		}},
		{
			Code: desk.ExitFailed, Says: "cannot write DIR: it is a folder, not a file",
			Lines: []string{"results export latest -o DIR", "serve routeguide grpc-tls --addr 127.0.0.1:0 --ca DIR"},
		},
		{Code: desk.ExitUsage, Says: "DIR/text/x: a part of this path is a file, not a folder", Lines: []string{
			"run DIR/text/x", "results import DIR/text/x", "verify DIR/text/x", "decide DIR/text/x",
			"results list --results DIR/text/x",
			"serve-results --addr 127.0.0.1:0 --results DIR/text/x", "results pull --all --from DIR/text/x",
			"report DIR/text/x",
			compare + "--arrivals DIR/text/x", call + "--ca DIR/text/x", call + "--request @DIR/text/x",
		}},
		{Code: desk.ExitUsage, Says: "DIR: it is a folder, not a file", Lines: []string{
			"run DIR", "results import DIR", "verify DIR", "decide DIR", "results list --results DIR",
			"serve-results --addr 127.0.0.1:0 --results DIR",
			"results pull --all --from DIR", "results push --all --to DIR", "report DIR", compare + "--arrivals DIR",
			call + "--ca DIR", call + "--request @DIR",
		}},
	}, strings.NewReplacer("DIR", dir).Replace, s.says)
}

// What cannot be written to standard output is a failure of every command, help too, in the same words.
func TestFullDiskOfStandardOutput(t *testing.T) {
	t.Parallel()
	s, _ := storing(t)
	for _, line := range []string{
		"version", "--version", "--help", "compare --help", "help exit-codes", "help metrics", "matrix",
		"matrix routeguide", "presets", "presets quick",
		"results list", "results list --json", "results show latest", "results show latest --full",
		"results export latest", "results export latest --format csv",
		"report latest --format markdown -o -", "verify latest", "verify latest --json", "completion bash",
		"compare grpc grpc -w routeguide.GetFeature --rate 5 --print-plan", "selftest --list",
	} {
		var said bytes.Buffer
		code := runBy(t.Context(), clitest.Still{}, strings.Fields(line), strings.NewReader(""), clitest.FullDisk{},
			&said, func(key string) string { return s.env[key] })
		if code != desk.ExitFailed || said.String() != "wirelab: cannot write to standard output: the disk is full\n" {
			t.Errorf("%s: exit code %d, says %q", line, code, said.String())
		}
	}
}
