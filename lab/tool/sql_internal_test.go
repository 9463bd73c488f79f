package tool

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"wirelab/lab/audit"
)

const pgbenchSaid = `pgbench (15.18)
transaction type: script.sql
number of clients: 10
number of transactions actually processed: 500
number of failed transactions: 2 (0.398%)
latency average = 2.4 ms
tps = 250.000000 (without initial connection time)
`

func TestReportsOfStatements(t *testing.T) {
	t.Parallel()
	told, err := pgbenchReport(audit.Output{Stdout: pgbenchSaid})
	if err != nil || told.Right != 500 || told.Wrong != 2 || told.Elapsed != 2*time.Second {
		t.Errorf("%+v, %v", told, err)
	}
	gaveUp := "pgbench: error: client 3 script 0 aborted in command 1 query 0: ERROR:  no such table"
	early := strings.NewReplacer("processed: 500", "processed: 0",
		"tps = 250.000000 (without initial connection time)", "")
	if _, err := pgbenchReport(audit.Output{Stdout: early.Replace(pgbenchSaid)}); !errors.Is(err, errNoneEnded) {
		t.Errorf("a run that was over before all were connected: %v", err)
	}
	for _, o := range []audit.Output{
		{Stdout: pgbenchSaid, Stderr: gaveUp},
		{Stdout: strings.Replace(pgbenchSaid, "processed: 500", "processed: 0", 1)},
		{Stderr: "pgbench: error: connection to server failed"},
	} {
		if told, err := pgbenchReport(o); err == nil {
			t.Errorf("%+v of %+v", told, o)
		}
	}
}

// The password must not be in the command line, which every user of a machine can read.
func TestDatabaseIsToldByEnvironment(t *testing.T) {
	t.Parallel()
	all, err := pgbench().environment(Request{
		Script: "SELECT 1;", SearchPath: "logging",
		Database: "postgres://me:pass%20word@db.example:5433/lab?sslmode=disable",
	})
	want := []string{
		"PGHOST=db.example", "PGPORT=5433", "PGUSER=me", "PGPASSWORD=pass word", "PGDATABASE=lab", "PGSSLMODE=disable",
		"PGOPTIONS=-c search_path=logging",
	}
	if err != nil || !slices.Equal(all, want) {
		t.Errorf("%q, %v", all, err)
	}
	all, err = libpq("postgres:///lab?host=/run/pg")
	if err != nil || !slices.Equal(all, []string{"PGHOST=/run/pg", "PGDATABASE=lab"}) {
		t.Errorf("%q, %v", all, err)
	}
	if _, err := libpq("host=db.example"); err == nil || !strings.Contains(err.Error(), "postgres://") {
		t.Errorf("error %v, want one that shows a URL", err)
	}
}

// k6 is controlled by a script of this package, which also prints the report.
func TestScriptOfK6(t *testing.T) {
	t.Parallel()
	r := Request{Method: "POST", URL: "http://h/p", Body: []byte("a\"\x00"), Header: map[string][]string{"X": {`y"`}}}
	text, err := k6Script(r)
	for _, want := range []string{`new Uint8Array([97,34,0])`, `"X":"y\""`, `http.request("POST", "http://h/p"`} {
		if err != nil || !strings.Contains(text, want) {
			t.Errorf("no %s in %v\n%s", want, err, text)
		}
	}
	const said = "a line of the script\n" + `{"calls":12,"wrong":2,"milliseconds":1500.5}` + "\n"
	told, err := k6Report(audit.Output{Stdout: said})
	if err != nil || told.Right != 10 || told.Wrong != 2 || told.Elapsed != 1500500*time.Microsecond {
		t.Errorf("%+v, %v", told, err)
	}
	for _, o := range []string{"", "nothing", `{"calls":1,"wrong":2,"milliseconds":1}`, `{"calls":1}`} {
		if told, err := k6Report(audit.Output{Stdout: o}); err == nil {
			t.Errorf("%q: %+v", o, told)
		}
	}
}
