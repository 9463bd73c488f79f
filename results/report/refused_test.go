package report_test

import (
	"bytes"
	stdjson "encoding/json"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"wirelab/lab/kind/kinds"
	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/resulttest"
	"wirelab/lab/result/threshold"
	"wirelab/results/report"
	"wirelab/results/report/benchfmt"
	"wirelab/results/report/block"
	"wirelab/results/report/csv"
	"wirelab/results/report/html"
	"wirelab/results/report/jmh"
	"wirelab/results/report/json"
	"wirelab/results/report/junit"
	"wirelab/results/report/markdown"
	"wirelab/results/report/terminal"
)

// places are where a refused figure of each kind stands in the analysis.
func places() map[string][]string {
	return map[string][]string{
		"calls": {"cells/estimate", "floor/times"},
		"open":  {"arms/achieved", "cells/estimate"},
		"streams": {
			"arms/achieved", "streams/achieved", "clients/achieved", "clients/delivery_p50",
			"clients/delivery_p99", "clients/jitter_p99",
		},
		"messages":  {"messages/send_outage", "messages/delivery_outage", "cells/estimate"},
		"entries":   {"parts/cpu", "parts/share", "cells/estimate"},
		"database":  {"database/counts", "cells/estimate"},
		"curve":     {"points/achieved", "points/p50", "points/p99", "points/server_cpu", "points/cores"},
		"decisions": {"contests/arms/estimate"},
		"capacity":  {"arms/rate", "arms/closed", "rounds/found"},
	}
}

// placesOf finds them in an analysis as JSON. It calls plain for each plain member that
// holds a value although the figure is refused.
func placesOf(v any, path string, found map[string]bool, plain func(path string)) {
	switch one := v.(type) {
	case map[string]any:
		apart, _ := one["refused"].(map[string]any)
		if _, single := apart["value"]; single {
			found[path] = true
			if one["value"] != nil {
				plain(path)
			}
			apart = nil
		}
		for field, member := range apart {
			if is, ok := member.(map[string]any); !ok || is["value"] == nil {
				continue
			}
			found[path+"/"+field] = true
			switch held := one[field].(type) {
			case nil:
			case float64:
				if held != 0 {
					plain(path + "/" + field)
				}
			case string:
				if held != "0s" {
					plain(path + "/" + field)
				}
			}
		}
		for key, member := range one {
			if key != "refused" {
				placesOf(member, path+"/"+key, found, plain)
			}
		}
	case []any:
		for i := range one {
			placesOf(one[i], path, found, plain)
		}
	}
}

// A figure of each kind is refused where its arm's are, and its plain member holds nothing.
func TestFiguresOfEveryKindAreRefused(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for name, r := range resulttest.Refused() {
		text, err := stdjson.Marshal(analyse.Result(r))
		if err != nil {
			t.Fatal(err)
		}
		var analysis any
		if err := stdjson.Unmarshal(text, &analysis); err != nil {
			t.Fatal(err)
		}
		found := map[string]bool{}
		placesOf(analysis, "", found,
			func(path string) { t.Errorf("%s: %s holds a value although the figure is refused", name, path) })
		all := slices.Collect(maps.Keys(found))
		for _, place := range places()[name] {
			if !slices.ContainsFunc(all, func(path string) bool { return strings.HasSuffix(path, place) }) {
				t.Errorf("%s: nothing is refused at %s, only at %v", name, place, all)
			}
		}
	}
}

// What a check refused is in no output without the mark: not in a plain column, field or
// cell, whatever its kind.
func TestRefusedValuesAreMarkedEverywhere(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	struck := regexp.MustCompile(`<s class="refused-value".*?</s>`)
	for name, r := range resulttest.Refused() {
		a := analyse.Result(r)
		values, written := resulttest.RefusedValues(&a), writtenRefused(&a)
		if len(values) == 0 {
			t.Errorf("%s has no refused value", name)
		}
		for form, write := range map[string]func(io.Writer) error{
			"csv":       func(w io.Writer) error { return csv.Write(w, r) },
			"jmh":       func(w io.Writer) error { return jmh.Write(w, r) },
			"benchstat": func(w io.Writer) error { return benchfmt.Write(w, r) },
			"json":      func(w io.Writer) error { return json.Write(w, r) },
			"html":      func(w io.Writer) error { return html.WriteRefused(w, r, nil) },
			"markdown":  func(w io.Writer) error { return markdown.Write(w, r) },
			"terminal":  func(w io.Writer) error { return terminal.Write(w, r, terminal.Style{}) },
			"summary":   func(w io.Writer) error { return writeSummary(t, w, r, &a) },
			"junit":     func(w io.Writer) error { return writeJUnit(t, w, r, &a) },
		} {
			var out bytes.Buffer
			if err := write(&out); err != nil {
				t.Fatal(err)
			}
			text := out.String()
			switch form {
			case "csv":
				text = withoutLastColumn(text)
			case "json":
				var err error
				if text, err = resulttest.WithoutRefused(out.Bytes()); err != nil {
					t.Fatal(err)
				}
			case "html":
				text = struck.ReplaceAllString(text, "")
			}
			for value := range values {
				if strings.Contains(text, value) {
					t.Errorf("%s, %s: the refused value %s is there without a mark", name, form, value)
				}
			}
			for value := range written {
				if (form == "summary" || form == "junit") &&
					regexp.MustCompile(`(^|[^0-9.,])`+regexp.QuoteMeta(value)).MatchString(text) {
					t.Errorf("%s, %s: the refused value is there without a mark, as %s", name, form, value)
				}
			}
		}
		marked(t, name, r, &a)
	}
}

// writtenRefused are the refused values of an analysis as reports would write them, with
// their unit, but for those that an arm with a figure has too.
func writtenRefused(a *claim.Analysis) map[string]bool {
	written, known := map[string]bool{}, map[string]bool{}
	for i := range a.Loads {
		l := &a.Loads[i]
		for k := range l.Rows {
			m, err := kinds.MetricByID(l.Rows[k].Metric)
			if err != nil || m.Counted {
				continue
			}
			unit := report.RowUnit(m, &l.Rows[k])
			for _, c := range l.Rows[k].Cells {
				switch {
				case c.Estimate.Known:
					known[report.With(c.Estimate, unit)] = true
				case c.Estimate.Refused != nil:
					one := report.With(claim.Estimate{Known: true, Value: c.Estimate.Refused.Value}, unit)
					if strings.Contains(one, ".") && unit.Name != "" {
						written[one] = true
					}
				}
			}
		}
	}
	maps.DeleteFunc(written, func(text string, _ bool) bool {
		return slices.ContainsFunc(slices.Collect(maps.Keys(known)),
			func(one string) bool { return strings.Contains(one, text) })
	})
	return written
}

// writeSummary writes the short answer, with limits on the metrics that are judged. The
// cells of the arm whose figures are refused must have no figure and no verdict.
func writeSummary(t *testing.T, w io.Writer, r *result.Result, a *claim.Analysis) error {
	t.Helper()
	j := threshold.Judge(r, a, everyThreshold(a))
	s := report.Summarise(r, a, &j)
	name := r.ArmName(1)
	for _, table := range s.Tables {
		for _, column := range table.Columns {
			for i, c := range column.Cells {
				if (table.Names[i] == name || column.Head == name) &&
					(strings.ContainsAny(c.Value+c.Change, "0123456789") || c.Sign != "" ||
						slices.Contains([]block.Tone{block.Good, block.Bad, block.Same}, c.Tone)) {
					t.Errorf("the summary has a figure of the refused arm under %s: %+v", column.Head, c)
				}
			}
		}
	}
	return terminal.WriteSummary(w, s, terminal.Style{Width: 140})
}

// writeJUnit writes how a result stands against these limits. A case of the arm whose figures are refused must be no
// pass and no failure.
func writeJUnit(t *testing.T, w io.Writer, r *result.Result, a *claim.Analysis) error {
	t.Helper()
	j := threshold.Judge(r, a, everyThreshold(a))
	for i := range j.Findings {
		if f := &j.Findings[i]; f.Arm == 1 &&
			(f.Known || f.Value != 0 || f.Outcome == threshold.Passed || f.Outcome == threshold.Crossed) {
			t.Errorf("%s of the refused arm is %+v", f.Threshold, f)
		}
	}
	return junit.Write(w, r, &j)
}

// everyThreshold is a limit on each metric that loads are judged by, on the value and on
// the difference.
func everyThreshold(a *claim.Analysis) []threshold.Threshold {
	var all []threshold.Threshold
	seen := map[string]bool{}
	for i := range a.Loads {
		for _, m := range report.Main(&a.Loads[i]) {
			if seen[m.ID] {
				continue
			}
			seen[m.ID] = true
			all = append(all, threshold.Threshold{Text: m.ID, Metric: m.ID, Below: m.Higher, Limit: 1, LimitText: "1"},
				threshold.Threshold{
					Text: m.ID + " +0%", Metric: m.ID, Below: m.Higher, Relative: true, Limit: 1,
					LimitText: "+0%",
				})
		}
	}
	return all
}

// marked checks the forms for people: a refused value of the metrics that are shown is
// not there, and where it is asked for it is, marked, with its reason.
func marked(t *testing.T, name string, r *result.Result, a *claim.Analysis) {
	t.Helper()
	write := func(of func(w io.Writer) error) string {
		var out bytes.Buffer
		if err := of(&out); err != nil {
			t.Fatal(err)
		}
		return strings.Join(strings.Fields(out.String()), " ")
	}
	off := write(func(w io.Writer) error { return terminal.Write(w, r, terminal.Style{Width: 140}) })
	on := write(func(w io.Writer) error { return terminal.Write(w, r, terminal.Style{Width: 140, Refused: true}) })
	text := write(func(w io.Writer) error { return markdown.WriteRefused(w, r, nil) })
	page := write(func(w io.Writer) error { return html.Write(w, r) })
	mark := regexp.MustCompile(`[ |]\([0-9][0-9.,]*\)`)
	if a.Capacity != nil { // a rate has its unit
		mark = regexp.MustCompile(`[ |]\([0-9][0-9.,]*k?/s\)`)
	}
	if mark.MatchString(off) || !mark.MatchString(on) || !mark.MatchString(text) {
		t.Errorf("%s: refused values are not shown where they are asked for, and only there", name)
	}
	if !strings.Contains(page, `id="show-refused">`) ||
		!strings.Contains(page, `<s class="refused-value" tabindex="0" title="refused: `) {
		t.Errorf("%s: the page has no switch, or nothing that it shows", name)
	}
	if a.Capacity != nil {
		return
	}
	why := a.Loads[0].Arms[1].Invalid()[0]
	if !strings.Contains(on, strings.Fields(why)[0]) || !strings.Contains(on, "refused by a check") {
		t.Errorf("%s: the terminal does not say why: %s", name, why)
	}
}

// withoutLastColumn is a table of CSV without the column for refused values.
func withoutLastColumn(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if at := strings.LastIndexByte(line, ','); at >= 0 {
			lines[i] = line[:at]
		}
	}
	return strings.Join(lines, "\n")
}

// An analysis whose refused values are to be seen is a copy, and as it was in all else.
func TestWithRefusedChangesNothing(t *testing.T) {
	t.Parallel()
	a := analyse.Result(resulttest.Troubled())
	before, err := stdjson.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	shown, err := stdjson.Marshal(a.WithRefused())
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(before, shown) {
		t.Error("the analysis differs")
	}
	if slices.ContainsFunc(a.Loads[0].Rows,
		func(row claim.Row) bool { return row.Cells[1].Estimate.ShownRefused() != nil }) {
		t.Error("the analysis that was copied shows what was refused")
	}
}

// The short form of a curve says of each figure that it lacks why, once, behind a mark.
func TestShortCurveSaysWhyFiguresAreMissing(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	rising := resulttest.Rising()
	for name, r := range map[string]*result.Result{
		"refused": resulttest.Refuse(resulttest.Curves()),
		"rising":  rising,
	} {
		a := analyse.Result(r)
		s := report.Summarise(r, &a, nil)
		dashes := 0
		for _, table := range s.Tables {
			for _, column := range table.Columns {
				for i, c := range column.Cells {
					if c.Value != report.Absent {
						continue
					}
					dashes++
					if c.Mark == "" ||
						!slices.ContainsFunc(s.Refused,
							func(line string) bool { return strings.HasPrefix(line, c.Mark+" ") }) {
						t.Errorf("%s: nothing says why %s of %s is missing: %+v, %q", name, column.Head, table.Names[i],
							c, s.Refused)
					}
				}
			}
		}
		if dashes == 0 {
			t.Errorf("%s lacks no figure", name)
		}
	}
}
