package dashboard

import (
	"encoding/csv"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"wirelab/lab/plan"
	"wirelab/lab/result/claim"
	"wirelab/results/store"
)

// The history finds the change that is there, and none across the change of the
// machine, after which nothing was compared with what was before.
func TestHistory(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	s := serve(t, demo(t), "")
	of := run(1, 1).Plan
	chosen := url.Values{
		"machine": {"lab"}, "arm": {armText(of, 1)}, "load": {loadText(of, 0)},
		"limit": {"500"},
	}.Encode()
	h := decoded[history](t, s.get("/api/v1/history?"+chosen))
	if h.Of.Metric != plan.ServerCPU || h.Unit != "ns" || len(h.Points) < 32 {
		t.Fatalf("history of %+v with %d points", h.Of, len(h.Points))
	}
	series := h.Points[:32]
	if len(h.Parts) < 3 || h.Parts[1].From != 12 || h.Parts[1].Begins != "change" || h.Parts[1].Verdict != claim.Worse {
		t.Fatalf("segments %+v", h.Parts)
	}
	if r := h.Parts[1].Ratio; r < 1.09 || r > 1.15 || h.Parts[1].P >= h.Rule.Strong {
		t.Errorf("the change is by %v, p %v; it is by 1.12", r, h.Parts[1].P)
	}
	if h.Parts[2].From != 24 || h.Parts[2].Begins != "environment" || len(series[24].Broken) != 1 ||
		series[24].Broken[0].What != "system" {
		t.Errorf("the environment broke at 24: %+v, %+v", h.Parts[2], series[24].Broken)
	}
	if len(series[3].Built) != 1 || len(series[4].Built) != 0 {
		t.Errorf("builds change every three results: %+v %+v", series[3].Built, series[4].Built)
	}
	// All choices find something, and each is one of what there is (grb-D04).
	for name, all := range map[string][]string{
		"workload": h.Choices.Workloads, "operation": h.Choices.Operations, "machine": h.Choices.Machines,
		"metric": h.Choices.Metrics,
	} {
		for _, value := range all {
			if got := decoded[history](t,
				s.get("/api/v1/history?"+url.Values{name: {value}}.Encode())); len(got.Points) == 0 {
				t.Errorf("%s %s has no history", name, value)
			}
		}
	}
	for _, arm := range h.Choices.Arms {
		found := decoded[history](t, s.get("/api/v1/history?"+url.Values{"machine": {"lab"}, "arm": {arm}}.Encode()))
		if len(found.Points) == 0 || len(found.Choices.Loads) == 0 {
			t.Errorf("arm %s has no history", arm)
		}
		for _, load := range found.Choices.Loads {
			if got := decoded[history](t,
				s.get("/api/v1/history?"+url.Values{
					"machine": {"lab"}, "arm": {arm},
					"load": {load},
				}.Encode())); len(got.Points) == 0 {
				t.Errorf("arm %s, load %s has no history", arm, load)
			}
		}
	}
	bytes := decoded[history](t, s.get("/api/v1/history?metric=wire-sent&"+chosen))
	for _, part := range bytes.Parts {
		if part.Begins == "change" {
			t.Errorf("bytes did not change: %+v", part)
		}
	}
	if other := decoded[history](t, s.get("/api/v1/history?machine=tower")); len(other.Points) != 1 ||
		other.Total != 1 {
		t.Errorf("the other machine has %d points", len(other.Points))
	}
	rows, err := csv.NewReader(strings.NewReader(s.get("/history.csv?" + chosen).body)).ReadAll()
	if err != nil || len(rows) != len(h.Points)+1 || rows[13][10] != "change" {
		t.Errorf("CSV of %d rows, %v", len(rows), err)
	}
	page := s.get("/history?" + chosen)
	for _, want := range []string{"<svg", "costlier", "the environment changed", "/results/" + series[0].ID} {
		if !strings.Contains(page.body, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// Verdicts only where results can be compared.
func TestCompare(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	results := demo(t)
	s := serve(t, results, "")
	list, err := results.List(t.Context(), store.Filter{Name: "quick", Host: "lab", Limit: 100})
	if err != nil || len(list) != 32 {
		t.Fatalf("%d results, %v", len(list), err)
	}
	id := func(n int) string { return list[31-n].ID }
	same := decoded[comparison](t, s.get("/api/v1"+comparing([]string{id(2), id(20)})))
	if len(same.Pairs) != 1 || !same.Pairs[0].Comparable {
		t.Fatalf("%+v", same.Pairs)
	}
	found := false
	for _, row := range same.Pairs[0].Loads[0].Arms[1].Rows {
		if row.Primary {
			found = row.Shift != nil && row.Shift.Verdict == claim.Worse && row.Shift.Low < 1.12 &&
				row.Shift.High > 1.12
		}
	}
	if !found {
		t.Error("that the second is dearer by 12 % is not claimed")
	}
	apart := s.get("/api/v1" + comparing([]string{id(2), id(30)}))
	if got := decoded[comparison](t, apart); got.Pairs[0].Comparable || len(got.Pairs[0].Machine) == 0 ||
		strings.Contains(apart.body, `"shift"`) {
		t.Errorf("on different machines there is a verdict: %+v", got.Pairs[0].Why)
	}
	page := s.get(comparing([]string{id(2), id(20), id(30)})).body
	for _, want := range []string{">comparable<", ">different machines<", "costlier"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, ids := range [][]string{{id(1), "r-20200101-000000-0000"}, {id(1), id(2)[:12]}} {
		if a := s.get("/api/v1" + comparing(ids)); a.status != http.StatusNotFound {
			t.Errorf("%q: %d", ids, a.status)
		}
	}
	if a := s.get(comparing([]string{id(1), id(1)})); a.status != http.StatusBadRequest {
		t.Errorf("with itself: %d", a.status)
	}
	// Results of any kind can be asked for: searches, open loops, curves.
	all, err := results.List(t.Context(), store.Filter{Limit: 6})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, m := range all {
		ids = append(ids, m.ID)
	}
	for range 2 {
		if a := s.get(comparing(ids)); a.status != http.StatusOK || !strings.Contains(a.body, "Can they be compared?") {
			t.Errorf("%q: %d", ids, a.status)
		}
		slices.Reverse(ids)
	}
}

// Pages hold no script and no style of their own, and scripts write no markup
// (grb-D14): what a result is called is text wherever it is shown.
func TestPagesAreInert(t *testing.T) {
	t.Parallel()
	script, err := files.ReadFile("pages/dashboard.js")
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{
		"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "http://",
		"https://",
	} {
		if strings.Contains(string(script), bad) {
			t.Errorf("the script has %s", bad)
		}
	}
	results := open(t)
	const evil = `<img src=x onerror="alert(1)">`
	r := run(1, 1)
	r.Plan.Name, r.Plan.About, r.Environment.Host, r.Environment.Commit, r.Arms[1].Name, r.Plan.Arms[1].Name = evil,
		evil, evil, evil, evil, evil
	put(t, results, r)
	put(t, results, run(2, 1))
	news := running(3)
	news.Name, news.Host, news.Phase = evil, evil, evil
	if err := results.Report(t.Context(), news); err != nil {
		t.Fatal(err)
	}
	s := serve(t, results, "")
	inline := regexp.MustCompile(`(?i)<script(?: [^>]*)?>[^<]|<style|\son[a-z]+=|\sstyle=|javascript:`)
	for _, path := range []string{
		"/", "/history", "/running", comparing([]string{r.ID, run(2, 1).ID}), "/nothing",
		"/history?machine=" + url.QueryEscape(evil),
	} {
		page := s.get(path).body
		if strings.Contains(page, "<img") || inline.MatchString(strings.ReplaceAll(page, "onerror=&#34;", "")) {
			t.Errorf("%s: %q", path, inline.FindString(page))
		}
	}
	if page := s.get("/results/" + r.ID).body; strings.Contains(page, "<img") {
		t.Error("the report has markup from a name")
	}
}

// What a spreadsheet would compute is text in a history too, as in every other table for one.
func TestHistoryHasNoFormulas(t *testing.T) {
	t.Parallel()
	results := open(t)
	for _, name := range []string{"＝1+1", " =1+1", "@SUM(1)"} {
		r := run(70, 1)
		r.Arms[1].Name, r.Plan.Arms[1].Name = name, name
		put(t, results, r)
		got := serve(t, results, "").get("/history.csv?" + url.Values{"arm": {name}}.Encode()).body
		rows, err := csv.NewReader(strings.NewReader(got)).ReadAll()
		if err != nil || len(rows) != 2 || rows[1][2] != "'"+name {
			t.Errorf("%q: %v, %q", name, err, got)
		}
		if err := results.Delete(t.Context(), r.ID); err != nil {
			t.Fatal(err)
		}
	}
}
