package csv_test

import (
	"encoding/csv"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"wirelab/lab/kind/kinds"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/resulttest"
	"wirelab/lab/stat"
	report "wirelab/results/report/csv"
)

func read(t *testing.T, r *result.Result) []map[string]string {
	t.Helper()
	var out strings.Builder
	if err := report.Write(&out, r); err != nil {
		t.Fatal(err)
	}
	all, err := csv.NewReader(strings.NewReader(out.String())).ReadAll() // checks that rows are as long as the head
	if err != nil {
		t.Fatal(err)
	}
	var rows []map[string]string
	for _, row := range all[1:] {
		m := map[string]string{}
		for i, head := range all[0] {
			m[head] = row[i]
		}
		rows = append(rows, m)
	}
	return rows
}

func TestEveryFigureIsThere(t *testing.T) {
	t.Parallel()
	r := resulttest.Closed()
	rows := read(t, r)
	count := map[string]int{}
	for _, row := range rows {
		count[row["metric"]]++
		v, err := strconv.ParseFloat(row["value"], 64)
		if err != nil || row["invalid"] != "" || row["steady"] != "true" || row["result"] != r.ID {
			t.Fatalf("%v", row)
		}
		if row["metric"] != plan.ServerCPU {
			continue
		}
		round, _ := strconv.Atoi(row["round"])
		for _, trial := range r.Rounds[round-1].Trials {
			if r.Arms[trial.Arm].Name == row["arm"] && r.Plan.Loads[trial.Load].String() == row["load"] {
				if want := float64(trial.Server.CPU) / float64(trial.OK); math.Abs(v-want) > 1e-9*want ||
					row["unit"] != "ns" {
					t.Errorf("%v, want %v", row, want)
				}
			}
		}
	}
	for _, m := range kinds.Metrics() {
		want := 3 * 2 * 30
		if m.Quantile == 0.999 {
			continue // some trials have too few calls for it
		}
		if m.Optional || !kinds.Under(m, r.Plan.Loads[0]) {
			want = 0 // it is of what this result has none of
		}
		if count[m.ID] != want {
			t.Errorf("%d rows of %s, want %d", count[m.ID], m.ID, want)
		}
	}
}

// A figure near the floor is there, with its mark and the floor next to it.
func TestMarkedFiguresSaySo(t *testing.T) {
	t.Parallel()
	marked := map[string]bool{}
	for _, row := range read(t, resulttest.Troubled()) {
		if row["marks"] != "" {
			marked[row["arm"]+" "+row["metric"]] = true
			if row["marks"] != "floor-limited" || row["value"] == "" {
				t.Fatalf("%v", row)
			}
		}
		if floor, err := strconv.ParseFloat(row["floor"], 64); row["metric"] == plan.ResponseP50 &&
			(err != nil || floor <= 0) {
			t.Errorf("%v", row)
		}
	}
	if !marked["netrpc "+plan.ResponseP50] || !marked["netrpc "+plan.Throughput] || marked["netrpc "+plan.WireSent] ||
		marked["http1-proto "+plan.ResponseP50] {
		t.Errorf("marked are %v", marked)
	}
}

func TestInvalidFiguresAreNotThere(t *testing.T) {
	t.Parallel()
	reasons := 0
	for _, row := range read(t, resulttest.Troubled()) {
		if row["arm"] == "grpc" || row["arm"] == "h2c-proto" {
			reasons++
			if row["value"] != "" || row["invalid"] == "" {
				t.Fatalf("%v", row)
			}
		} else if row["value"] == "" {
			t.Fatalf("%v", row)
		}
		if row["arm"] == "netrpc" && row["metric"] == plan.ServerCPU {
			t.Errorf("%v", row)
		}
	}
	if reasons == 0 {
		t.Error("no rows of the invalid arms")
	}
	if rows := read(t, &result.Result{}); len(rows) != 0 {
		t.Errorf("%d rows of nothing", len(rows))
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestErrorsOfTheWriterAreReturned(t *testing.T) {
	t.Parallel()
	if report.Write(broken{}, resulttest.Closed()) == nil {
		t.Error("no error")
	}
}

// A name that begins as a formula does is shown by a spreadsheet, not computed; figures stay figures.
func TestNamesAreNoFormulas(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"=cmd|' /C calc'!A0": "'=cmd|' /C calc'!A0", "@SUM(1)": "'@SUM(1)", "+1+2": "'+1+2", "-2+3": "'-2+3",
		"\t=1": "'\t=1", "\r=1": "'\r=1",
		" =1": "' =1", "＝1": "'＝1", "-grpc": "'-grpc", "grpc": "grpc", "'x": "'x", "a=b": "a=b", "-1.5": "-1.5",
		"+2e-9": "+2e-9", "": "",
	} {
		r := resulttest.Closed()
		r.Arms[0].Server = name // which no check of a plan has seen
		for _, row := range read(t, r) {
			if row["arm"] == r.Arms[0].Name && row["server"] != want {
				t.Errorf("%q is written as %q, want %q", name, row["server"], want)
				break
			}
		}
	}
}

// Whether a tool's warm-up reached a steady state is not known, and neither is a time or a byte.
func TestToolsLeaveOutWhatTheyDoNotTell(t *testing.T) {
	t.Parallel()
	r := resulttest.Closed()
	for n := range r.Rounds {
		for i := range r.Rounds[n].Trials {
			trial := &r.Rounds[n].Trials[i]
			if trial.Arm != 1 {
				continue
			}
			trial.Told, trial.WireSent, trial.WireReceived = &result.Told{Tool: "wrk"}, 0, 0
			trial.Response, trial.Service = &stat.Histogram{}, &stat.Histogram{}
		}
	}
	seen := false
	for _, row := range read(t, r) {
		if row["arm"] != r.ArmName(1) {
			continue
		}
		seen = seen || row["metric"] == plan.ServerCPU && row["value"] != ""
		if row["steady"] != "" || row["metric"] == plan.WireSent || row["metric"] == plan.ResponseP50 {
			t.Fatalf("row %v", row)
		}
	}
	if !seen {
		t.Error("no server CPU, which is known")
	}
}
