package markdown_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wirelab/report/markdown"
	"wirelab/result"
	"wirelab/result/resulttest"
)

var update = flag.Bool("update", false, "write what is got into testdata; understand the difference before committing it")

func TestGolden(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]*result.Result{
		"closed": resulttest.Closed(), "open": resulttest.Open(), "troubled": resulttest.Troubled(), "none": resulttest.Short(0), "one-arm": resulttest.OneArm(),
	} {
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
	}
}

// Every row of a table has as many cells as its head, whatever arms are called.
func TestNamesDoNotBreakTables(t *testing.T) {
	t.Parallel()
	r := resulttest.OneArm()
	r.Plan.Arms = append(r.Plan.Arms, r.Plan.Arms[0])
	r.Arms = append(r.Arms, r.Arms[0])
	r.Arms[0].Name, r.Arms[1].Name = "a|b\n# c", "<script>*x*"
	var out strings.Builder
	if err := markdown.Write(&out, r); err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(out.String()) {
		if strings.Contains(line, "<script>") || strings.HasPrefix(line, "# c") {
			t.Errorf("a name is read as markup: %q", line)
		}
		if !strings.HasPrefix(line, "|") {
			continue
		}
		rows++
		if n := strings.Count(strings.ReplaceAll(line, "\\|", ""), "|"); n != 7 {
			t.Errorf("%d bars: %q", n, line)
		}
	}
	if rows < 10 {
		t.Errorf("only %d rows", rows)
	}
}
