package markdown_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wirelab/lab/result"
	"wirelab/lab/result/resulttest"
	"wirelab/results/report/markdown"
)

func TestRatedGolden(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]*result.Result{"curve": resulttest.Curves(), "capacity": resulttest.Capacity()} {
		var got strings.Builder
		if err := markdown.Write(&got, r); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join("testdata", name+".md")
		if *update {
			if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got.String() != string(want) {
			t.Errorf("%s differs; -update writes:\n%s", file, got.String())
		}
		cells := 0
		for line := range strings.Lines(got.String()) {
			if !strings.HasPrefix(line, "|") {
				cells = 0
				continue
			}
			n := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|")
			if cells > 0 && n != cells {
				t.Errorf("%s: a row of %d in a table of %d: %s", name, n, cells, line)
			}
			cells = n
		}
	}
}
