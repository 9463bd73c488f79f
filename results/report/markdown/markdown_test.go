package markdown_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/resulttest"
	"wirelab/lab/result/threshold"
	"wirelab/results/report/markdown"
)

var update = flag.Bool("update", false,
	"write the present output into testdata; understand the difference before committing it")

func TestGolden(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]*result.Result{
		"messages": resulttest.Messages(), "closed": resulttest.Closed(), "curve": resulttest.Curves(),
	} {
		var got strings.Builder
		if err := markdown.Write(&got, r); err != nil {
			t.Fatal(err)
		}
		golden(t, name, got.String())
	}
}

// golden holds a text against a file, and the rows of its tables against each other.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".md")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(file); err != nil || got != string(want) {
		t.Errorf("%s differs (%v); -update writes:\n%s", file, err, got)
	}
	cells := 0
	for line := range strings.Lines(got) {
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

func TestComment(t *testing.T) {
	t.Parallel()
	r := resulttest.Troubled()
	r.Arms[1].Name, r.Plan.Arms[1].Name = "a|b <i>", "a|b <i>"
	one, err := threshold.ParseThreshold("cpu/req > +3%")
	if err != nil {
		t.Fatal(err)
	}
	a := analyse.Result(r)
	j := threshold.Judge(r, &a, []threshold.Threshold{one})
	for name, c := range map[string]struct {
		j     *threshold.Judgement
		first string
		has   []string
	}{
		"with thresholds": {
			&j, "## wirelab: invalid\n",
			[]string{
				"| cpu/req &gt; +3% | a\\|b &lt;i&gt; | 1 in flight | – |  | **invalid** |",
				"**inconclusive, +1 round**",
			},
		},
		"without": {nil, "## wirelab: routeguide.GetFeature\n", []string{"- **With 1 call in flight"}},
	} {
		var got strings.Builder
		if err := markdown.WriteComment(&got, r, &a, c.j); err != nil {
			t.Fatal(err)
		}
		text := got.String()
		if !strings.HasPrefix(text, c.first) {
			t.Errorf("%s: the verdict is not first:\n%s", name, text)
		}
		for _, want := range append(c.has, "<details><summary>The whole report</summary>\n\n## What does") {
			if !strings.Contains(text, want) {
				t.Errorf("%s: lacks %q:\n%s", name, want, text)
			}
		}
		if strings.Count(text, "<details>") != strings.Count(text, "</details>") || strings.Contains(text, "<i>") {
			t.Errorf("%s: a folded section is not closed, or a name is not escaped", name)
		}
	}
}
