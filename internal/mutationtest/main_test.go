package main

import (
	"go/format"
	"os"
	"path/filepath"
	"testing"
)

func TestFaultsCanBeApplied(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, f := range faults() {
		if seen[f.Name] {
			t.Errorf("two faults are named %s", f.Name)
		}
		seen[f.Name] = true
		workload, protocol := f.cell()
		if _, err := os.Stat(filepath.Join("../../workload", workload, "bind", "conformance_test.go")); err != nil ||
			protocol == "" {
			t.Errorf("%s: no suite judges %s/%s: %v", f.Name, workload, protocol, err)
		}
		source, err := os.ReadFile(filepath.Join("../..", filepath.FromSlash(f.File)))
		if err != nil {
			t.Errorf("%s: %v", f.Name, err)
			continue
		}
		changed, err := mutate(string(source), f)
		if err != nil {
			t.Errorf("%s: %v", f.Name, err)
			continue
		}
		if _, err := format.Source([]byte(changed)); err != nil {
			t.Errorf("%s does not parse: %v", f.Name, err)
		}
	}
	if len(seen) < 10 {
		t.Errorf("%d faults are too few to say anything of the suite", len(seen))
	}
}
