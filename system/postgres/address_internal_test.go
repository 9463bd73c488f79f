package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"wirelab"
	"wirelab/internal/prereq"
)

// The shown part of a connection string is where the database is (docs/origins.md grb-D14: a password unescaped
// in a URL, and on the command line).
func TestRedact(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ dsn, shown string }{
		{"postgres://me:s3cret@db.example:5433/ledger", "db.example:5433/ledger"},
		{"postgres://me:s3%40cret%2F@db.example:5433/ledger?sslmode=disable", "db.example:5433/ledger"},
		{"postgresql://db.example/ledger?user=me&password=s3cret", "db.example:5432/ledger"},
		{"host=db.example port=5433 user=me password=s3cret dbname=ledger", "db.example:5433/ledger"},
		{"host=/run/pg port=5433 user=me password='s3 cret' dbname=ledger", "/run/pg:5433/ledger"},
		{"postgres://me:s3cret@db.example:port/ledger", "(a connection string that cannot be read)"},
		{"postgres://me:s3cret/@db.example/ledger?sslmode=perhaps", "(a connection string that cannot be read)"},
		{"s3cret", "(a connection string that cannot be read)"},
	} {
		shown := Redact(c.dsn)
		if shown != c.shown {
			t.Errorf("%s is shown as %s", c.dsn, shown)
		}
		_, err := Parse(c.dsn)
		if err != nil && (strings.Contains(err.Error(), "cret") || wirelab.CodeOf(err) != wirelab.InvalidArgument) {
			t.Errorf("%s: %v", c.dsn, err)
		}
	}
	// A password with every awkward character comes out as it went in.
	awkward := `a/b?c#d@e:f%g&h=i'j"k l\m+ü`
	for _, text := range []string{dsn("127.0.0.1", 5433, awkward), socketDSN("/tmp/some where", 5433, awkward)} {
		config, err := pgx.ParseConfig(text)
		if err != nil || config.Password != awkward || config.User != owner || config.Database != database ||
			config.Port != 5433 {
			t.Errorf("a password became %v, %v", config, err)
		}
	}
}

// Failures of the database are the same codes for every workload and store, and
// say nothing of what it said (grb-D09: every failure was unknown or not found,
// with the database's text).
func TestCoded(t *testing.T) {
	t.Parallel()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	late, stop := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer stop()
	state := func(s string) error {
		return &pgconn.PgError{Code: s, Message: "s3cret", Detail: "s3cret", TableName: "s3cret"}
	}
	for _, c := range []struct {
		name string
		ctx  context.Context
		err  error
		code wirelab.Code
		lost bool
	}{
		{"disk full", nil, state("53100"), wirelab.ResourceExhausted, false},
		{"out of memory", nil, state("53200"), wirelab.ResourceExhausted, false},
		{"too many connections", nil, state("53300"), wirelab.Unavailable, false},
		{"cannot be serialised", nil, state("40001"), wirelab.Conflict, false},
		{"deadlock", nil, state("40P01"), wirelab.Conflict, false},
		{"unique", nil, state("23505"), wirelab.Conflict, false},
		{"administrator's shutdown", nil, state("57P01"), wirelab.Unavailable, true},
		{"crash of another backend", nil, state("57P02"), wirelab.Unavailable, true},
		{"starting up", nil, state("57P03"), wirelab.Unavailable, true},
		{"the database was dropped", nil, state("57P04"), wirelab.Unavailable, true},
		{"connection failure", nil, state("08006"), wirelab.Unavailable, true},
		{"the password was changed", nil, state("28P01"), wirelab.Unavailable, true},
		{"only reads: it is a standby now", nil, state("25006"), wirelab.Unavailable, true},
		{"a table is gone", nil, state("42P01"), wirelab.Internal, false},
		{"a check of ours", nil, state("23514"), wirelab.Internal, false},
		{"damaged data", nil, state("XX001"), wirelab.Internal, false},
		{"the call was given up and the statement stopped", over, state("57014"), wirelab.Canceled, false},
		{"the call ran out of time and the statement stopped", late, state("57014"), wirelab.DeadlineExceeded, false},
		{"another session stopped the statement", nil, state("57014"), wirelab.Canceled, false},
		{"the call was given up before", over, fmt.Errorf("s3cret: %w", context.Canceled), wirelab.Canceled, false},
		{
			"the call ran out of time", late, fmt.Errorf("s3cret: %w", context.DeadlineExceeded),
			wirelab.DeadlineExceeded,
			false,
		},
		{"the call was given up while a connection broke", over, io.ErrUnexpectedEOF, wirelab.Canceled, true},
		{
			"no server listens", nil,
			&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)},
			wirelab.Unavailable, true,
		},
		{"reset", nil, fmt.Errorf("s3cret: %w", syscall.ECONNRESET), wirelab.Unavailable, true},
		{"cut off", nil, fmt.Errorf("s3cret: %w", io.ErrUnexpectedEOF), wirelab.Unavailable, true},
		{"closed", nil, fmt.Errorf("s3cret: %w", pgconn.ErrConnClosed), wirelab.Unavailable, true},
		{"a column cannot be read", nil, errors.New("s3cret"), wirelab.Internal, false},
		{
			"coded already", nil, fmt.Errorf("s3cret: %w", wirelab.Errorf(wirelab.NotFound, "no account")),
			wirelab.NotFound,
			false,
		},
	} {
		ctx := c.ctx
		if ctx == nil {
			ctx = t.Context()
		}
		got := Coded(ctx, c.err)
		if wirelab.CodeOf(got) != c.code || lost(c.err) != c.lost {
			t.Errorf("%s: %v, a lost connection: %v", c.name, got, lost(c.err))
		}
		if strings.Contains(got.Error(), "s3cret") {
			t.Errorf("%s: %v gives the database's words away", c.name, got)
		}
		if _, is := got.(*wirelab.Error); !is {
			t.Errorf("%s: %T would not cross a wire", c.name, got)
		}
	}
	if Coded(t.Context(), nil) != nil {
		t.Error("success became an error")
	}
}

// Binaries are found where they are, the latest first, and where there are none
// it is said what to install.
func TestFind(t *testing.T) {
	t.Parallel()
	here, err := Find(t.Context(), os.Getenv)
	prereq.PostgreSQL.Need(t, err)
	none := func(string) string { return "" }
	if _, err := find(t.Context(), none); wirelab.CodeOf(err) != wirelab.NotFound || !strings.Contains(err.Error(),
		"apt-get install postgresql") {
		t.Errorf("without any: %v", err)
	}
	empty := t.TempDir()
	only := func(name, value string) func(string) string {
		return func(n string) string { return map[string]string{name: value}[n] }
	}
	if _, err := Find(t.Context(), only(BinVariable, empty)); wirelab.CodeOf(err) != wirelab.NotFound ||
		!strings.Contains(err.Error(), BinVariable) {
		t.Errorf("a folder without any was named: %v", err)
	}
	if got, err := find(t.Context(), only(BinVariable, here.Bin)); err != nil || got != here {
		t.Errorf("by %s: %v, %v", BinVariable, got, err)
	}
	if got, err := find(t.Context(), only("PATH", "relative:"+empty+":"+here.Bin)); err != nil || got != here {
		t.Errorf("by PATH: %v, %v", got, err)
	}
	places := t.TempDir()
	for _, version := range []string{"9.6", "15", "16"} {
		bin := filepath.Join(places, version, "bin")
		if err := os.MkdirAll(bin, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"initdb", "postgres"} {
			script := fmt.Sprintf("#!/bin/sh\necho 'postgres (PostgreSQL) %s.1 (of a test)'\n", version)
			if version == "16" && name == "postgres" {
				script = "#!/bin/sh\nexit 1\n" // half removed
			}
			if err := os.WriteFile(filepath.Join(bin, name), []byte(script), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got, err := find(t.Context(), none, places+"/*/bin"); err != nil || got.Version != "15.1" {
		t.Errorf("of 9.6, 15 and a 16 that does not run: %v, %v", got, err)
	}
}
