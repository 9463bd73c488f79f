package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"wirelab"
	"wirelab/cmd/internal/desk"
	"wirelab/lab/databases"
	"wirelab/system/postgres"
	"wirelab/system/postgres/postgrestest"
	"wirelab/workload/logging"
	logged "wirelab/workload/logging/database/postgres"
)

// A server is started once, holds data sets, is found again after it died, and
// is gone when it is stopped (docs/origins.md grb-D15); nothing printed holds its
// password (grb-D14); seeding twice changes nothing (grb-D05).
func TestDB(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	s := newShell(t)
	getenv := func(key string) string { return s.env[key] }
	t.Cleanup(func() { _, _, _ = postgres.Dismiss(context.Background(), getenv, false) }) // where the test failed
	s.run("db", "status").wants(t, desk.ExitOK, []string{"not running"}, nil)
	s.run("db", "seed").wants(t, desk.ExitUsage, nil, []string{"wirelab db start", postgres.Variable})
	s.run("db", "stop").wants(t, desk.ExitOK, nil, []string{"no server"})
	if got := decode[databases.Status](t, s.run("db", "status", "--json").stdout); got.Running || got.Sets == nil {
		t.Errorf("without a server: %+v", got)
	}

	postgrestest.Need(t)
	var said strings.Builder
	run := func(args ...string) outcome {
		o := s.run(args...)
		said.WriteString(o.stdout + o.stderr)
		return o
	}
	run("db", "start").wants(t, desk.ExitOK, []string{"started at 127.0.0.1:", "process "}, nil)
	run("db", "start").wants(t, desk.ExitOK, []string{"runs already at 127.0.0.1:"}, nil)
	run("db", "status").wants(t, desk.ExitOK, []string{"no data sets yet"}, nil)
	run("db", "seed", "--accounts", "100", "--transactions", "1000").wants(t, desk.ExitOK,
		[]string{"data set 100x1000 written in"}, nil)
	run("db", "seed", "--accounts", "100", "--transactions", "1000").wants(t, desk.ExitOK,
		[]string{"data set 100x1000 is there already"}, nil)
	if again := decode[dbSeeded](t,
		run("db", "seed", "--accounts", "100", "--transactions", "1000", "--again", "--json").stdout); !again.Written ||
		again.Set != "100x1000" {
		t.Error("it was not written again")
	}
	run("db", "seed", "--accounts", "3").wants(t, desk.ExitUsage, nil, []string{"3x100000"})
	run("db", "seed", "--transactions", "-1").wants(t, desk.ExitUsage, nil, []string{"10000x-1"})
	run("db", "status").wants(t, desk.ExitOK, []string{"PostgreSQL", "127.0.0.1:", "ledger 100x1000  100       1000"},
		nil)
	status := decode[databases.Status](t, run("db", "status", "--json").stdout)
	if !status.Running || status.PID == 0 || len(status.Sets) != 1 || status.Sets[0].Transactions != 1000 ||
		len(status.Settings) < 10 {
		t.Errorf("status %+v", status)
	}
	if status.State != filepath.Join(filepath.Dir(s.env["WIRELAB_STORE"]), "results-postgres.json") {
		t.Errorf("its state is in %s", status.State)
	}

	// The environment's is used instead, and said to be.
	s.env[postgres.Variable] = "postgres://me:s3cret@127.0.0.1:1/x?sslmode=disable"
	run("db", "status").wants(t, desk.ExitOK, nil, []string{"WIRELAB_DB is set: commands use 127.0.0.1:1/x instead"})
	run("db", "seed").wants(t, desk.ExitFailed, nil, []string{"127.0.0.1:1/x cannot be reached"})
	delete(s.env, postgres.Variable)

	// After kill -9 it is found with its data.
	if err := syscall.Kill(status.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for decode[databases.Status](t, run("db", "status", "--json").stdout).Running {
		if t.Context().Err() != nil {
			t.Fatal("it does not die")
		}
	}
	run("db", "status").wants(t, desk.ExitOK, []string{"not running; its data is in " + status.Directory}, nil)
	run("db", "stop").wants(t, desk.ExitUsage, nil, []string{"--discard"})
	run("db", "start").wants(t, desk.ExitOK, []string{"started at " + status.Address}, nil)
	run("db", "seed", "--accounts", "100", "--transactions", "1000").wants(t, desk.ExitOK, []string{"is there already"},
		nil)
	run("db", "stop", "--keep").wants(t, desk.ExitOK, nil, []string{"stay in " + status.Directory})
	again := decode[databases.Status](t, run("db", "start", "--json").stdout)

	// A database that is no data set of wirelab is not removed silently.
	resident, _, err := postgres.Running(getenv)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := postgres.Connect(t.Context(), resident.Source, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), "CREATE TABLE results (n int)"); err != nil {
		t.Fatal(err)
	}
	password := conn.Config().Password
	if err := conn.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	// Tables of the logger are no loss as long as they are empty.
	opened, err := logged.Database().Open(t.Context(), wirelab.DatabaseAddress{Source: resident.Source, Pool: 1}, "")
	if err != nil {
		t.Fatal(err)
	}
	run("db", "stop").wants(t, desk.ExitUsage, nil, []string{"1 tables or databases besides its data sets"})
	if _, err := opened.Service.WriteLog(t.Context(), logging.Entry{ID: "kept", Name: "event"}); err != nil {
		t.Error(err)
	}
	if err := opened.Close(); err != nil {
		t.Error(err)
	}
	run("db", "stop").wants(t, desk.ExitUsage, nil, []string{"log entries"})
	run("db", "stop", "--keep", "--discard").wants(t, desk.ExitUsage, nil, nil)
	run("db", "stop", "--discard").wants(t, desk.ExitOK, nil, []string{"stopped, and removed"})
	if _, err := os.Stat(again.Directory); !os.IsNotExist(err) {
		t.Errorf("its directory is still there: %v", err)
	}
	if text := said.String(); strings.Contains(text, password) || strings.Contains(text, "s3cret") {
		t.Errorf("a password was printed:\n%s", text)
	}
}
