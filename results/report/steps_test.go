package report_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/resulttest"
	"wirelab/results/report"
	"wirelab/results/report/csv"
	"wirelab/results/report/html"
	"wirelab/results/report/json"
	"wirelab/results/report/markdown"
	"wirelab/results/report/terminal"
)

// Every form has the steps of chains, and none has them where an arm's times are refused.
func TestStepsInEveryForm(t *testing.T) {
	t.Parallel()
	sound, wrong := resulttest.Chained(), resulttest.Chained()
	for n := range wrong.Rounds {
		for i := range wrong.Rounds[n].Trials {
			x := &wrong.Rounds[n].Trials[i]
			x.OK, x.Errors = x.OK-1, map[string]uint64{result.WrongReply: 1}
		}
	}
	rows := report.StepTable(&analyse.Result(sound).Loads[0]).Rows
	if len(rows) != 6 || rows[0][0].Text != "rest" || rows[1][0].Text != "" || rows[1][1].Text != "2 list" ||
		rows[3][0].Text != "grpc" {
		t.Fatalf("%v", rows)
	}
	figure := rows[1][2].Text
	struck := regexp.MustCompile(`<s class="refused-value"[^>]*>` + figure) // a page shows what was refused, marked
	forms := map[string]func(*bytes.Buffer, *result.Result) error{
		"terminal": func(w *bytes.Buffer, r *result.Result) error {
			return terminal.Write(w, r, terminal.Style{Width: 100})
		},
		"markdown": func(w *bytes.Buffer, r *result.Result) error { return markdown.Write(w, r) },
		"page":     func(w *bytes.Buffer, r *result.Result) error { return html.Write(w, r) },
	}
	for name, write := range forms {
		var good, bad bytes.Buffer
		if err := write(&good, sound); err != nil {
			t.Fatal(err)
		}
		if err := write(&bad, wrong); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(good.String(), figure) || !strings.Contains(good.String(), "2 list") {
			t.Errorf("%s has no steps", name)
		}
		if n := strings.Count(bad.String(), figure); n > len(struck.FindAllString(bad.String(), -1)) {
			t.Errorf("%s shows %s, which is refused, and not struck", name, figure)
		}
	}
	var sheet, refused, document bytes.Buffer
	for w, r := range map[*bytes.Buffer]*result.Result{&sheet: sound, &refused: wrong} {
		if err := csv.Write(w, r); err != nil {
			t.Fatal(err)
		}
	}
	if err := json.Write(&document, sound); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(sheet.String(), ",step-2-list-p50,"); n != 24 ||
		strings.Contains(sheet.String(), ",step-2-list-p50,,") {
		t.Errorf("%d rows of a step in CSV", n)
	}
	if n := strings.Count(refused.String(), ",step-2-list-p50,,ns,"); n != 24 {
		t.Errorf("%d rows of a step in CSV without a value, want 24", n)
	}
	if !strings.Contains(document.String(), `"name": "list"`) || !strings.Contains(document.String(), `"steps"`) {
		t.Error("JSON has no steps")
	}
}
