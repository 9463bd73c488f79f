package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wirelab/cmd/internal/desk"
	"wirelab/internal/prereq"
)

// The services in examples are what their descriptions say: each call is answered right, and wirelab starts, measures
// and stops them.
func TestExampleServices(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for name, c := range map[string]struct {
		thing prereq.Thing
		find  func() error
		build []string
		wires []string
	}{
		"rest-python": {prereq.Python, prereq.FindPython, nil, []string{"rest"}},
		"grpc-node": {
			prereq.Node, prereq.FindNode,
			[]string{"npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"},
			[]string{"grpc"},
		},
		"go": {
			prereq.Thing{Name: "modules of Go"},
			func() error { return nil },
			[]string{"go", "build", "-o", "shop", "."},
			[]string{"rest", "grpc"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.thing.Need(t, c.find())
			dir := t.TempDir()
			copyExample(t, name, dir)
			if c.build != nil {
				command := exec.CommandContext(t.Context(), c.build[0],
					c.build[1:]...) //nolint:gosec // it is in the table above
				command.Dir = dir
				if out, err := command.CombinedOutput(); err != nil { // without a network, there are no packages
					c.thing.Need(t, fmt.Errorf("%v: %w: %.500s", c.build, err, out))
				}
			}
			checkExample(t, dir, c.wires)
		})
	}
}

// checkExample makes every call of an example, and measures one of them.
func checkExample(t *testing.T, dir string, wires []string) {
	t.Helper()
	p := begin(t, dir, "own", "check", "shop.yaml").within(time.Minute)
	p.want(desk.ExitOK)
	arms := []string{"compare"}
	for _, wire := range wires {
		for _, operation := range []string{"list", "get", "add"} {
			if want := "✓ " + operation + " over " + wire; !strings.Contains(p.stdout.String(), want) {
				t.Errorf("own check lacks %q:\n%s", want, p.stdout.String())
			}
		}
		arms = append(arms, "shop.yaml:"+wire)
	}
	m := begin(t, dir, append(arms, "--operation", "get", "--rounds", "1", "--max-rounds", "1", "--slices", "1",
		"--slice", "100ms")...).within(time.Minute)
	m.ended(desk.ExitOK, desk.ExitUndecided, desk.ExitNoWord) // a busy machine has no word
	for _, trial := range m.stored().Rounds[0].Trials {
		if trial.OK == 0 || len(trial.Errors) > 0 || trial.Server.CPU == 0 {
			t.Errorf("%+v", trial)
		}
	}
	m.wantNoneLeft()
}

// copyExample copies the checked-in files of an example.
func copyExample(t *testing.T, name, to string) {
	t.Helper()
	root := filepath.Join("../../examples", name)
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, err := filepath.Rel(root, path)
		switch {
		case err != nil:
			return err
		case entry.Name() == "node_modules":
			return filepath.SkipDir
		case entry.IsDir():
			return os.MkdirAll(filepath.Join(to, below), 0o755)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, below), text, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
}
