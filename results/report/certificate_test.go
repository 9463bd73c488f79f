package report_test

import (
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/resulttest"
	"wirelab/results/report"
	"wirelab/results/report/benchfmt"
	"wirelab/results/report/csv"
	"wirelab/results/report/json"
	"wirelab/results/report/markdown"
	"wirelab/results/report/terminal"
)

func TestResolves(t *testing.T) {
	t.Parallel()
	c := resulttest.Certified().Certificate
	form := `^60 s can resolve [0-9.]+ % in server CPU/req, [0-9.]+ % in throughput, [0-9.]+ % in response p50, [0-9.]+ % in response p99 · noise: quiet$`
	if got := report.Resolves(c); !regexp.MustCompile(form).MatchString(got) {
		t.Errorf("%q", got)
	}
	if got := report.Resolves(nil); got != "" {
		t.Errorf("without a certificate: %q", got)
	}
	slow := &result.Certificate{Round: plan.Duration(20 * time.Second), Metrics: []result.Resolution{{
		Metric: plan.ServerCPU, Deviation: 0.1,
		Within: []result.Within{{Time: plan.Duration(5 * time.Minute), HalfWidth: 0.05, Detectable: 0.07}},
	}}}
	if got := report.Resolves(slow); got != "5 min can resolve 7.0 % in server CPU/req · noise: quiet" {
		t.Errorf("of a slow machine: %q", got)
	}
	slow.Metrics = nil
	if got := report.Resolves(slow); !strings.Contains(got, "a round takes 20s") {
		t.Errorf("of a very slow machine: %q", got)
	}
	rows := report.ResolutionTable(c).Rows
	if len(rows) < 6 || len(rows[0]) != 7 || !strings.HasPrefix(rows[0][3].Text, "±") {
		t.Errorf("%+v", rows)
	}
	for _, row := range rows {
		if strings.Contains(row[0].Text, "sent") {
			t.Error("bytes that never differ have a row")
		}
	}
	if got := report.Burst(c); !strings.HasPrefix(got,
		"http1-proto, client driver, 1 in flight, was compared with itself in 12 rounds of 600ms") {
		t.Errorf("%q", got)
	}
}

// Every form of report says what the machine can tell apart, where that is known.
func TestEveryReportHasTheCertificate(t *testing.T) {
	t.Parallel()
	line := report.Resolves(resulttest.Certified().Certificate)
	for name, form := range map[string]struct {
		write func(io.Writer, *result.Result) error
		want  string
	}{
		"terminal": {func(w io.Writer, r *result.Result) error {
			return terminal.Write(w, r, terminal.Style{Width: 300})
		}, "here      " + line},
		"markdown":  {markdown.Write, "- **here**: " + line},
		"json":      {json.Write, `"certificate": {`},
		"csv":       {csv.Write, ",resolves,early,refused\n"},
		"benchstat": {benchfmt.Write, "wirelab-machine: " + line},
	} {
		var with, without strings.Builder
		if err := form.write(&with, resulttest.Certified()); err != nil {
			t.Fatal(err)
		}
		if err := form.write(&without, resulttest.OneArm()); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(with.String(), form.want) {
			t.Errorf("%s lacks %q:\n%.2000s", name, form.want, with.String())
		}
		if name != "csv" && strings.Contains(without.String(), form.want) {
			t.Errorf("%s has a calibration although the result has none", name)
		}
	}
	var table strings.Builder
	if err := csv.Write(&table, resulttest.Certified()); err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`(?m),server-cpu,[^,]+,ns,,,true,,0\.[0-9]+,,$`).MatchString(table.String()) {
		t.Errorf("no row of the table has it:\n%.500s", table.String())
	}
}
