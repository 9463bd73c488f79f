package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"wirelab"
	"wirelab/cmd/internal/cli"
	"wirelab/internal/daemon"
	"wirelab/lab/experiment"
	"wirelab/lab/plan"
	"wirelab/system/postgres"
)

// The kinds of database that a command line names.
const (
	postgresKind = "postgres"
	embeddedKind = "embedded"
)

// databaseFlags choose what servers keep their data in.
type databaseFlags struct {
	database string
	pool     int
	dry      bool // nothing is to be started
	free     bool // nothing is pinned
}

func (f *databaseFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.database, "db", "", "where servers keep their data: postgres, embedded, memory, or the `DSN` of a PostgreSQL "+
		"(default, if the workload has a database: $WIRELAB_DB, else the server of wirelab db start, else a temporary one, else embedded)")
	flags.IntVar(&f.pool, "pool", 0, "`connections` to the database that each server holds (default 16)")
}

// whole completes a plan that says itself which databases it needs.
func (a *app) whole(ctx context.Context, p plan.Plan) (plan.Plan, error) {
	var none databaseFlags
	p, err := none.apply(ctx, a, p)
	if err != nil {
		return p, err
	}
	return p.Complete()
}

// isDSN reports whether text says where a PostgreSQL is.
func isDSN(text string) bool {
	return strings.HasPrefix(text, "postgres://") || strings.HasPrefix(text, "postgresql://") || strings.Contains(text, "=")
}

// apply puts the database that the flags, the environment and this machine
// give into a plan, and sees to it that it is there.
func (f *databaseFlags) apply(ctx context.Context, a *app, p plan.Plan) (plan.Plan, error) {
	work, err := a.work(p.Workload)
	if err != nil {
		return p, err
	}
	if f.pool != 0 {
		p.Pool = f.pool
	}
	kind := f.database
	if isDSN(kind) {
		a.databases.given = kind
		kind = postgresKind
	}
	if kind != "" {
		p.Database = kind
	}
	if a.databases.cpus, err = f.cores(p, work); err != nil {
		return p, err
	}
	if p.Database == "" && len(work.Databases) > 0 {
		if p.Database, err = f.usual(ctx, a); err != nil {
			return p, err
		}
	}
	if len(work.Databases) == 0 && (p.Database != "" && p.Database != wirelab.Memory || p.Pool != 0) {
		return p, cli.Usage("%s keeps its data in memory: leave --db and --pool out", work.Name)
	}
	return p, f.provide(ctx, a, p, work)
}

// cores are those that a database that is started for a plan may run on.
func (f *databaseFlags) cores(p plan.Plan, work wirelab.Work) ([]int, error) {
	if f.dry || f.free || len(work.Databases) == 0 {
		return nil, nil
	}
	return coresOf(p)
}

// provide sees to it that the databases of a plan are there.
func (f *databaseFlags) provide(ctx context.Context, a *app, p plan.Plan, work wirelab.Work) error {
	known := append([]string{wirelab.Memory}, work.Databases...)
	for _, kind := range p.Databases() {
		if !slices.Contains(known, kind) {
			return wirelab.UnknownName("database of "+work.Name, kind, known)
		}
		if f.dry {
			continue
		}
		if _, err := a.databases.source(ctx, a, kind); err != nil {
			return err
		}
	}
	return nil
}

// databases are those that this command uses. What it started itself ends with it.
type databases struct {
	given   string            // a PostgreSQL's DSN that was typed
	private *postgres.Server  // that was started here; nil: none
	cpus    []int             // that what is started here may run on; nil: any
	sources map[string]string // by kind; a DSN may hold a password, and is never shown
	close   []func() error
}

// usual is the kind of database to use where nothing else is said.
func (f *databaseFlags) usual(ctx context.Context, a *app) (string, error) {
	if f.dry {
		return postgresKind, nil // which another machine may have
	}
	_, err := a.databases.source(ctx, a, postgresKind)
	switch {
	case err == nil:
		return postgresKind, nil
	case ctx.Err() != nil || a.getenv(experiment.DatabaseVariable) != "":
		return "", err // a server that was named is meant
	}
	a.Note("no PostgreSQL: %s; data is kept in the embedded database instead, and results say so", describe(err))
	return embeddedKind, nil
}

// source tells where the database of a kind is. What is not there is started.
func (d *databases) source(ctx context.Context, a *app, kind string) (string, error) {
	if source, ok := d.sources[kind]; ok {
		return source, nil
	}
	var source string
	var err error
	switch kind {
	case postgresKind:
		source, err = d.postgres(ctx, a)
	case embeddedKind:
		source, err = d.embedded()
	default:
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if d.sources == nil {
		d.sources = map[string]string{}
	}
	d.sources[kind] = source
	return source, nil
}

// embeddedPrefix begins the names of the directories of embedded databases.
const embeddedPrefix = "wirelab-db-"

// embedded returns a file for the time of the command. Those of commands that
// were killed nobody else would remove.
func (d *databases) embedded() (string, error) {
	for _, left := range daemon.Left(os.TempDir(), embeddedPrefix, time.Now()) {
		daemon.Reclaim(left, func() bool { return true }) // our children end with us
	}
	dir, owned, err := daemon.Make(os.TempDir(), embeddedPrefix, nil)
	if err != nil {
		return "", err
	}
	d.close = append(d.close, func() error { return errors.Join(os.RemoveAll(dir), owned.Close()) })
	return filepath.Join(dir, "data.db"), nil
}

// Close ends what was started.
func (d *databases) Close() error {
	var all error
	for _, end := range slices.Backward(d.close) {
		all = errors.Join(all, end())
	}
	*d = databases{}
	return all
}

// overDatabase returns the cell over the database that is asked for; nil where
// it stays in memory.
func (a *app) overDatabase(ctx context.Context, cell wirelab.Cell, f serveFlags) (wirelab.Cell, wirelab.OpenDatabase, error) {
	at, err := a.databaseFor(ctx, cell.Workload, f)
	if err != nil || at.Kind == "" {
		return cell, nil, err
	}
	if f.controlled {
		return patiently(ctx, cell, at)
	}
	return cell.Over(ctx, at)
}

// How long an experiment's server waits for a database that is away, and how
// long between looks: a crash in one round must not cost the next.
const (
	databasePatience = 20 * time.Second
	databaseLook     = 200 * time.Millisecond
)

// patiently opens a database that may be coming back.
func patiently(ctx context.Context, cell wirelab.Cell, at wirelab.DatabaseAddress) (wirelab.Cell, wirelab.OpenDatabase, error) {
	look := time.NewTicker(databaseLook)
	defer look.Stop()
	for began := time.Now(); ; {
		over, database, err := cell.Over(ctx, at)
		if err == nil || wirelab.CodeOf(err) != wirelab.Unavailable || time.Since(began) > databasePatience {
			return over, database, err
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return over, nil, err
		}
	}
}

// databaseFor says where the database of a server is. That of an experiment is
// told where; what a person serves finds it as an experiment does.
func (a *app) databaseFor(ctx context.Context, workload string, f serveFlags) (wirelab.DatabaseAddress, error) {
	if f.controlled {
		kind := f.database.database
		if kind == wirelab.Memory {
			kind = ""
		}
		return wirelab.DatabaseAddress{Kind: kind, Source: a.getenv(experiment.DatabaseVariable), Pool: f.database.pool}, nil
	}
	f.database.free = true
	p, err := f.database.apply(ctx, a, plan.Plan{Workload: workload, Arms: []plan.Arm{{}}})
	if err != nil {
		return wirelab.DatabaseAddress{}, err
	}
	kind := p.DatabaseOf(plan.Arm{})
	if kind == "" {
		return wirelab.DatabaseAddress{}, nil
	}
	source, err := a.databases.source(ctx, a, kind)
	return wirelab.DatabaseAddress{Kind: kind, Source: source, Pool: p.Pool}, err
}
