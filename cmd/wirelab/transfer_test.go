package main

import (
	"context"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"wirelab/cmd/internal/desk"
	"wirelab/results/store"
	"wirelab/results/store/sqlite"
	"wirelab/results/store/storetest"
	"wirelab/results/transfer"
	"wirelab/system/postgres"
	"wirelab/system/postgres/postgrestest"
)

// pushed copies with push, and returns what it says in JSON.
func (s *shell) pushed(code int, args ...string) transfer.Done {
	s.t.Helper()
	o := s.run(append([]string{"results", "push", "--json"}, args...)...)
	o.wants(s.t, code, nil, nil)
	return decode[transfer.Done](s.t, o.stdout)
}

func TestPushAndPull(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	s := newShell(t)
	s.stored(6)
	other := filepath.Join(t.TempDir(), "team.db")
	id := func(n int) string { return storetest.Sample(n).ID }

	some := s.pushed(desk.ExitOK, "--to", other, id(0), id(1)[:15])
	if some.Selected != 2 || strings.Join(some.Copied, " ") != id(0)+" "+id(1) || some.To != other {
		t.Errorf("by ids: %+v", some)
	}
	if last := s.pushed(desk.ExitOK, "--to", filepath.Join(t.TempDir(), "one.db"), "latest"); strings.Join(last.Copied,
		" ") != id(5) {
		t.Errorf("the latest: %+v", last)
	}
	byFilter := s.pushed(desk.ExitOK, "--to", other, "--name", "plan-1", "--limit", "2")
	if strings.Join(byFilter.Copied, " ") != id(5)+" "+id(3) || byFilter.Selected != 2 {
		t.Errorf("by filter: %+v", byFilter)
	}
	all := s.pushed(desk.ExitOK, "--to", other, "--all")
	if len(all.Copied) != 2 || len(all.Present) != 4 || all.Selected != 6 {
		t.Errorf("all: %+v", all)
	}
	s.run("results", "push", "--to", other, "--all").wants(t, desk.ExitOK,
		[]string{"0 copied from " + s.env["WIRELAB_STORE"] + " to " + other + ", 6 there already"}, nil)

	// And into an empty store, from where it went.
	empty := newShell(t)
	empty.run("results", "pull", "--from", other, "--all").wants(t, desk.ExitOK, []string{"6 copied from " + other},
		nil)
	for n := range 6 {
		if got, want := empty.run("results", "show", id(n)).stdout,
			s.run("results", "show", id(n)).stdout; got != want {
			t.Errorf("%s differs where it went", id(n))
		}
		got, want := withoutOrigin(empty.run("verify", id(n)).stdout), withoutOrigin(s.run("verify", id(n)).stdout)
		if got != want || !strings.Contains(got, "checked      digest") {
			t.Errorf("%s is verified otherwise where it went: %s", id(n), got)
		}
	}
	// --results is the own store, before the environment's.
	s.run("results", "list", "--results", other, "--limit", "2").wants(t, desk.ExitOK, []string{id(5)}, []string{})
	if o := s.run("results", "list", "--results", other, "--limit", "2"); !strings.Contains(o.stderr,
		"2 of 6 results") {
		t.Errorf("nothing is said of the others: %q", o.stderr)
	}
}

// Two results with one id: neither is lost, the others are copied, and it is said.
func TestPushConflict(t *testing.T) {
	t.Parallel()
	s, other := newShell(t), newShell(t)
	s.stored(3)
	theirs := storetest.Sample(1)
	theirs.Command = "another"
	file, err := store.Rescue(t.TempDir(), theirs)
	if err != nil {
		t.Fatal(err)
	}
	other.run("results", "import", file).wants(t, desk.ExitOK, nil, nil)
	o := s.run("results", "push", "--to", other.env["WIRELAB_STORE"], "--all")
	if o.code != desk.ExitFailed || !strings.Contains(o.stderr, "they differ") ||
		!strings.Contains(o.stderr, "1 of 3 results are not copied") ||
		!strings.Contains(o.stdout, "2 copied") || !strings.Contains(o.stdout, "1 not copied") {
		t.Errorf("%+v", o)
	}
	got := s.pushed(desk.ExitFailed, "--to", other.env["WIRELAB_STORE"], "--all")
	if len(got.Present) != 2 || len(got.Failed) != 1 || !got.Failed[0].Conflict || got.Failed[0].ID != theirs.ID {
		t.Errorf("%+v", got)
	}
	other.run("results", "export", theirs.ID).wants(t, desk.ExitOK, []string{`"command": "another"`}, nil)
}

func TestTransferMistakes(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.stored(1)
	missing := filepath.Join(t.TempDir(), "missing.db")
	for args, say := range map[string]string{
		"results push --all":                                             "to",
		"results push --to x.db":                                         "which results?",
		"results push --to x.db --all r-1":                               "not both",
		"results push --to x.db --all --name x":                          "leave the filters out",
		"results push --to x.db --limit 0":                               "1 to 10000",
		"results push --all --to " + s.env["WIRELAB_STORE"]:              "is the own store",
		"results pull --all --from " + missing:                           "no store to copy from",
		"results pull --all --from postgres://u:s3cr3t@127.0.0.1:port/x": "cannot be read",
	} {
		o := s.run(strings.Fields(args)...)
		o.wants(t, desk.ExitUsage, nil, []string{say})
		if strings.Contains(o.stderr, "s3cr3t") {
			t.Errorf("%s: the password is shown: %s", args, o.stderr)
		}
	}
	s.run("results", "push", "--to", missing, "r-1").wants(t, desk.ExitFailed, nil, nil)
}

// Ctrl-C keeps the copied results, and the same command continues.
func TestPushInterrupted(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.stored(4)
	from, err := sqlite.Open(t.Context(), s.env["WIRELAB_STORE"])
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = from.Close() }()
	other := filepath.Join(t.TempDir(), "team.db")
	to, err := sqlite.Open(t.Context(), other)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = to.Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	done := &transfer.Done{}
	if err := transfer.CopyAll(ctx, from, &cancelling{to, cancel, 2}, nil, store.Filter{}, done,
		func(string) {}); err == nil || len(done.Copied) != 2 {
		t.Errorf("%+v, %v", done, err)
	}
	got := s.pushed(desk.ExitOK, "--to", other, "--all")
	if len(got.Copied) != 2 || len(got.Present) != 2 {
		t.Errorf("afterwards: %+v", got)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	o := s.runWith(ended, "", "results", "push", "--to", other, "--all")
	o.wants(t, desk.ExitNoWord, nil, nil)
}

// cancelling ends a context when so many results have been put.
type cancelling struct {
	store.Store
	cancel context.CancelFunc
	after  int
}

func (c *cancelling) PutPacked(ctx context.Context, packed store.Packed) error {
	err := c.Store.PutPacked(ctx, packed)
	if c.after--; c.after == 0 {
		c.cancel()
	}
	return err
}

var fromLine = regexp.MustCompile(`(?m)^  from .*\n`)

// All commands that know results do with a PostgreSQL what they do with a
// file, and no password is shown or stored (grb-D14).
func TestInPostgreSQL(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	dsn := postgrestest.Fresh(t)
	s := newShell(t)
	s.stored(3)
	shown := "postgres://" + postgres.Redact(dsn)
	s.run("results", "push", "--to", dsn, "--all").wants(t, desk.ExitOK, []string{"3 copied", "to " + shown}, nil)
	team := newShell(t)
	team.env["WIRELAB_STORE"] = dsn
	for _, args := range []string{
		"results list --json", "results show", "results show " + storetest.Sample(1).ID, "results export",
		"results list --protocol connect", "verify latest", "results list --host missing",
	} {
		mine, theirs := s.run(strings.Fields(args)...), team.run(strings.Fields(args)...)
		// From where a result came is a store's own to tell.
		if mine.code != theirs.code ||
			fromLine.ReplaceAllString(mine.stdout, "") != fromLine.ReplaceAllString(theirs.stdout, "") {
			t.Errorf("%s: exit code %d from the file, %d from PostgreSQL: %s\n%s\n%s", args, mine.code, theirs.code,
				theirs.stderr, mine.stdout, theirs.stdout)
		}
	}
	team.run("verify", "latest").wants(t, desk.ExitOK, []string{"copied from another store", "its digest was checked"},
		nil)
	s.run("results", "rm", storetest.Sample(0).ID, "--results", dsn).wants(t, desk.ExitOK, nil, []string{"removed"})
	s.run("results", "pull", "--from", dsn, "--all").wants(t, desk.ExitOK, []string{"0 copied", "2 there already"}, nil)

	// An experiment stores its result there, and says nothing of how.
	p := everyArmPostsForItself(t, dsn)
	list := decode[[]store.Summary](t, team.run("results", "list", "--json", "--limit", "1").stdout)
	if len(list) != 1 || list[0].ID == storetest.Sample(2).ID || list[0].Workload != "ledger" {
		t.Fatalf("%+v", list)
	}
	password := dsn[strings.Index(dsn, ":")+1:]
	password = password[strings.Index(password, ":")+1 : strings.Index(password, "@")]
	export := team.run("results", "export", list[0].ID).stdout
	if strings.Contains(export, password) || strings.Contains(p.stdout.String(), password) ||
		strings.Contains(p.said.String(), password) {
		t.Error("the password is shown or stored")
	}
	if !strings.Contains(export, "--results postgres://") {
		t.Errorf("the command line is not what was typed: %.500s", export)
	}
}

// everyArmPostsForItself runs an experiment twice, by one seed, over a database that both
// its arms share, and returns the second run. Neither arms nor runs may share the ids of
// what they post, or the later would only be told what the first one did.
func everyArmPostsForItself(t *testing.T, dsn string) (p *program) {
	t.Helper()
	right := uint64(0)
	for range 2 {
		p = begin(t, t.TempDir(), "compare", "grpc", "http1-json", "-w", "ledger.PostTransaction", "--data", "100x1000",
			"--db", dsn, "--results", dsn, "--seed", "7", "--rounds", "1", "--slices", "1", "--slice", "30ms", "-q",
			"--json")
		p.ended(desk.ExitOK, desk.ExitNoWord)
		p.wantNoneLeft()
		for _, trial := range p.printed().Result.Rounds[0].Trials {
			right += trial.OK
		}
	}
	conn, err := postgres.Connect(t.Context(), dsn, "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	posted := uint64(0)
	if err := conn.QueryRow(t.Context(),
		`SELECT count(*) FROM ledger_100x1000.transactions WHERE position > 1000`).Scan(&posted); err != nil {
		t.Fatal(err)
	}
	if right == 0 || posted < right {
		t.Errorf("%d postings were right, and %d are in the log", right, posted)
	}
	return p
}

// withoutOrigin is what verify said, but for the line that says from where a result came.
func withoutOrigin(said string) string {
	return regexp.MustCompile(`(?m)^  from .*\n`).ReplaceAllString(said, "")
}
