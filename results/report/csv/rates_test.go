package csv_test

import (
	encoded "encoding/csv"
	"strconv"
	"strings"
	"testing"

	"wirelab/lab/result"
	"wirelab/lab/result/resulttest"
	"wirelab/results/report/csv"
)

// table writes a result and reads it again, each row by its columns' names.
func table(t *testing.T, r *result.Result) []map[string]string {
	t.Helper()
	var out strings.Builder
	if err := csv.Write(&out, r); err != nil {
		t.Fatal(err)
	}
	rows, err := encoded.NewReader(strings.NewReader(out.String())).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var all []map[string]string
	for _, row := range rows[1:] {
		named := map[string]string{}
		for i, name := range rows[0] {
			named[name] = row[i]
		}
		all = append(all, named)
	}
	return all
}

// TestCurveRows: a curve can be drawn from the rows: for each round, arm and
// rate what was planned, what was achieved, and the times.
func TestCurveRows(t *testing.T) {
	t.Parallel()
	r := resulttest.Curve([]resulttest.Server{{Name: "grpc", Protocol: "grpc", Rate: 500}},
		[]float64{100, 300, 1000}, 3)
	count := map[string]int{}
	for _, row := range table(t, r) {
		count[row["metric"]]++
		if row["metric"] != "achieved" {
			continue
		}
		v, err := strconv.ParseFloat(row["value"], 64)
		if overload := row["load"] == "1000/s poisson"; err != nil || row["unit"] != "/s" ||
			overload != (v > 400 && v < 600) {
			t.Errorf("achieved %q %s at %s", row["value"], row["unit"], row["load"])
		}
	}
	if count["planned"] != 9 || count["achieved"] != 9 || count["response-p50"] != 9 {
		t.Errorf("rows %v, want 9 of each", count)
	}
}

// TestCapacityRows: a row for every probe and every search.
func TestCapacityRows(t *testing.T) {
	t.Parallel()
	r := resulttest.Search([]resulttest.Server{{Name: "grpc", Protocol: "grpc", Rate: 500}}, "p99<50ms", 2)
	probes, passed, found := 0, 0, 0
	for _, row := range table(t, r) {
		switch row["metric"] {
		case "probe":
			probes++
			if row["value"] == "1" {
				passed++
			}
		case "capacity":
			v, err := strconv.ParseFloat(row["value"], 64)
			if err != nil || v < 350 || v > 450 || row["load"] != "p99<50ms,errors<0.1%" || row["unit"] != "/s" {
				t.Errorf("capacity %q under %q", row["value"], row["load"])
			}
			found++
		}
	}
	if want := len(r.Capacity.Rounds[0].Searches[0].Probes) +
		len(r.Capacity.Rounds[1].Searches[0].Probes); probes != want || passed == 0 || passed == probes || found != 2 {
		t.Errorf("%d probes of %d, %d passed, %d capacities", probes, want, passed, found)
	}
}

// The counts of a database are there, per call, for each trial that has them.
func TestDatabaseCountsAreThere(t *testing.T) {
	t.Parallel()
	r := resulttest.Ledger()
	count := map[string]int{}
	for _, row := range read(t, r) {
		count[row["metric"]]++
		if row["metric"] != "database-blocks-hit" {
			continue
		}
		if row["value"] != "3" || row["unit"] != "" || row["arm"] == "grpc,db=embedded" {
			t.Fatalf("%v, want 3 blocks a call of a database outside the server", row)
		}
	}
	for metric, want := range map[string]int{
		"database-cpu": 2 * 2 * 20, "backend-cpu": 3 * 2 * 20, "pool-wait": 2 * 2 * 20,
		"database-blocks-hit": 2 * 2 * 20, "database-wal": 2 * 2 * 20, "database-read": 2 * 2 * 20,
	} {
		if count[metric] != want {
			t.Errorf("%d rows of %s, want %d", count[metric], metric, want)
		}
	}
}
