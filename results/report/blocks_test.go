package report_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/history"
	"wirelab/lab/result/resulttest"
	"wirelab/lab/result/threshold"
	"wirelab/results/report"
	"wirelab/results/report/block"
)

var update = flag.Bool("update", false,
	"write the present output into testdata; understand the difference before committing it")

// What reports say of each kind of result is as it was looked at: once, for every form. Forms have tests of their
// layout, and one that they leave nothing out.
func TestBlocksGolden(t *testing.T) {
	t.Parallel()
	all := examples()
	all["one-arm"], all["none"], all["short"] = resulttest.OneArm(), resulttest.Short(0), resulttest.Short(3)
	all["capacity-bounds"] = resulttest.Search([]resulttest.Server{
		{Name: "grpc", Protocol: "grpc", Rate: 500}, {Name: "http1-json", Protocol: "http1-json", Rate: 300},
	}, "p50<500us", 2)
	for name, r := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := analyse.Result(r)
			marked, named := report.Marked(r, &a)
			golden(t, name, report.Document(marked, named, nil))
		})
	}
	t.Run("thresholds", func(t *testing.T) {
		t.Parallel()
		r := resulttest.Troubled()
		a := analyse.Result(r)
		golden(t, "thresholds", []block.Part{{ID: "thresholds", Blocks: report.JudgedBlocks(r, judged(t, r, &a))}})
	})
	t.Run("replay", func(t *testing.T) {
		t.Parallel()
		was, arms := resulttest.Closed(), resulttest.Arms()
		arms[1].ServerCPU, arms[2].ServerCPU = 20000, 24900 // grpc is cheaper here, connect dearer
		here := resulttest.Make(resulttest.Setting{
			Name: "elsewhere", Arms: arms, Loads: was.Plan.Loads, Rounds: 12,
			Seed: 9,
		})
		here.Environment.CPU = "Other CPU"
		a, b := analyse.Result(was), analyse.Result(here)
		agreement := history.Agree(&a, &b, was.Environment, here.Environment)
		golden(t, "replay", []block.Part{{ID: "replay", Blocks: report.AgreementBlocks(was, here, &agreement)}})
	})
}

// judged holds a result against two thresholds.
func judged(t *testing.T, r *result.Result, a *claim.Analysis) *threshold.Judgement {
	t.Helper()
	var all []threshold.Threshold
	for _, text := range []string{"cpu/req > +3%", "errors > 0.1%"} {
		one, err := threshold.ParseThreshold(text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	j := threshold.Judge(r, a, all)
	return &j
}

// golden holds parts against a file.
func golden(t *testing.T, name string, parts []block.Part) {
	t.Helper()
	var got strings.Builder
	loads := 0
	for _, part := range parts {
		if part.ID == "load" {
			if loads++; loads > 1 {
				continue // the others are of the same kind
			}
		}
		fmt.Fprintf(&got, "== %s\n", part.ID)
		for _, b := range part.Blocks {
			got.WriteString(dump(b))
		}
	}
	file := filepath.Join("testdata", "blocks", name+".txt")
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

// tones are the marks of tones in a dump.
var tones = map[block.Tone]string{
	block.Good: "+", block.Bad: "!", block.Same: "=", block.Open: "?", block.Quiet: "~", block.Claimed: "*",
}

// dump is all that a block has, without its data for programs.
func dump(b block.Block) string {
	var out strings.Builder
	line := func(form string, args ...any) { fmt.Fprintf(&out, form+"\n", args...) }
	cell := func(c block.Cell) string {
		text := strings.Join(append(c.List, c.Text), "; ")
		if c.Why != "" {
			text += " <" + c.Why + ">"
		}
		return strings.TrimSpace(text + tones[c.Tone])
	}
	switch b := b.(type) {
	case block.Heading:
		line("# %s", b.Text)
	case block.Facts:
		for _, f := range b {
			line("%s: %s%s", f.Name, f.Text, tones[f.Tone])
		}
	case block.Notes:
		for _, text := range b.Lines {
			line("(%d)%s %s%s", b.Kind, strings.TrimSpace(" "+b.Title), text, tones[b.Tone])
		}
	case *block.Metrics:
		for _, m := range b.Columns {
			if b.ID != "main" { // nothing more is shown of them
				var brief []string
				for _, f := range m.Figures {
					brief = append(brief,
						strings.TrimSpace(strings.Join([]string{f.Text, f.Change, f.Sign, f.FloorText}, " ")))
				}
				line("%s: %s %s: %s", b.ID, m.Title, m.Unit, strings.Join(brief, " | "))
				continue
			}
			line("%s: %s, %s %s", b.ID, m.Title, m.Short, m.Unit)
			for i, f := range m.Figures {
				parts := []string{
					b.Arms[i].Name, b.Arms[i].Place, f.Text, f.Bounds, f.Change, f.Interval,
					f.Verdict + tones[f.Tone] + f.Sign,
					f.FloorText, f.Why,
				}
				line("  %s", strings.Join(parts, " | "))
			}
		}
	case *block.Table:
		heads := make([]string, len(b.Columns))
		for i, c := range b.Columns {
			heads[i] = c.Name()
		}
		line("%s: %s | %s", b.ID, b.Title, strings.Join(heads, " | "))
		for _, row := range b.Rows {
			texts := make([]string, len(row))
			for i, c := range row {
				texts[i] = cell(c)
			}
			line("  %s", strings.Join(texts, " | "))
		}
		if b.Caption != "" {
			line("  %s", b.Caption)
		}
		for _, text := range b.Notes.Lines {
			line("  (%d) %s", b.Notes.Kind, text)
		}
	}
	return out.String()
}
