// Command mutationtest proves that the conformance suite catches faults in the real
// cells: it puts one fault at a time in the source, as the compiler sees it
// and not in the tree, and runs the suite on a protocol that has it. A fault
// that survives is a hole in the suite.
//
// It knows the suite's test and the text of the source it changes, nothing of
// what either does. It is not part of `make test`, since each fault is a build
// and a run; the test here only checks that each fault still fits its place.
//
//	go run ./internal/mutationtest [name ...]
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Fault is one change of the source and how the suite must name it.
type Fault struct {
	Name     string
	File     string // slash path from the module's root
	Old, New string // Old is in File once
	Protocol string // on which the suite is run: the route guide's, or workload/protocol
	Want     string // in the suite's output
}

// limit is how long one fault's build and run may take.
const limit = 10 * time.Minute

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
}

// run tries the named faults, or all, from the module's root, and returns 1
// if any survived.
func run(ctx context.Context, names []string, out, errs io.Writer) int {
	survived := 0
	for _, f := range faults() {
		if len(names) > 0 && !slices.Contains(names, f.Name) {
			continue
		}
		caught, output, err := try(ctx, f)
		switch {
		case err != nil:
			fmt.Fprintf(errs, "mutationtest: %s: %v\n", f.Name, err)
			return 2
		case caught:
			fmt.Fprintf(out, "caught    %-28s %s\n", f.Name, f.Want)
		default:
			survived++
			fmt.Fprintf(out, "SURVIVED  %-28s want %q in:\n%s\n", f.Name, f.Want, tail(output))
		}
	}
	if survived > 0 {
		return 1
	}
	return 0
}

// try runs the suite with the fault and reports whether it failed and named it.
func try(ctx context.Context, f Fault) (caught bool, output string, err error) {
	source, err := os.ReadFile(filepath.FromSlash(f.File))
	if err != nil {
		return false, "", err
	}
	changed, err := mutate(string(source), f)
	if err != nil {
		return false, "", err
	}
	folder, err := os.MkdirTemp("", "mutationtest")
	if err != nil {
		return false, "", err
	}
	defer func() { _ = os.RemoveAll(folder) }() // the rest there is small
	faulty, overlay := filepath.Join(folder, "faulty.go"), filepath.Join(folder, "overlay.json")
	if err := os.WriteFile(faulty, []byte(changed), 0o600); err != nil {
		return false, "", err
	}
	absolute, err := filepath.Abs(filepath.FromSlash(f.File))
	if err != nil {
		return false, "", err
	}
	replaced, err := json.Marshal(map[string]any{"Replace": map[string]string{absolute: faulty}})
	if err != nil {
		return false, "", err
	}
	if err := os.WriteFile(overlay, replaced, 0o600); err != nil {
		return false, "", err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	workload, protocol := f.cell()
	command := exec.CommandContext(ctx, "go", "test", "-vet=off", "-overlay", overlay,
		"-run", "^TestConformance$/^"+workload+"$/^"+protocol+"$", "./workload/"+workload+"/bind")
	text, runErr := command.CombinedOutput()
	output = string(text)
	if strings.Contains(output, "[build failed]") {
		return false, output, fmt.Errorf("does not build:\n%s", tail(output))
	}
	return runErr != nil && strings.Contains(output, f.Want), output, nil
}

// cell is what the suite is run on.
func (f Fault) cell() (workload, protocol string) {
	if workload, protocol, named := strings.Cut(f.Protocol, "/"); named {
		return workload, protocol
	}
	return "routeguide", f.Protocol
}

// mutate returns the source with the fault in it.
func mutate(source string, f Fault) (string, error) {
	if n := strings.Count(source, f.Old); n != 1 {
		return "", fmt.Errorf("%s holds %d times, want once: %s", f.File, n, f.Old)
	}
	return strings.Replace(source, f.Old, f.New, 1), nil
}

// tail is the end of an output, where a test says what failed.
func tail(output string) string {
	const most = 3000
	return output[max(0, len(output)-most):]
}
