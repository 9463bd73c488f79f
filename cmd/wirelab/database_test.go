package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wirelab"
	"wirelab/cmd/internal/cli"
	"wirelab/cmd/internal/cli/clitest"
	"wirelab/cmd/internal/desk"
	"wirelab/internal/fault"
	"wirelab/lab/databases"
	"wirelab/lab/experiment"
	"wirelab/lab/plan"
	report "wirelab/results/report/json"
	"wirelab/results/store"
	"wirelab/system/postgres"
	"wirelab/system/postgres/postgrestest"
)

// Without a word of it an experiment starts a PostgreSQL of its own, and leaves neither a
// process nor a password behind. Arms over other kinds stand next to it, and the result
// says of each what it was over.
func TestExperimentStartsItsOwnDatabase(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	postgrestest.Need(t)
	p := begin(t, t.TempDir(), "compare", "grpc,db=memory", "grpc,db=embedded", "http1-json", "-w", "ledger.GetBalance",
		"--data", "100x1000",
		"--rounds", "1", "--slices", "1", "--slice", "100ms")
	p.ended(desk.ExitOK, desk.ExitNoWord)
	p.wantNoneLeft()
	r := p.stored()
	if r.Plan.Database != "postgres" || r.Plan.Pool != 16 {
		t.Errorf("database %q, a pool of %d", r.Plan.Database, r.Plan.Pool)
	}
	if len(r.Arms) != 3 || r.Arms[0].Database != "" || !strings.Contains(r.Arms[1].Database, "SQLite") ||
		!strings.HasPrefix(r.Arms[2].Database, "PostgreSQL ") {
		t.Errorf("arms %+v, want them over memory, SQLite and PostgreSQL with its version", r.Arms)
	}
	if len(r.Rounds) != 1 || len(r.Rounds[0].Trials) != 3 {
		t.Fatalf("%d rounds: %s", len(r.Rounds), p.said.String())
	}
	for _, trial := range r.Rounds[0].Trials {
		if trial.OK == 0 || len(trial.Errors) > 0 {
			t.Errorf("%d right replies, failures %v", trial.OK, trial.Errors)
		}
	}
}

// Without PostgreSQL, arms that name no database get the embedded one, and a note says so.
func TestWithoutPostgreSQLTheEmbeddedDatabaseIsUsed(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	alone := map[string]string{postgres.BinVariable: t.TempDir(), "HOME": t.TempDir()}
	a := newApp(cli.Terminal{Stderr: &said, Clock: clitest.Still{}}, nil,
		func(name string) string { return alone[name] })
	p := plan.Plan{
		Workload: "ledger",
		Arms:     []plan.Arm{{Protocol: "grpc", Database: wirelab.Memory}, {Protocol: "http1-json"}},
	}
	p, err := new(databases.Choice).Apply(t.Context(), &a.Databases, a.Catalog, p)
	if err := fault.Both(err, a.Databases.Close()); err != nil {
		t.Fatal(err)
	}
	if p.Database != databases.Embedded || p.Arms[0].Database != wirelab.Memory ||
		!strings.Contains(said.String(), "the embedded database instead") {
		t.Errorf("the plan's database is %q, and standard error says:\n%s", p.Database, said.String())
	}
}

// An experiment outlives a crash of its database: what failed is counted by its code, and
// later rounds are measured again. Where the same server is to keep the result and dies
// as well, no result is lost: it is in a file, and the words say how to take it in.
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
		if err := server.Stop(context.WithoutCancel(ctx)); err != nil {
			t.Error(err)
		}
	}()
	team := newShell(t)
	team.env["WIRELAB_STORE"] = server.DSN()
	p := begin(t, t.TempDir(), "compare", "http1-json", "-w", "ledger.GetBalance", "--data", "100x1000",
		"--db", server.DSN(), "--results", server.DSN(), "--rounds", "1000", "--slices", "1", "--rate", "200",
		"--slice", "3s")
	a := newApp(cli.Terminal{}, nil, func(key string) string { return team.env[key] })
	if err := a.WithStore(ctx, func(results store.Store) error {
		p.telling(results, does(experiment.Measuring, ""))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := server.Kill(ctx); err != nil {
		t.Fatal(err)
	}
	p.untilRound(1) // so that calls of it failed, however slow the machine is
	if err := server.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	p.untilRound(3)
	if err := server.Kill(ctx); err != nil {
		t.Fatal(err)
	}
	p.interrupt()
	p.want(desk.ExitFailed, "cannot be reached", "wirelab results import r-")
	p.wantNoneLeft()
	files, err := filepath.Glob(filepath.Join(p.command.Dir, "r-*.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	body, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	team.run("results", "import", files[0]).wants(t, desk.ExitOK, []string{"r-"}, nil)
	r := decode[report.Document](t, team.run("results", "show", "--json").stdout).Result
	failed, last := uint64(0), uint64(0)
	for _, round := range r.Rounds {
		for _, trial := range round.Trials {
			failed += trial.Errors["unavailable"]
			if failed > 0 {
				last += trial.OK
			}
		}
		failed += uint64(len(round.Failures))
	}
	if failed == 0 || last == 0 || len(r.Rounds) < 3 {
		t.Errorf("%d failures, %d right replies after them in %d rounds; want some of both in 3 or more", failed, last,
			len(r.Rounds))
	}
	address, err := postgres.Parse(server.DSN())
	if err != nil {
		t.Fatal(err)
	}
	secret := strings.TrimPrefix(server.DSN(), "postgres://"+address.User+":")
	secret, _, _ = strings.Cut(secret, "@")
	if len(secret) < 10 || strings.Contains(string(body), secret) || strings.Contains(p.said.String(), secret) ||
		strings.Contains(r.Command, secret) {
		t.Errorf("the password is in the store, the output or the command line (docs/origins.md grb-D14)")
	}
}

// What cannot be is said before anything is started.
func TestDatabasesThatCannotBe(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	for want, args := range map[string][]string{
		"keeps its data in memory":           {"compare", "grpc", "-w", "directory.GetPerson", "--db", "embedded"},
		`unknown database of ledger "mysql"`: {"compare", "grpc", "-w", "ledger.GetBalance", "--db", "mysql"},
		"pool is 2000": {
			"compare", "grpc", "-w", "ledger.GetBalance", "--db", "memory", "--pool",
			"2000",
		},
		"connection string cannot be read": {"serve", "ledger", "grpc", "--db", "postgres://me:s3cret@:::/x"},
		`unknown setting "database"`:       {"compare", "grpc,database=embedded", "-w", "ledger.GetBalance"},
		"data set": {
			"compare", "grpc", "-w", "ledger.GetBalance", "--db", "memory", "--data",
			"many",
		},
		"127.0.0.1:1/none": {
			"serve", "ledger", "grpc", "--db",
			"postgres://me:s3cret@127.0.0.1:1/none",
		},
	} {
		o := s.run(args...)
		if o.code == desk.ExitOK || !strings.Contains(o.stderr, want) || strings.Contains(o.stderr, "s3cret") {
			t.Errorf("%v: exit code %d, said %q; want %q and no password", args, o.code, o.stderr, want)
		}
	}
}
