package postgres

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"wirelab"
	"wirelab/internal/leaktest"
	"wirelab/lab/result"
	"wirelab/results/store"
	"wirelab/results/store/storetest"
	"wirelab/system/postgres/postgrestest"
)

// server is one for all tests that do not kill it. Each test has its own
// database in it.
var server *postgrestest.Server

func TestMain(m *testing.M) {
	os.Exit(runAll(m))
}

func runAll(m *testing.M) int {
	code := postgrestest.Main(m, func(s *postgrestest.Server) { server = s })
	if err := leaktest.Find(time.Minute); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	return code
}

// database makes an empty database in a server and returns its connection string.
func database(t *testing.T, s interface{ DSN() string }) string {
	t.Helper()
	return postgrestest.Database(t, s)
}

// dsnOf is a connection string with a part changed.
func dsnOf(t *testing.T, dsn string, change func(*url.URL)) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	change(u)
	return u.String()
}

// ask runs statements on a new connection.
func ask(t *testing.T, dsn string, statements ...string) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(context.WithoutCancel(t.Context())) }()
	for _, text := range statements {
		if _, err := c.Exec(t.Context(), text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
}

// open opens the store in a database; the test closes it.
func open(t *testing.T, dsn string) *Store {
	t.Helper()
	s, err := Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// one scans the one row of a query.
func one(t *testing.T, s *Store, query string, args []any, into ...any) {
	t.Helper()
	if err := s.pool.QueryRow(t.Context(), query, args...).Scan(into...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// puts stores results.
func puts(t *testing.T, s *Store, all ...*result.Result) {
	t.Helper()
	for _, r := range all {
		if err := s.Put(t.Context(), r); err != nil {
			t.Fatalf("put %s: %v", r.ID, err)
		}
	}
}

func TestContract(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store { return open(t, database(t, server)) })
}

func TestNoResultIsWithoutItsOrigin(t *testing.T) {
	t.Parallel()
	s := open(t, database(t, server))
	do := func(statement string) {
		t.Helper()
		if _, err := s.pool.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	storetest.Torn(t, s, func(*testing.T) func() {
		do(`ALTER TABLE wirelab_results.origins ADD CONSTRAINT refuses CHECK (false) NOT VALID`)
		return func() { do(`ALTER TABLE wirelab_results.origins DROP CONSTRAINT refuses`) }
	})
}

// Every row is there after a put, and none after a delete: what was made from
// a body follows it.
func TestTablesFollowTheBody(t *testing.T) {
	t.Parallel()
	s := open(t, database(t, server))
	for n := range 3 {
		puts(t, s, storetest.Sample(n))
	}
	tables := []string{
		"results", "bodies", "environments", "arms", "loads", "rounds", "failures", "trials", "runs", "figures",
		"histograms", "reservoirs",
	}
	size := func(name string) (n int) {
		one(t, s, "SELECT count(*) FROM wirelab_results."+name, nil, &n)
		return n
	}
	for _, name := range tables {
		if size(name) == 0 {
			t.Errorf("%s is empty", name)
		}
	}
	for n := range 3 {
		if err := s.Delete(t.Context(), storetest.Sample(n).ID); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range tables {
		if n := size(name); n != 0 {
			t.Errorf("%s has %d rows of results that are gone", name, n)
		}
	}
}

// Text that PostgreSQL cannot hold, and numbers outside its range, do not prevent
// the storing of a result.
func TestWhatPostgreSQLCannotHoldIsStoredAllTheSame(t *testing.T) {
	t.Parallel()
	s := open(t, database(t, server))
	r := storetest.Sample(0)
	r.Command, r.Environment.Host, r.Plan.Name = "a\x00b", "\xff", "x\x00"
	r.Environment.Settings = map[string]string{"k\x00": "v\x00"}
	r.Arms[0].Server = "\x00"
	r.Rounds[0].Trials[0].Sent = 1 << 63
	r.Rounds[0].Trials[0].Errors = map[string]uint64{"\x00": 1<<64 - 1, "b": 1<<64 - 1}
	r.Plan.Seed = 1<<64 - 1
	puts(t, s, r)
	got, err := s.Get(t.Context(), r.ID)
	if err != nil || got.Command != "a␀b" || got.Rounds[0].Trials[0].Sent != 1<<63 {
		t.Errorf("%v", err)
	}
	var seed string
	one(t, s, `SELECT seed::text FROM wirelab_results.results`, nil, &seed)
	if seed != "18446744073709551615" {
		t.Errorf("seed %s", seed)
	}
	for _, f := range []store.Filter{{Name: "x\x00"}, {Host: "\xff"}, {Protocol: "\x00"}} {
		if list, err := s.List(t.Context(), f); err != nil || len(list) != 0 {
			t.Errorf("%+v: %v, %v", f, list, err)
		}
	}
	for _, id := range []string{"\x00", "\xff", "r-\x00"} {
		if _, err := s.Get(t.Context(), id); wirelab.CodeOf(err) != wirelab.NotFound {
			t.Errorf("%q: %v", id, err)
		}
		if err := s.Delete(t.Context(), id); wirelab.CodeOf(err) != wirelab.NotFound {
			t.Errorf("delete %q: %v", id, err)
		}
		if err := s.Forget(t.Context(), id); err != nil {
			t.Errorf("forget %q: %v", id, err)
		}
	}
}

// Old news is not only hidden: nothing grows for ever.
func TestOldNewsIsRemoved(t *testing.T) {
	t.Parallel()
	s := open(t, database(t, server))
	for n, ago := range []time.Duration{store.ForgottenAfter + time.Second, store.ForgottenAfter + time.Minute, 0} {
		r := storetest.News(n)
		r.Reported = time.Now().Add(-ago)
		if err := s.Report(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	var n int
	if one(t, s, `SELECT count(*) FROM wirelab_results.running`, nil, &n); n != 1 {
		t.Errorf("%d rows, want 1", n)
	}
}

// What cannot be opened says why and what to do, and never shows the password
// (grb-D14).
func TestOpenSaysWhatToDo(t *testing.T) {
	t.Parallel()
	const secret = "s3cr3t-and-%25"
	good := database(t, server)
	later := database(t, server)
	s := open(t, later)
	if _, err := s.pool.Exec(t.Context(),
		`INSERT INTO wirelab_results.schema_version (version_id, is_applied) VALUES (99, true)`); err != nil {
		t.Fatal(err)
	}
	limited := database(t, server)
	ask(t, limited, `CREATE ROLE limited LOGIN PASSWORD 's3cr3t-and-%25'`)
	damaged := database(t, server)
	s = open(t, damaged)
	if _, err := s.pool.Exec(t.Context(), `DROP TABLE wirelab_results.bodies`); err != nil {
		t.Fatal(err)
	}
	as := func(dsn, user string) string {
		return dsnOf(t, dsn, func(u *url.URL) { u.User = url.UserPassword(user, secret) })
	}
	for name, c := range map[string]struct {
		dsn  string
		code wirelab.Code
		say  []string
	}{
		"wrong password": {as(good, "wirelab"), wirelab.Unauthenticated, []string{"user wirelab", "password"}},
		"unknown user":   {as(good, "stranger"), wirelab.Unauthenticated, []string{"user stranger"}},
		"unknown database": {
			dsnOf(t, good, func(u *url.URL) { u.Path = "/nowhere" }), wirelab.NotFound,
			[]string{"nowhere", "no such database"},
		},
		"no server": {
			as(dsnOf(t, good, func(u *url.URL) { u.Host = "127.0.0.1:1" }), "x"),
			wirelab.Unavailable,
			[]string{"127.0.0.1:1", "cannot be reached"},
		},
		"not a string": {
			"postgres://wirelab:" + secret + "@127.0.0.1:port/x", wirelab.InvalidArgument,
			[]string{"cannot be read"},
		},
		"a later wirelab":     {later, wirelab.Unimplemented, []string{"later wirelab", "form 99"}},
		"no right to make it": {as(limited, "limited"), wirelab.PermissionDenied, []string{"limited", "GRANT CREATE"}},
	} {
		_, err := Open(t.Context(), c.dsn)
		if err == nil || wirelab.CodeOf(err) != c.code {
			t.Errorf("%s: %v, want %v", name, err, c.code)
			continue
		}
		for _, part := range c.say {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %q lacks %q", name, err, part)
			}
		}
		if strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%s: the password is shown: %v", name, err)
		}
	}
	if err := s.Put(t.Context(), storetest.Small(0)); wirelab.CodeOf(err) != wirelab.Internal ||
		!strings.Contains(err.Error(), "is damaged") {
		t.Errorf("damaged: %v", err)
	}
}

// Who may only read can read: a dashboard needs no right to write.
func TestReadersNeedNoRightToWrite(t *testing.T) {
	t.Parallel()
	dsn := database(t, server)
	s := open(t, dsn)
	puts(t, s, storetest.Small(0))
	ask(t, dsn, `CREATE ROLE reader LOGIN PASSWORD 'r'`, `GRANT USAGE ON SCHEMA wirelab_results TO reader`,
		`GRANT SELECT ON ALL TABLES IN SCHEMA wirelab_results, public TO reader`)
	reader := open(t, dsnOf(t, dsn, func(u *url.URL) { u.User = url.UserPassword("reader", "r") }))
	if list, err := reader.List(t.Context(), store.Filter{}); err != nil || len(list) != 1 {
		t.Errorf("list: %v, %v", list, err)
	}
	if _, err := reader.Get(t.Context(), storetest.Small(0).ID); err != nil {
		t.Error(err)
	}
	if _, err := reader.Running(t.Context()); err != nil {
		t.Error(err)
	}
	err := reader.Put(t.Context(), storetest.Small(1))
	if wirelab.CodeOf(err) != wirelab.PermissionDenied || !strings.Contains(err.Error(), "user reader may not") {
		t.Errorf("put: %v", err)
	}
	// A standby, or a database set to read only.
	ask(t, dsn, `ALTER ROLE reader SET default_transaction_read_only = on`,
		`GRANT INSERT ON ALL TABLES IN SCHEMA wirelab_results TO reader`)
	reader = open(t, dsnOf(t, dsn, func(u *url.URL) { u.User = url.UserPassword("reader", "r") }))
	began := time.Now()
	err = reader.Put(t.Context(), storetest.Small(1))
	if wirelab.CodeOf(err) != wirelab.Unavailable || !strings.Contains(err.Error(), "only reads") {
		t.Errorf("put: %v after %v", err, time.Since(began))
	}
}
