// Package postgrestest gives tests a real PostgreSQL server: one for a package's whole run, and an empty
// database in it for each test. Where no server is installed tests are skipped, and that is reported
// ([prereq]). It knows nothing of a database's content.
package postgrestest

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"wirelab/internal/prereq"
	"wirelab/system/postgres"
)

// Need skips a test where no server is installed that it could start, and with -short.
func Need(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a server")
	}
	_, err := postgres.Find(t.Context(), os.Getenv)
	prereq.PostgreSQL.Need(t, err)
}

// Server is one that many tests use, perhaps those of other packages as well. A
// test makes databases and users in it, and does nothing to the server itself: a
// test that does starts its own.
type Server struct{ dsn string }

// DSN is the connection string of the server's first user.
func (s *Server) DSN() string { return s.dsn }

// Start starts a server that keeps nothing for longer than the tests run.
func Start(ctx context.Context) (*postgres.Server, error) {
	return postgres.Start(ctx, postgres.Options{Settings: []postgres.Setting{
		{Name: "fsync", Value: "off"}, // no one pulls the plug of a test, and databases are made in a fifth of the time
	}})
}

// Main runs a package's tests with a server, which use gets before the first, and returns the exit code: func
// TestMain(m) { os.Exit(postgrestest.Main(m, …)) }. The server is that of the runner of all tests, or else the
// package's own.
func Main(m *testing.M, use func(*Server)) int {
	if why := prereq.Short(); why != nil {
		return prereq.PostgreSQL.LeaveOut(why)
	}
	if _, err := postgres.Find(context.Background(), os.Getenv); err != nil {
		return prereq.PostgreSQL.Package(m, err)
	}
	if dsn := prereq.Shared(prereq.PostgreSQLVariable); dsn != "" {
		use(&Server{dsn})
		return m.Run()
	}
	s, err := Start(context.Background())
	if err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "these tests need a PostgreSQL server that starts: %v\n", err)
		return 1
	}
	use(&Server{s.DSN()})
	code := m.Run()
	if err := s.Stop(context.Background()); err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "stop the PostgreSQL server of the tests: %v\n", err)
		return 1
	}
	return code
}

// Fresh returns the connection string of an empty database for one test of a
// package without [Main]: in the server of the runner of all tests, or else in
// one that is started for this test.
func Fresh(t testing.TB) string {
	t.Helper()
	Need(t)
	if dsn := prereq.Shared(prereq.PostgreSQLVariable); dsn != "" {
		return Database(t, &Server{dsn})
	}
	s, err := Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return Database(t, s)
}

// Database makes an empty database for one test and returns its connection
// string. It goes with the server: dropping it would wait for a checkpoint.
func Database(t testing.TB, s interface{ DSN() string }) string {
	t.Helper()
	name := "test_" + strings.ToLower(rand.Text())
	at, err := url.Parse(s.DSN())
	if err != nil {
		t.Fatal("the server's connection string is no URL")
	}
	run(t, s.DSN(), "CREATE DATABASE "+name)
	at.Path = "/" + name
	return at.String()
}

// Guest makes a user of the server who may read a database and make nothing in it, and returns the database's
// connection string as theirs; password is what must show nowhere. Users are the server's and not a database's:
// each has its own name, and stays for as long as the server.
func Guest(t testing.TB, dsn, password string) string {
	t.Helper()
	at, err := url.Parse(dsn)
	if err != nil {
		t.Fatal("the database's connection string is no URL")
	}
	name := "guest_" + strings.ToLower(rand.Text())
	run(t, dsn, "CREATE USER "+name+" PASSWORD '"+password+"'")
	at.User = url.UserPassword(name, password)
	return at.String()
}

// run runs one statement over a separate connection.
func run(t testing.TB, dsn, statement string) {
	t.Helper()
	ctx := context.Background() // the test's ends before its cleanup
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	if _, err := conn.Exec(ctx, statement); err != nil {
		t.Errorf("%s: %v", statement, err)
	}
	if err := conn.Close(ctx); err != nil {
		t.Errorf("%s: %v", statement, err)
	}
}
