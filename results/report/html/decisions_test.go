package html_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/resulttest"
	"wirelab/results/report"
	"wirelab/results/report/html"
)

// Every row of when to use which stands on the page, whole, and nowhere but where
// ways to hand entries on were measured.
func TestDecisions(t *testing.T) {
	t.Parallel()
	r := resulttest.FourWays(12)
	r.Arms[0].Name = `<b>log-grpc</b>`
	outages := []report.Outage{{
		Path: "log-grpc", Fault: "logger-down=10s", Rate: 200, Limit: time.Second, Due: 9,
		Accepted: 9, Guarantee: &result.Guarantee{}, Database: "SQLite 3.54.1",
	}}
	var page bytes.Buffer
	if err := html.WriteWithOutages(&page, r, outages); err != nil {
		t.Fatal(err)
	}
	all := read(t, page.Bytes())
	at := slices.IndexFunc(all, func(e element) bool { return e.attrs["id"] == "decisions" })
	if at < 0 {
		t.Fatal("no section of when to use which")
	}
	plain := func(text string) string {
		return strings.Join(strings.Fields(strings.NewReplacer("\u00a0", " ", "\u202f", " ", "\u2011",
			"-").Replace(text)), " ")
	}
	section := plain(all[at].text)
	a := analyse.Result(r)
	told := 0
	for _, table := range report.Decisions(r, &a, outages) {
		for i, d := range table.Rows {
			want := slices.Concat([]string{d.Need, d.Lead}, d.Notes, table.Refusals(i))
			if table.Load >= 0 {
				want = append(want, report.Texts(d.Others)...)
			} else {
				for _, w := range d.First {
					want = append(want, w.Saw, w.Back, w.Lost)
				}
				want = slices.DeleteFunc(want, func(text string) bool {
					return strings.HasSuffix(text, "not measured") || strings.Contains(text, "no broker that could be stopped")
				}) // by way there
			}
			for _, text := range want {
				told++
				if !strings.Contains(section, plain(text)) {
					t.Errorf("%s: the page lacks %q", d.Need, text)
				}
			}
		}
	}
	if told < 40 {
		t.Errorf("only %d texts looked at", told)
	}
	page.Reset()
	if err := html.Write(&page, resulttest.Closed()); err != nil ||
		bytes.Contains(page.Bytes(), []byte(`id="decisions"`)) {
		t.Errorf("a result of another kind tells when to use which (%v)", err)
	}
}
