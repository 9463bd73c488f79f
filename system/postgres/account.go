package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"wirelab"
	"wirelab/internal/process"
)

// Use is what a server's processes have used so far.
type Use struct {
	CPU time.Duration // of all, those included that ended in between
	// Background is the part of CPU, as far as it can be told apart, of the
	// processes that serve no connection: checkpoints, log, vacuum.
	Background time.Duration
	Wall       time.Duration // since the account was opened
	CPUs       []int         // that it may run on
	// Read and Written are bytes from and to storage, without those that only passed
	// through the page cache. They are known only where Storage is true: this user may not see them elsewhere.
	Read, Written uint64
	Storage       bool
}

// Counts is what a server counted so far. All but WALBytes and Checkpoints are of the one database that is used.
type Counts struct {
	WALBytes              uint64 // written to the log that makes changes last, by the whole server
	BlocksRead, BlocksHit uint64 // that were not in its own cache, and that were
	Commits, Rollbacks    uint64 // transactions, those that only read included
	Checkpoints           uint64 // begun, of the whole server
}

// Account tells what a server has used so far: of its processes, where they are on this host, and of what it
// counts itself. No matter who started the server, only a connection is needed. It is for one goroutine at a
// time.
//
// The server's first process and all that descend from it are looked at. So what it does for others who use it,
// and for itself (checkpoints, its log, vacuum), is in it; the latter is distinguished as far as it can be.
type Account struct {
	config *pgx.ConnConfig
	// counted is the database whose counts are read. The account's own
	// connection is to another one where it may be, so as not to count itself.
	counted string
	conn    *pgx.Conn // nil: lost, to be opened again
	version int       // 150018
	asked   uint64    // statements that are in the counts
	tree    *process.Tree
	opened  time.Time

	behind map[process.TreeProcess]time.Duration // CPU of what serves no connection; the key has no CPU
	ended  time.Duration                         // of those that ended
	known  map[process.TreeProcess]bool          // whether a process is one of them
}

// settledIn is the database that an account connects to: every server has it.
const settledIn = "postgres"

// forced is the version from which on a session can be told to hand in its
// counts, and checkpointed the one that counts checkpoints elsewhere.
const (
	forced       = 150000
	checkpointed = 170000
)

// OpenAccount opens the account of the server that a connection string leads
// to. An error means that there is no connection; that its processes are not
// on this host is none: see [Account.Elsewhere].
func OpenAccount(ctx context.Context, dsn string) (*Account, error) {
	config, err := parse(dsn)
	if err != nil {
		return nil, err
	}
	config.ConnectTimeout = connectLimit
	config.RuntimeParams["application_name"] = "wirelab account"
	// Nothing is prepared: the connection may be one of a pooler's.
	config.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	a := &Account{config: config, counted: config.Database, opened: time.Now()}
	if err := a.connect(ctx); err != nil {
		at, _ := Parse(dsn) // it was read above
		return nil, opening(ctx, at, err)
	}
	return a, nil
}

// connect opens the connection and looks for the server's processes.
func (a *Account) connect(ctx context.Context) error {
	if a.counted == "" {
		a.counted = a.config.User // what the server takes in its place
	}
	config := a.config.Copy()
	config.Database = settledIn
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		if conn, err = pgx.ConnectConfig(ctx, a.config); err != nil {
			return err
		}
	}
	var version string
	if err := conn.QueryRow(ctx, "SHOW server_version_num").Scan(&version); err != nil {
		return errors.Join(err, conn.Close(ctx))
	}
	a.version, _ = strconv.Atoi(version) // 0 if it is no number: the oldest
	tree, err := ofServer(ctx, conn)
	if err != nil {
		return errors.Join(err, conn.Close(ctx))
	}
	a.conn, a.tree, a.asked, a.ended = conn, tree, 0, 0
	a.behind, a.known = map[process.TreeProcess]time.Duration{}, map[process.TreeProcess]bool{}
	return nil
}

// Close closes the account's connection.
func (a *Account) Close(ctx context.Context) error {
	a.tree = nil
	if a.conn == nil {
		return nil
	}
	conn := a.conn
	a.conn = nil
	return conn.Close(ctx)
}

// Elsewhere reports whether the server's processes cannot be seen: it is on
// another host, or in a virtual machine or a container around this one.
func (a *Account) Elsewhere() bool { return a.tree == nil }

// PID is the process id, on this host, of the server's first process; 0 if it
// cannot be seen.
func (a *Account) PID() int {
	if a.tree == nil {
		return 0
	}
	return a.tree.Root()
}

// Pin lets the server run on these CPUs only. It is for a server of our own.
func (a *Account) Pin(cpus []int) error {
	if a.tree == nil {
		return errors.New("the server's processes are not on this host")
	}
	return a.tree.Pin(cpus)
}

// lost closes what no longer leads to the server, so that the next reading
// begins anew: between the two nothing is known.
func (a *Account) lost(ctx context.Context) {
	if a.conn != nil {
		_ = a.conn.Close(ctx) // it is broken already, or of a server that is gone
	}
	a.conn, a.tree = nil, nil
}

// Processes returns what the server's processes have used so far; nil where
// they cannot be seen, and where the server ended: the next reading is of the
// one in its place. Only clocks and counters of the kernel are read, so that
// the server has nothing to do for it.
func (a *Account) Processes() (*Use, error) {
	if a.tree == nil {
		return nil, nil
	}
	used, err := a.tree.Read()
	if errors.Is(err, os.ErrProcessDone) {
		a.lost(context.Background()) // closing a connection to a server that is gone waits for none of them
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	cores, err := a.tree.Cores()
	if err != nil {
		return nil, err
	}
	return &Use{
		CPU: used.CPU, Background: a.background(used.Living), Wall: time.Since(a.opened), CPUs: cores,
		Read: used.Read, Written: used.Written, Storage: used.Storage,
	}, nil
}

// background is what those of the living processes used that serve no
// connection, and those of them that have ended since.
func (a *Account) background(living []process.TreeProcess) time.Duration {
	sum := a.ended
	now := map[process.TreeProcess]time.Duration{}
	for _, p := range living {
		key := process.TreeProcess{PID: p.PID, Began: p.Began}
		is, seen := a.known[key]
		if !seen {
			is = p.PID != a.tree.Root() && background(title(p.PID))
			a.known[key] = is
		}
		if is {
			now[key] = p.CPU
			sum += p.CPU
		}
	}
	for key, used := range a.behind {
		if _, lives := now[key]; !lives {
			a.ended += used
			sum += used
		}
	}
	for key := range a.known {
		if !slices.ContainsFunc(living,
			func(p process.TreeProcess) bool { return p.PID == key.PID && p.Began == key.Began }) {
			delete(a.known, key)
		}
	}
	a.behind = now
	return sum
}

// title is what a process calls itself; "" where it ended.
func title(pid int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(strings.ReplaceAll(string(text), "\x00", " "))
}

// background reports whether a process that calls itself so serves no
// connection: "postgres: checkpointer", or with a cluster's name before it.
// Those of an "io worker" are not among them: they read for connections.
func background(title string) bool {
	_, name, ok := strings.Cut(title, ": ")
	if !ok {
		return false
	}
	if _, after, ok := strings.Cut(name, ": "); ok {
		name = after
	}
	return slices.ContainsFunc([]string{
		"checkpointer", "background writer", "walwriter", "wal writer", "autovacuum", "archiver", "startup recovering",
		"stats collector", "logger", "logical replication", "walsender", "walreceiver", "walsummarizer", "slotsync",
	}, func(known string) bool { return name == known || strings.HasPrefix(name, known+" ") })
}

// Counts returns what the server counted so far; nil where it could not be
// asked, and then the next reading is of a new connection. A server that
// stands by writes no log, and so counts none of it.
//
// Backends hand in their counts when they have nothing to do, once a second at most, and else after ten seconds
// of rest: so what a slice did may show in the next. [Pool.Flush] has those of a pool hand in theirs at once
// (from version 15 on). Bytes written to the log are known without delay.
func (a *Account) Counts(ctx context.Context) (*Counts, error) {
	if a.conn == nil {
		if err := a.connect(ctx); err != nil {
			return nil, context.Cause(ctx)
		}
	}
	log, read, hit, commits, rollbacks, checkpoints, err := a.ask(ctx)
	if err != nil {
		a.lost(context.WithoutCancel(ctx))
		return nil, context.Cause(ctx)
	}
	counts := &Counts{
		WALBytes: log, BlocksRead: read, BlocksHit: hit,
		Commits: commits - min(commits, a.asked), Rollbacks: rollbacks, Checkpoints: checkpoints,
	}
	if a.counted == a.conn.Config().Database {
		a.asked++ // this one shows from the next reading on
	}
	return counts, nil
}

// ask reads the counts in one statement.
func (a *Account) ask(ctx context.Context) (log, read, hit, commits, rollbacks, checkpoints uint64, err error) {
	began := "(SELECT checkpoints_timed + checkpoints_req FROM pg_stat_bgwriter)"
	if a.version >= checkpointed {
		began = "(SELECT num_timed + num_requested FROM pg_stat_checkpointer)"
	}
	hand := "true"
	if a.version >= forced {
		hand = "pg_stat_force_next_flush() IS NULL"
	}
	err = a.conn.QueryRow(ctx, `SELECT
		CASE WHEN pg_is_in_recovery() THEN 0 ELSE pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint END,
		blks_read, blks_hit, xact_commit, xact_rollback, `+began+`, `+hand+`
		FROM pg_stat_database WHERE datname = $1`, a.counted).
		Scan(&log, &read, &hit, &commits, &rollbacks, &checkpoints, new(bool))
	return log, read, hit, commits, rollbacks, checkpoints, err
}

// flushLimit bounds the time that [Pool.Settled] takes.
const flushLimit = time.Second

// Settled is [Pool.Use] after [Pool.Flush]: how the pool was used, with all that
// was done through it handed in. That it could not be handed in is not told; a
// server that is gone shows where calls are made.
func (p *Pool) Settled() wirelab.PoolUse {
	ctx, cancel := context.WithTimeout(context.Background(), flushLimit)
	defer cancel()
	_ = p.Flush(ctx)
	return p.Use()
}

// Flush has every connection of the pool that is not in use hand in its counts now, so that [Account.Counts]
// shows what was done through it. Each does a transaction for it, which is counted with what there was to hand
// in. It does nothing before version 15, whose counts come within half a second.
func (p *Pool) Flush(ctx context.Context) error {
	var all error
	for _, conn := range p.AcquireAllIdle(ctx) {
		if version, err := strconv.ParseFloat(strings.Fields(conn.Conn().PgConn().ParameterStatus("server_version") +
			" 0")[0], 64); err == nil && version >= 15 {
			_, err = conn.Exec(ctx, "SELECT pg_stat_force_next_flush()")
			all = errors.Join(all, err)
		}
		conn.Release()
	}
	return all
}
