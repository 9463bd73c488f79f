package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"wirelab/experiment"
	"wirelab/postgres"
	"wirelab/postgres/postgrestest"
)

// Without a word of it an experiment starts a PostgreSQL of its own, says in
// the result what it was, and leaves neither a process nor a password behind.
func TestExperimentStartsItsOwnDatabase(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	postgrestest.Need(t)
	p := begin(t, t.TempDir(), "compare", "grpc", "http1-json", "-w", "ledger.GetBalance", "--data", "100x1000",
		"--rounds", "1", "--slices", "1", "--slice", "100ms")
	p.ended(exitOK, exitNoWord)
	p.wantNoneLeft()
	r := p.stored()
	if r.Plan.Database != "postgres" || r.Plan.Pool != 16 {
		t.Errorf("database %q, a pool of %d", r.Plan.Database, r.Plan.Pool)
	}
	for _, arm := range r.Arms {
		if !strings.HasPrefix(arm.Database, "PostgreSQL ") {
			t.Errorf("%s is over %q, want PostgreSQL with its version", arm.Name, arm.Database)
		}
	}
	if len(r.Rounds) != 1 || len(r.Rounds[0].Trials) != 2 {
		t.Fatalf("%d rounds: %s", len(r.Rounds), p.said.String())
	}
	for _, trial := range r.Rounds[0].Trials {
		if trial.OK == 0 || len(trial.Errors) > 0 {
			t.Errorf("%d right replies, failures %v", trial.OK, trial.Errors)
		}
	}
}

// Arms over several kinds stand in one experiment, each labelled. A machine without
// PostgreSQL gets the embedded one for an arm that names none, and is told.
func TestResultsAreLabelledWithTheirDatabase(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	alone := []string{postgres.BinVariable + "=" + t.TempDir(), "HOME=" + t.TempDir(), "XDG_DATA_HOME="}
	p := beginWith(t, t.TempDir(), alone, "compare", "grpc,db=memory", "grpc,db=embedded", "http1-json", "-w", "ledger.GetBalance", "--data", "100x1000",
		"--rounds", "1", "--slices", "1", "--slice", "100ms", "-q")
	p.ended(exitOK, exitNoWord)
	r := p.stored()
	if len(r.Arms) != 3 || r.Arms[0].Database != "" || !strings.Contains(r.Arms[1].Database, "SQLite") || !strings.Contains(r.Arms[2].Database, "SQLite") {
		t.Errorf("arms %+v, want them over memory, SQLite and SQLite", r.Arms)
	}
	if !strings.Contains(p.said.String(), "the embedded database instead") {
		t.Errorf("without PostgreSQL standard error says:\n%s", p.said.String())
	}
}

// An experiment outlives a crash of its database: what failed meanwhile is
// counted by its code, and later rounds are measured again.
func TestDatabaseIsKilledInMidRun(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	ctx := t.Context()
	postgrestest.Need(t)
	server, err := postgres.Start(ctx, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.Stop(ctx); err != nil {
			t.Error(err)
		}
	}()
	p := begin(t, t.TempDir(), "compare", "http1-json", "-w", "ledger.GetBalance", "--data", "100x1000", "--db", server.DSN(),
		"--rounds", "3", "--slices", "1", "--rate", "200", "--slice", "3s")
	p.reaches(does(experiment.Measuring, ""), time.Millisecond)
	if err := server.Kill(ctx); err != nil {
		t.Fatal(err)
	}
	p.untilRound(1) // so that calls of it failed, however slow the machine is
	if err := server.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	p.ended(exitOK, exitNoWord, exitFailed)
	p.wantNoneLeft()
	r := p.stored()
	failed, last := uint64(0), uint64(0)
	for _, round := range r.Rounds {
		last = 0
		for _, trial := range round.Trials {
			failed += trial.Errors["unavailable"]
			last = trial.OK
		}
		failed += uint64(len(round.Failures))
	}
	if failed == 0 || last == 0 {
		t.Errorf("%d failures, %d right replies in the last of %d rounds; want some of both", failed, last, len(r.Rounds))
	}
	body, err := os.ReadFile(p.mark)
	if err != nil {
		t.Fatal(err)
	}
	address, err := postgres.Parse(server.DSN())
	if err != nil {
		t.Fatal(err)
	}
	secret := strings.TrimPrefix(server.DSN(), "postgres://"+address.User+":")
	secret, _, _ = strings.Cut(secret, "@")
	if len(secret) < 10 || strings.Contains(string(body), secret) || strings.Contains(p.said.String(), secret) || strings.Contains(r.Command, secret) {
		t.Errorf("the password is in the store, the output or the command line (systems.md grb-D14)")
	}
}

// What cannot be is said before anything is started.
func TestDatabasesThatCannotBe(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	for want, args := range map[string][]string{
		"keeps its data in memory":           {"compare", "grpc", "-w", "directory.GetPerson", "--db", "embedded"},
		`unknown database of ledger "mysql"`: {"compare", "grpc", "-w", "ledger.GetBalance", "--db", "mysql"},
		"pool is 2000":                       {"compare", "grpc", "-w", "ledger.GetBalance", "--db", "memory", "--pool", "2000"},
		"connection string cannot be read":   {"serve", "ledger", "grpc", "--db", "postgres://me:s3cret@:::/x"},
		`unknown setting "database"`:         {"compare", "grpc,database=embedded", "-w", "ledger.GetBalance"},
		"data set":                           {"compare", "grpc", "-w", "ledger.GetBalance", "--db", "memory", "--data", "many"},
		"127.0.0.1:1/none":                   {"serve", "ledger", "grpc", "--db", "postgres://me:s3cret@127.0.0.1:1/none"},
	} {
		o := s.run(args...)
		if o.code == exitOK || !strings.Contains(o.stderr, want) || strings.Contains(o.stderr, "s3cret") {
			t.Errorf("%v: exit code %d, said %q; want %q and no password", args, o.code, o.stderr, want)
		}
	}
}
