package postgres_test

import (
	"context"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"

	"wirelab/internal/process"
	"wirelab/system/postgres"
	"wirelab/system/postgres/postgrestest"
)

// The account of a server: found among the processes of this host, with what its connections used, those that
// were closed between two readings too (grb-M13: no one looked at the database, and its saturation was a
// guess).
func TestAccount(t *testing.T) {
	t.Parallel()
	s := start(t)
	dsn := postgrestest.Database(t, s)
	account, err := postgres.OpenAccount(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = account.Close(context.Background()) })
	if account.Elsewhere() || account.PID() != s.PID() {
		t.Fatalf("the account is of process %d, the server is %d", account.PID(), s.PID())
	}
	before, err := account.Processes()
	if err != nil {
		t.Fatal(err)
	}
	used := worked(t, dsn)
	// What the kernel counts of an ended process is cut to ticks; the account's
	// readings before it ended and after are not of the same kind.
	const ticks = 20_000_000
	var after *postgres.Use
	// A backend ends after its client, and counts again once it was waited for.
	for began := time.Now(); time.Since(began) < time.Minute; {
		if after, err = account.Processes(); err != nil {
			t.Fatal(err)
		}
		if int64(after.CPU-before.CPU) >= used-ticks {
			break
		}
	}
	if got := int64(after.CPU - before.CPU); got < used-ticks {
		t.Errorf("the server used %d ns while a connection of it used %d ns", got, used)
	}
	if after.Background > after.CPU || after.Background == 0 {
		t.Errorf("of %v the server used %v for itself", after.CPU, after.Background)
	}
	if !after.Storage {
		t.Error("storage is not known of a server that we started")
	}
	cpu := before.CPUs[:1]
	if err := account.Pin(cpu); err != nil {
		t.Fatal(err)
	}
	pinned, err := account.Processes()
	if err != nil || !slices.Equal(pinned.CPUs, cpu) {
		t.Errorf("pinned to %v it may run on %v: %v", cpu, pinned, err)
	}
}

// start starts a server for one test.
func start(t *testing.T) *postgres.Server {
	t.Helper()
	postgrestest.Need(t)
	s, err := postgres.Start(t.Context(), postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s
}

// worked lets a separate connection work, and tells what its backend used before it was closed, in ns.
func worked(t *testing.T, dsn string) int64 {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	var pid int
	if err := conn.QueryRow(t.Context(), "SELECT pg_backend_pid() FROM (SELECT sum(i) FROM generate_series(1, "+
		"500000) i) s").Scan(&pid); err != nil {
		t.Fatal(err)
	}
	used, err := process.CPU(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return int64(used)
}

// What was done through a pool is counted once the pool was told to hand it in,
// and what reading takes is not in it.
func TestAccountCounts(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.Database(t, start(t))
	account, err := postgres.OpenAccount(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = account.Close(context.Background()) })
	const size, inserts = 3, 50
	pool, err := postgres.Open(t.Context(), dsn, postgres.Pooling{Size: size})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	if _, err := pool.Exec(t.Context(), "CREATE TABLE notes (text text)"); err != nil {
		t.Fatal(err)
	}
	if err := pool.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	before, err := account.Counts(t.Context())
	if err != nil || before == nil {
		t.Fatal(before, err)
	}
	for range inserts {
		if _, err := pool.Exec(t.Context(), "INSERT INTO notes VALUES (repeat('x', 1000))"); err != nil {
			t.Fatal(err)
		}
	}
	if err := pool.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	after, err := account.Counts(t.Context())
	if err != nil || after == nil {
		t.Fatal(after, err)
	}
	// Each insert and, of the connections that did any, the transaction that
	// hands in; a connection without news keeps that for itself.
	if got := after.Commits - before.Commits; got <= inserts || got > inserts+size {
		t.Errorf("%d commits, want %d to %d", got, inserts+1, inserts+size)
	}
	if got := after.WALBytes - before.WALBytes; got < inserts*1000 {
		t.Errorf("%d bytes of log for %d rows of a thousand", got, inserts)
	}
	if after.BlocksHit-before.BlocksHit < inserts {
		t.Errorf("%d blocks in cache for %d inserts", after.BlocksHit-before.BlocksHit, inserts)
	}
}

// A server that was killed is not known, and the one in its place is known anew.
func TestAccountOfAServerThatIsKilled(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	s := start(t)
	account, err := postgres.OpenAccount(t.Context(), s.DSN())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = account.Close(context.Background()) })
	if err := s.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if used, err := account.Processes(); used != nil || err != nil {
		t.Errorf("of a killed server the account tells %v, %v", used, err)
	}
	if counts, err := account.Counts(t.Context()); counts != nil || err != nil {
		t.Errorf("a killed server counted %v, %v", counts, err)
	}
	if err := s.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if counts, err := account.Counts(t.Context()); counts == nil || err != nil {
		t.Errorf("the server in its place counted %v, %v", counts, err)
	}
	if used, err := account.Processes(); used == nil || err != nil || account.PID() != s.PID() {
		t.Errorf("of the server in its place the account tells %v, %v; process %d, want %d", used, err, account.PID(),
			s.PID())
	}
}

// A server on another host is counted and its processes are not known, though
// its backend has the number of a process that is here.
func TestAccountOfAServerElsewhere(t *testing.T) {
	t.Parallel()
	dsn := stranger(t, os.Getpid())
	account, err := postgres.OpenAccount(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = account.Close(context.Background()) })
	if !account.Elsewhere() || account.PID() != 0 {
		t.Errorf("a stranger was taken for process %d", account.PID())
	}
	if used, err := account.Processes(); used != nil || err != nil {
		t.Errorf("of a stranger the account tells %v, %v", used, err)
	}
	counts, err := account.Counts(t.Context())
	if err != nil || counts == nil || counts.WALBytes != 7 || counts.Commits != 11 {
		t.Errorf("a stranger counted %+v, %v", counts, err)
	}
	if err := account.Pin([]int{0}); err == nil {
		t.Error("a stranger was pinned")
	}
}

// No error shows a password (grb-D14).
func TestAccountKeepsPasswords(t *testing.T) {
	t.Parallel()
	for _, dsn := range []string{
		"postgres://someone:hidden@127.0.0.1:1/ledger?connect_timeout=2",
		"host=127.0.0.1 port=1 user=someone password=hidden dbname=ledger",
		"postgres://someone:hidden@127.0.0.1:none/",
	} {
		_, err := postgres.OpenAccount(t.Context(), dsn)
		if err == nil || strings.Contains(err.Error(), "hidden") {
			t.Errorf("error %v", err)
		}
	}
}

// stranger is a server that answers what an account asks, as one on another
// host does whose backend has this process id.
func stranger(t *testing.T, pid int) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			answer(t, conn, pid)
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() { listener.Close(); <-done })
	return "postgres://someone@" + listener.Addr().String() + "/ledger?sslmode=disable"
}

// answer answers simple queries by what they ask for until the other end leaves.
func answer(t *testing.T, conn net.Conn, pid int) {
	end := pgproto3.NewBackend(conn, conn)
	if _, err := end.ReceiveStartupMessage(); err != nil {
		t.Error(err)
		return
	}
	end.Send(&pgproto3.AuthenticationOk{})
	end.Send(&pgproto3.ParameterStatus{Name: "standard_conforming_strings", Value: "on"})
	end.Send(&pgproto3.ParameterStatus{Name: "client_encoding", Value: "UTF8"})
	for {
		end.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
		if end.Flush() != nil {
			return // the other end left
		}
		message, err := end.Receive()
		if err != nil {
			return // likewise
		}
		query, ok := message.(*pgproto3.Query)
		if !ok {
			return // it says that it leaves
		}
		row := []column{{25, "150018"}}
		switch {
		case strings.Contains(query.String, "pg_backend_pid"):
			row = []column{{23, strconv.Itoa(pid)}, {701, "0.01"}}
		case strings.Contains(query.String, "pg_stat_database"):
			row = []column{{20, "7"}, {20, "8"}, {20, "9"}, {20, "11"}, {20, "0"}, {20, "0"}, {16, "t"}}
		}
		fields, values := make([]pgproto3.FieldDescription, len(row)), make([][]byte, len(row))
		for i, c := range row {
			fields[i] = pgproto3.FieldDescription{
				Name: []byte("c"), DataTypeOID: c.oid, DataTypeSize: -1,
				TypeModifier: -1,
			}
			values[i] = []byte(c.text)
		}
		end.Send(&pgproto3.RowDescription{Fields: fields})
		end.Send(&pgproto3.DataRow{Values: values})
		end.Send(&pgproto3.CommandComplete{CommandTag: []byte("SELECT 1")})
	}
}

type column struct {
	oid  uint32
	text string
}
