package postgres

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"wirelab"
	"wirelab/internal/leaktest"
	"wirelab/system/postgres"
	"wirelab/system/postgres/postgrestest"
	"wirelab/workload/logging"
	"wirelab/workload/logging/database/databasetest"
)

// opened opens the logger in a database until the test ends.
func opened(t *testing.T, dsn string) *service {
	t.Helper()
	o, err := open(t.Context(), wirelab.DatabaseAddress{Kind: Kind, Source: dsn, Pool: 4}, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	})
	s, ok := o.Service.(*service)
	if !ok {
		t.Fatal("the service is another")
	}
	return s
}

// connected opens a connection to the logger's schema until the test ends.
func connected(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := postgres.Connect(t.Context(), dsn, Schema)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { postgres.CloseSoon(conn) })
	return conn
}

// own starts a server for one test, with fsync, which may do to it what it likes.
func own(t *testing.T) *postgres.Server {
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

func wantCode(t *testing.T, what string, err error, want wirelab.Code) {
	t.Helper()
	if err == nil || wirelab.CodeOf(err) != want {
		t.Errorf("%s: %v, want %s", what, err, want)
	}
}

// all returns every entry there is, newest first.
func all(t *testing.T, s logging.Service) (entries []logging.Stored) {
	t.Helper()
	var q logging.Query
	for {
		l, err := s.ListEntries(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, l.Entries...)
		if q.Before = l.Next; q.Before == 0 {
			return entries
		}
	}
}

// TestKilledWhileWriting kills the database with -9 while many write, and restarts it: waiting callers get an
// error, the service continues without being reopened, every acknowledged entry is there once, and the others can
// be written again (S2, S8, R2).
func TestKilledWhileWriting(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	server := own(t)
	config, err := pgx.ParseConfig(server.DSN())
	if err != nil {
		t.Fatal("the connection string cannot be read")
	}
	s := opened(t, server.DSN())
	const writers = 8
	acknowledged, unknown := make([][]logging.Entry, writers), make([][]logging.Entry, writers)
	stop := make(chan struct{})
	var wg, begun sync.WaitGroup
	begun.Add(writers)
	for w := range writers {
		wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				e := logging.Entry{ID: fmt.Sprintf("w%d-%d", w, i), Name: "n", Data: fmt.Sprint(i)}
				_, err := s.WriteLog(t.Context(), e)
				if i == 5 {
					begun.Done()
				}
				if err == nil {
					acknowledged[w] = append(acknowledged[w], e)
					continue
				}
				if wirelab.CodeOf(err) != wirelab.Unavailable || strings.Contains(err.Error(), config.Password) {
					t.Errorf("an entry while the database was away: %v", err)
				}
				unknown[w] = append(unknown[w], e)
				time.Sleep(time.Millisecond) // or it takes the cores from the database that comes back
			}
		})
	}
	begun.Wait()
	if err := server.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err = s.GetEntry(t.Context(), logging.EntryID{ID: "w0-0"})
	wantCode(t, "an entry while the database is away", err, wirelab.Unavailable)
	wantCode(t, "ready while the database is away", logging.Ready(t.Context(), s), wirelab.Unavailable)
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	for logging.Ready(t.Context(), s) != nil {
		if t.Context().Err() != nil {
			t.Fatal("the service does not come back")
		}
	}
	close(stop)
	wg.Wait()
	for w := range writers {
		for _, e := range unknown[w] {
			if _, err := s.WriteLog(t.Context(), e); err != nil {
				t.Errorf("%s again: %v", e.ID, err)
			}
		}
	}
	stored := map[logging.Entry]int{}
	last := int64(1 << 62)
	for _, e := range all(t, s) {
		if stored[e.Entry]++; e.Position >= last {
			t.Errorf("position %d stands behind %d", e.Position, last)
		}
		last = e.Position
	}
	lost := 0
	for w := range writers {
		for _, e := range append(acknowledged[w], unknown[w]...) {
			if stored[e] != 1 {
				t.Errorf("%s is stored %d times", e.ID, stored[e])
			}
			delete(stored, e)
		}
		lost += len(unknown[w])
	}
	if len(stored) != 0 || lost == 0 {
		t.Errorf("%d entries that no caller wrote; %d calls met the kill", len(stored), lost)
	}
}

// TestDiskFull checks that a full disk is reported as such, that entries are kept, and that writing works again
// once there is room. The files of the database are on a small memory disk, so that the server itself continues.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	dsn, resize := postgrestest.SmallDisk(t, own(t), 16) // TestNoRoom covers the rest
	s := opened(t, dsn)
	databasetest.UntilFull(t, s)
	resize(32)
	if _, err := s.WriteLog(t.Context(), logging.Entry{Name: "n"}); err != nil {
		t.Errorf("when there is room again: %v", err)
	}
}

// TestNoRoom tests the same without the right to mount: the database raises PostgreSQL's state for a full disk,
// 53100.
func TestNoRoom(t *testing.T) {
	t.Parallel()
	s := opened(t, postgrestest.Database(t, server))
	for _, statement := range []string{
		`CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			IF NEW.name = 'too much' THEN RAISE EXCEPTION 'could not extend file "base/1/2"' USING ERRCODE = '53100'; END IF; RETURN NEW; END $$`,
		`CREATE TRIGGER full_disk BEFORE INSERT ON entries FOR EACH ROW EXECUTE FUNCTION full_disk()`,
	} {
		if _, err := s.pool.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if _, err := s.WriteLog(t.Context(), logging.Entry{Name: "n"}); err != nil {
			t.Error(err)
		}
		_, err := s.WriteLog(t.Context(), logging.Entry{Name: "too much"})
		wantCode(t, "no room", err, wirelab.ResourceExhausted)
		if err != nil && strings.Contains(err.Error(), "base/1") {
			t.Errorf("the error tells of files: %v", err)
		}
	}
	if n := len(all(t, s)); n != 2 {
		t.Errorf("%d entries, want 2", n)
	}
}

// TestGiveUpWhileWaiting checks that a caller that cancels while its entry waits for another logger's commit
// returns, and that an entry without a waiting caller is not stored.
func TestGiveUpWhileWaiting(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.Database(t, server)
	s := opened(t, dsn)
	tx, err := connected(t, dsn).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(),
		"SELECT pg_advisory_xact_lock(1818518888, 'entries'::regclass::oid::integer)"); err != nil {
		t.Fatal(err)
	}
	// PostgreSQL forgets to cancel a statement that has not come yet.
	var wg sync.WaitGroup
	ctx := due{t.Context(), make(chan struct{})}
	for range 12 {
		wg.Go(func() {
			_, err := s.WriteLog(ctx, logging.Entry{Name: "late"})
			wantCode(t, "an entry that waits", err, wirelab.DeadlineExceeded)
		})
	}
	for postgrestest.Waiting(t, tx) < 1 { // one, which writes for all
		time.Sleep(time.Millisecond) // nothing tells
	}
	close(ctx.ended)
	wg.Wait()
	if n := len(all(t, s)); n != 0 { // readers do not wait for the lock
		t.Errorf("%d entries while writing is forbidden", n)
	}
	for waiting := -1; waiting != 0; { // the database is changed behind the callers' backs
		if err := tx.QueryRow(t.Context(), `SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'advisory'
			AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`).
			Scan(&waiting); err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.WriteLog(t.Context(), logging.Entry{ID: "after", Name: "n"}); err != nil {
		t.Error(err)
	}
	if stored := all(t, s); len(stored) != 1 || stored[0].ID != "after" {
		t.Errorf("stored: %v", stored)
	}
}

// due is a context whose deadline passes when ended is closed, so that a test that waits for something first need
// not guess how long that takes.
type due struct {
	context.Context //nolint:containedctx // it is one

	ended chan struct{}
}

func (d due) Done() <-chan struct{} { return d.ended }

func (d due) Err() error {
	select {
	case <-d.ended:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// A service that is closed leaves nothing running.
func TestClose(t *testing.T) {
	before := goleak.IgnoreCurrent()
	o, err := open(t.Context(),
		wirelab.DatabaseAddress{Kind: Kind, Source: postgrestest.Database(t, server), Pool: 3}, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.Service.WriteLog(t.Context(), logging.Entry{Name: "n"}); err != nil {
		t.Error(err)
	}
	if err := o.Close(); err != nil {
		t.Error(err)
	}
	_, err = o.Service.GetEntry(t.Context(), logging.EntryID{ID: "e"})
	wantCode(t, "an entry of a logger that is closed", err, wirelab.Unavailable)
	leaktest.None(t, before)
}
