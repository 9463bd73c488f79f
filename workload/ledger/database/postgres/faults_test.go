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
	"wirelab/workload/ledger"
)

// small is the data set of these tests, and the two accounts whose money moves.
const (
	small = "100x1000"
	alice = "0.0.100098"
	bob   = "0.0.100099"
)

// opened opens the ledger in a database until the test ends.
func opened(t *testing.T, dsn string) wirelab.Opened[ledger.Service] {
	t.Helper()
	o, err := open(t.Context(), wirelab.DatabaseAddress{Kind: Kind, Source: dsn, Pool: 4}, small)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	})
	return o
}

func smallSet(t *testing.T) *ledger.Set {
	t.Helper()
	set, err := ledger.SetOf(small)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// poster posts until it is stopped, and records the outcome of each posting.
type poster struct {
	done  []ledger.Posting // acknowledged
	tried []ledger.Posting // not acknowledged: they may have been done, or not
}

func (p *poster) run(t *testing.T, s ledger.Service, name string, stop <-chan struct{}, secret string) {
	for n := 0; ; n++ {
		select {
		case <-stop:
			return
		default:
		}
		posting := ledger.Posting{ID: fmt.Sprintf("%s-%d", name, n), From: alice, To: bob, Amount: 1}
		if n%2 == 1 {
			posting.From, posting.To = bob, alice
		}
		_, err := s.PostTransaction(t.Context(), posting)
		switch {
		case err == nil:
			p.done = append(p.done, posting)
			continue
		case wirelab.CodeOf(err) != wirelab.Unavailable || strings.Contains(err.Error(), secret):
			t.Errorf("a posting while the database was away: %v", err)
		}
		p.tried = append(p.tried, posting)
		time.Sleep(time.Millisecond) // or it takes the cores from the database that comes back
	}
}

// The database is killed in mid-run and comes back: calls get Unavailable and
// go on without a new service, every acknowledged posting is there once, in a
// log without a gap, and what was not acknowledged can be posted again (S2, S8).
func TestKilledInMidRun(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	// A separate server, with fsync, to be killed.
	postgrestest.Need(t)
	server, err := postgres.Start(t.Context(), postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	config, err := pgx.ParseConfig(server.DSN())
	if err != nil {
		t.Fatal("the connection string cannot be read")
	}
	s := opened(t, server.DSN()).Service
	all, total := smallSet(t), sumOf(t, s)

	stop := make(chan struct{})
	posters := make([]poster, 3)
	var wg sync.WaitGroup
	for i := range posters {
		wg.Go(func() { posters[i].run(t, s, fmt.Sprintf("run%d", i), stop, config.Password) })
	}
	// One event is read before the kill, so that the follower has begun; then it
	// must end with an error, and not wait in silence.
	first, ended := make(chan struct{}), make(chan error, 1)
	wg.Go(func() {
		n := 0
		for _, err := range s.StreamTransactions(t.Context(), ledger.Feed{Follow: true}) {
			if err != nil {
				ended <- err
				return
			}
			if n++; n == 1010 { // some that were posted
				close(first)
			}
		}
	})
	<-first
	if err := server.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; wirelab.CodeOf(err) != wirelab.Unavailable {
		t.Errorf("a follower of a database that was killed: %v", err)
	}
	if _, err := s.GetBalance(t.Context(), ledger.AccountID{ID: alice}); err == nil ||
		wirelab.CodeOf(err) != wirelab.Unavailable {
		t.Errorf("a balance while the database is away: %v", err)
	}
	if err := ledger.Ready(t.Context(), s); err == nil || wirelab.CodeOf(err) != wirelab.Unavailable {
		t.Errorf("ready while the database is away: %v", err)
	}
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	for ledger.Ready(t.Context(), s) != nil {
		if t.Context().Err() != nil {
			t.Fatal("the service does not come back")
		}
	}
	close(stop)
	wg.Wait()

	stored := map[string]int{}
	position := 0
	for e, err := range s.StreamTransactions(t.Context(), ledger.Feed{}) {
		if err != nil {
			t.Fatal(err)
		}
		position++
		stored[e.Transaction.ID]++
	}
	count := 0
	for _, p := range posters {
		for _, done := range p.done {
			if stored[done.ID] != 1 {
				t.Errorf("%s was acknowledged, and is stored %d times", done.ID, stored[done.ID])
			}
		}
		count += len(p.done)
		for _, tried := range p.tried[:min(10, len(p.tried))] {
			if _, err := s.PostTransaction(t.Context(), tried); err != nil {
				t.Errorf("%s posted again: %v", tried.ID, err)
			}
		}
	}
	if count == 0 {
		t.Error("nothing was posted")
	}
	if now := sumOf(t, s); now != total {
		t.Errorf("the sum was %d and is %d", total, now)
	}
	wantGapless(t, server.DSN())
	// And a follower continues.
	_, size := all.Size()
	for e, err := range s.StreamTransactions(t.Context(), ledger.Feed{Follow: true, Limit: int64(size) + 1}) {
		if err != nil {
			t.Fatalf("a follower after it came back: %v after %d events", err, e.Sequence)
		}
	}
}

// sumOf sums all balances.
func sumOf(t *testing.T, s ledger.Service) int64 {
	t.Helper()
	var ids ledger.AccountIDs
	for b := range smallSet(t).Accounts() {
		ids.IDs = append(ids.IDs, b.Account)
	}
	all, err := s.GetBalances(t.Context(), ids)
	if err != nil {
		t.Fatal(err)
	}
	var sum int64
	for _, v := range all.Verdicts {
		sum += v.Balance.Amount
	}
	return sum
}

// wantGapless looks at positions themselves, which no reply shows.
func wantGapless(t *testing.T, dsn string) {
	t.Helper()
	conn := connected(t, dsn)
	var count, most int64
	var ordered bool
	if err := conn.QueryRow(t.Context(), `SELECT count(*), max(position), bool_and(ordered) FROM
		(SELECT position, "timestamp" >= lag("timestamp", 1, '-infinity') OVER (ORDER BY position) AS ordered FROM transactions) x`).
		Scan(&count, &most, &ordered); err != nil || count != most || !ordered {
		t.Errorf("%d positions up to %d, timestamps in order: %v, %v", count, most, ordered, err)
	}
}

// connected opens a connection to a data set's schema until the test ends.
func connected(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := postgres.Connect(t.Context(), dsn, schemaStem+small)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// When the connection is lost that tells of new postings, all who wait get an
// error at once, and the next to wait gets a new one.
func TestListenerLost(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.Database(t, server)
	s := opened(t, dsn).Service
	conn := connected(t, dsn)
	var last string
	if err := conn.QueryRow(t.Context(),
		"SELECT tx_id FROM transactions WHERE position = 1000").Scan(&last); err != nil {
		t.Fatal(err)
	}
	const followers = 5
	for round := range 2 {
		var wg sync.WaitGroup
		for range followers {
			wg.Go(func() {
				for _, err := range s.StreamTransactions(t.Context(), ledger.Feed{After: last, Follow: true}) {
					if err == nil || wirelab.CodeOf(err) != wirelab.Unavailable {
						t.Errorf("round %d: a follower got %v", round, err)
					}
				}
			})
		}
		for listeners := 0; listeners != 1; {
			// One for all of them. A new one waits for its first notification after
			// it has looked how long the log is.
			if err := conn.QueryRow(t.Context(),
				`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
				AND pid <> pg_backend_pid() AND query LIKE '%AS head%' AND state = 'idle'`).
				Scan(&listeners); err != nil || listeners > 1 {
				t.Fatalf("%d connections listen, %v", listeners, err)
			}
		}
		stopped := make(chan struct{})
		go func() { wg.Wait(); close(stopped) }()
		for ended := false; !ended; { // followers may have begun to wait only now
			if _, err := conn.Exec(t.Context(),
				`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()
				AND pid <> pg_backend_pid() AND query LIKE '%AS head%'`); err != nil {
				t.Fatal(err)
			}
			select {
			case <-stopped:
				ended = true
			default:
			}
		}
	}
}

// A service that is closed leaves nothing running, and tells those who wait.
func TestClose(t *testing.T) {
	before := goleak.IgnoreCurrent()
	dsn := postgrestest.Database(t, server)
	o, err := open(t.Context(), wirelab.DatabaseAddress{Kind: Kind, Source: dsn, Pool: 3}, small)
	if err != nil {
		t.Fatal(err)
	}
	first, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		n := 0
		for _, err := range o.Service.StreamTransactions(t.Context(), ledger.Feed{Follow: true}) {
			if n++; n == 1000 {
				close(first)
			}
			if err != nil {
				ended <- err
			}
		}
	}()
	<-first
	if err := o.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; wirelab.CodeOf(err) != wirelab.Unavailable {
		t.Errorf("a follower of a ledger that was closed: %v", err)
	}
	// The driver's last goroutines end by themselves when their sockets are closed.
	leaktest.None(t, before)
}

// TestSerializableByDefault checks that postings between different accounts commit concurrently, and still the log
// has no gap and none of them gets a conflict; and that a posting sees what others have committed, whatever the
// default isolation level of the database is. A reader that runs while they commit never sees a position before the
// one below it.
func TestSerializableByDefault(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.Database(t, server)
	conn, err := postgres.Connect(t.Context(), dsn, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), `DO $$ BEGIN EXECUTE format(
		'ALTER DATABASE %I SET default_transaction_isolation = serializable', current_database()); END $$`); err !=
		nil {
		t.Fatal(err)
	}
	if err := conn.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	s, ok := opened(t, dsn).Service.(*service)
	if !ok {
		t.Fatal("the service is another")
	}
	var wg sync.WaitGroup
	posted := make(chan struct{})
	for i := range 4 {
		wg.Go(func() {
			for n := range 20 {
				p := ledger.Posting{
					ID: fmt.Sprintf("p%d-%d", i, n), From: fmt.Sprint("0.0.10009", i), To: fmt.Sprint("0.0.10009", i+4),
					Amount: 1,
				}
				if _, err := s.PostTransaction(t.Context(), p); err != nil {
					t.Errorf("%s: %v", p.ID, err)
				}
			}
		})
	}
	go func() { wg.Wait(); close(posted) }()
	for over := false; !over; {
		select {
		case <-posted:
			over = true
		default:
		}
		entries, err := s.Read(t.Context(), 1000, "", 1000)
		if err != nil {
			t.Fatal(err)
		}
		for i, e := range entries {
			if e.Position != int64(1001+i) {
				t.Fatalf("position %d is seen where %d should be", e.Position, 1001+i)
			}
		}
	}
	wantGapless(t, dsn)
}

// A caller that gives up while it waits for a lock takes no connection with it
// for long, and nothing is posted.
func TestGiveUpWhileWaiting(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.Database(t, server)
	s := opened(t, dsn).Service
	conn := connected(t, dsn)
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "SELECT 1 FROM accounts WHERE account_id = $1 FOR UPDATE", alice); err != nil {
		t.Fatal(err)
	}
	// PostgreSQL forgets to cancel a statement that has not come yet.
	var wg sync.WaitGroup
	ctx := due{t.Context(), make(chan struct{})}
	for i := range 8 { // twice the pool
		wg.Go(func() {
			_, err := s.PostTransaction(ctx, ledger.Posting{ID: fmt.Sprint("late", i), From: alice, To: bob, Amount: 1})
			if err == nil || wirelab.CodeOf(err) != wirelab.DeadlineExceeded {
				t.Errorf("a posting that waits: %v", err)
			}
		})
	}
	for postgrestest.Waiting(t, tx) < 4 { // all of the pool
		time.Sleep(time.Millisecond) // nothing tells
	}
	close(ctx.ended)
	wg.Wait()
	if _, err := s.GetBalance(t.Context(), ledger.AccountID{ID: alice}); err != nil {
		t.Errorf("a reader during the lock: %v", err)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.PostTransaction(t.Context(),
		ledger.Posting{ID: "after", From: alice, To: bob, Amount: 1}); err != nil {
		t.Error(err)
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
