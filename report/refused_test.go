package report_test

import (
	"bytes"
	stdjson "encoding/json"
	"io"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"wirelab/report/benchfmt"
	"wirelab/report/csv"
	"wirelab/report/html"
	"wirelab/report/jmh"
	"wirelab/report/json"
	"wirelab/report/markdown"
	"wirelab/report/terminal"
	"wirelab/result"
	"wirelab/result/resulttest"
)

// refusedResults have an arm of which a check refuses every figure, of every kind that
// there is: of calls, streams, messages, entries and their processes, databases, curves.
func refusedResults() map[string]*result.Result {
	all := map[string]*result.Result{
		"calls": resulttest.Closed(), "open": resulttest.Open(), "streams": resulttest.Streams(), "messages": resulttest.MessageScenarios(),
		"entries": resulttest.Pipeline(), "database": resulttest.Ledger(), "curve": resulttest.Curves(), "decisions": resulttest.FourWays(12),
	}
	capacity := resulttest.Capacity()
	for n := range capacity.Capacity.Rounds {
		for i := range capacity.Capacity.Rounds[n].Searches {
			if s := &capacity.Capacity.Rounds[n].Searches[i]; s.Arm == 1 {
				s.Closed.Errors = map[string]uint64{result.WrongReply: 1}
			}
		}
	}
	all["capacity"] = capacity
	for _, r := range all {
		for n := range r.Rounds {
			for i := range r.Rounds[n].Trials {
				if t := &r.Rounds[n].Trials[i]; t.Arm == 1 {
					t.Errors = map[string]uint64{result.WrongReply: 1}
					if t.Messages != nil {
						t.Messages.Missing++
					}
				}
			}
		}
	}
	return all
}

// places are where a refused figure of each kind stands in the analysis.
func places() map[string][]string {
	return map[string][]string{
		"calls":     {"cells/estimate", "floor/times"},
		"open":      {"arms/achieved", "cells/estimate"},
		"streams":   {"arms/achieved", "streams/achieved", "clients/achieved", "clients/delivery_p50", "clients/delivery_p99", "clients/jitter_p99"},
		"messages":  {"messages/send_outage", "messages/delivery_outage", "cells/estimate"},
		"entries":   {"parts/cpu", "parts/share", "cells/estimate"},
		"database":  {"database/counts", "cells/estimate"},
		"curve":     {"points/achieved", "points/p50", "points/p99", "points/server_cpu", "points/cores"},
		"decisions": {"contests/arms/estimate"},
		"capacity":  {"arms/rate", "arms/closed", "rounds/found"},
	}
}

// placesOf finds them in an analysis as JSON, and tells of plain members that hold a
// value beside a refused one.
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
	for name, r := range refusedResults() {
		text, err := stdjson.Marshal(result.Analyse(r))
		if err != nil {
			t.Fatal(err)
		}
		var analysis any
		if err := stdjson.Unmarshal(text, &analysis); err != nil {
			t.Fatal(err)
		}
		found := map[string]bool{}
		placesOf(analysis, "", found, func(path string) { t.Errorf("%s: %s holds a value that is refused beside it", name, path) })
		all := slices.Collect(maps.Keys(found))
		for _, place := range places()[name] {
			if !slices.ContainsFunc(all, func(path string) bool { return strings.HasSuffix(path, place) }) {
				t.Errorf("%s: nothing is refused at %s, only at %v", name, place, all)
			}
		}
	}
}

// valuesOf are the refused values of an analysis, exact, that cannot be another
// figure by chance: at least six digits of a fraction.
func valuesOf(v reflect.Value, into map[string]bool) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if one, ok := v.Interface().(*result.Refused); ok && one != nil {
			if text := strconv.FormatFloat(one.Value, 'g', -1, 64); len(text) > 8 && strings.Contains(text, ".") && !strings.Contains(text, "e") {
				into[text] = true
			}
			return
		}
		if !v.IsNil() {
			valuesOf(v.Elem(), into)
		}
	case reflect.Slice:
		for i := range v.Len() {
			valuesOf(v.Index(i), into)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			valuesOf(v.MapIndex(key), into)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				valuesOf(v.Field(i), into)
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
	for name, r := range refusedResults() {
		a := result.Analyse(r)
		values := map[string]bool{}
		valuesOf(reflect.ValueOf(&a), values)
		for _, l := range a.Loads {
			for _, arm := range l.Arms {
				delete(values, strconv.FormatFloat(arm.Planned, 'g', -1, 64)) // what was asked for, and answered just so
				for _, c := range arm.Checks {
					delete(values, strconv.FormatFloat(c.Value, 'g', -1, 64)) // what a check read is shown with its limit
				}
			}
		}
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
				text = withoutRefused(t, out.Bytes())
			case "html":
				text = struck.ReplaceAllString(text, "")
			}
			for value := range values {
				if strings.Contains(text, value) {
					t.Errorf("%s, %s: the refused value %s is there without a mark", name, form, value)
				}
			}
		}
		marked(t, name, r, &a)
	}
}

// marked checks the forms for people: a refused value of the metrics that are shown is
// not there, and where it is asked for it is, marked, with its reason.
func marked(t *testing.T, name string, r *result.Result, a *result.Analysis) {
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
	if !strings.Contains(page, `id="show-refused">`) || !strings.Contains(page, `<s class="refused-value" tabindex="0" title="refused: `) {
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

// withoutRefused is a document without its raw data, and without the members called refused.
func withoutRefused(t *testing.T, data []byte) string {
	t.Helper()
	var document map[string]any
	if err := stdjson.Unmarshal(data, &document); err != nil {
		t.Fatal(err)
	}
	delete(document, "result")
	var clean func(v any) any
	clean = func(v any) any {
		switch one := v.(type) {
		case map[string]any:
			delete(one, "refused")
			for key := range one {
				one[key] = clean(one[key])
			}
		case []any:
			for i := range one {
				one[i] = clean(one[i])
			}
		}
		return v
	}
	text, err := stdjson.Marshal(clean(document))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// An analysis whose refused values are to be seen is a copy, and as it was in all else.
func TestWithRefusedChangesNothing(t *testing.T) {
	t.Parallel()
	a := result.Analyse(resulttest.Troubled())
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
	if slices.ContainsFunc(a.Loads[0].Rows, func(row result.Row) bool { return row.Cells[1].Estimate.ShownRefused() != nil }) {
		t.Error("the analysis that was copied shows what was refused")
	}
}
