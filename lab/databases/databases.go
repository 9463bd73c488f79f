// Package databases finds, starts and ends the databases that servers of an experiment keep their data in. It knows
// which kinds there are and where they are looked for, and must not know what is kept in them.
package databases

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"wirelab"
	"wirelab/internal/daemon"
	"wirelab/internal/fault"
	"wirelab/lab/experiment"
	"wirelab/lab/plan"
	"wirelab/lab/progress"
	"wirelab/system/postgres"
	"wirelab/workload/catalog"
)

// The kinds of database that a command line names.
const (
	Postgres = "postgres"
	Embedded = "embedded"
)

// Choice choose what servers keep their data in.
type Choice struct {
	Kind string
	Pool int
	Dry  bool // nothing is to be started
	free bool // nothing is pinned
}

// Kinds are what servers can keep their data in.
func Kinds() []string { return []string{Postgres, Embedded, wirelab.Memory} }

// isDSN reports whether text says where a PostgreSQL is.
func isDSN(text string) bool {
	return strings.HasPrefix(text, "postgres://") || strings.HasPrefix(text, "postgresql://") ||
		strings.Contains(text, "=")
}

// Apply puts the database that the flags, the environment and this machine
// give into a plan, and sees to it that it is there.
func (f *Choice) Apply(ctx context.Context, d *Databases, works catalog.Catalog, p plan.Plan) (plan.Plan, error) {
	work, err := works.Work(p.Workload)
	if err != nil {
		return p, err
	}
	if f.Pool != 0 {
		p.Pool = f.Pool
	}
	kind := f.Kind
	if isDSN(kind) {
		d.given = kind
		kind = Postgres
	}
	if kind != "" {
		p.Database = kind
	}
	if d.cpus, err = f.cores(p, work); err != nil {
		return p, err
	}
	if p.Database == "" && len(work.Databases) > 0 {
		if p.Database, err = f.usual(ctx, d); err != nil {
			return p, err
		}
	}
	if len(work.Databases) == 0 && (p.Database != "" && p.Database != wirelab.Memory || p.Pool != 0) {
		return p, wirelab.Errorf(wirelab.InvalidArgument, "%s keeps its data in memory: leave --db and --pool out",
			work.Name)
	}
	return p, f.provide(ctx, d, p, work)
}

// cores are those that a database that is started for a plan may run on.
func (f *Choice) cores(p plan.Plan, work wirelab.Work) ([]int, error) {
	if f.Dry || f.free || len(work.Databases) == 0 {
		return nil, nil
	}
	return coresOf(p)
}

// provide sees to it that the databases of a plan are there.
func (f *Choice) provide(ctx context.Context, d *Databases, p plan.Plan, work wirelab.Work) error {
	known := append([]string{wirelab.Memory}, work.Databases...)
	for _, kind := range p.Databases() {
		if !slices.Contains(known, kind) {
			return wirelab.UnknownName("database of "+work.Name, kind, known)
		}
		if f.Dry {
			continue
		}
		if _, err := d.Source(ctx, kind); err != nil {
			return err
		}
	}
	return nil
}

// Databases are those that this command uses. What it started itself ends with it.
type Databases struct {
	Getenv func(string) string
	Tell   progress.Teller

	given   string            // a PostgreSQL's DSN that was typed
	private *postgres.Server  // that was started here; nil: none
	cpus    []int             // that what is started here may run on; nil: any
	sources map[string]string // by kind; a DSN may hold a password, and is never shown
	close   []func() error
}

// usual is the kind of database to use where nothing else is said.
func (f *Choice) usual(ctx context.Context, d *Databases) (string, error) {
	if f.Dry {
		return Postgres, nil // which another machine may have
	}
	_, err := d.Source(ctx, Postgres)
	switch {
	case err == nil:
		return Postgres, nil
	case ctx.Err() != nil || d.Getenv(experiment.DatabaseVariable) != "":
		return "", err // a server that was named is meant
	}
	d.Tell.Note("no PostgreSQL: %s; data is kept in the embedded database instead, and results say so",
		fault.Describe(err))
	return Embedded, nil
}

// Source tells where the database of a kind is. What is not there is started.
func (d *Databases) Source(ctx context.Context, kind string) (string, error) {
	if source, ok := d.sources[kind]; ok {
		return source, nil
	}
	var source string
	var err error
	switch kind {
	case Postgres:
		source, err = d.postgres(ctx)
	case Embedded:
		source, err = d.NewFile()
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

// NewFile returns a file for the time of the command. Those of commands that
// were killed nobody else would remove.
func (d *Databases) NewFile() (string, error) {
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
func (d *Databases) Close() error {
	var all error
	for _, end := range slices.Backward(d.close) {
		all = errors.Join(all, end())
	}
	*d = Databases{Getenv: d.Getenv, Tell: d.Tell}
	return all
}

// Over returns the cell over the database that is asked for; nil where
// it stays in memory.
func (d *Databases) Over(ctx context.Context, works catalog.Catalog, cell wirelab.Cell, f Choice,
	controlled bool,
) (wirelab.Cell, wirelab.OpenDatabase, error) {
	at, err := d.For(ctx, works, cell.Workload, f, controlled)
	if err != nil || at.Kind == "" {
		return cell, nil, err
	}
	if controlled {
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
func patiently(ctx context.Context, cell wirelab.Cell,
	at wirelab.DatabaseAddress,
) (wirelab.Cell, wirelab.OpenDatabase, error) {
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

// For says where the database of a server is. That of an experiment is
// told where; what a person serves finds it as an experiment does.
func (d *Databases) For(ctx context.Context, works catalog.Catalog, workload string, f Choice,
	controlled bool,
) (wirelab.DatabaseAddress, error) {
	if controlled {
		kind := f.Kind
		if kind == wirelab.Memory {
			kind = ""
		}
		return wirelab.DatabaseAddress{Kind: kind, Source: d.Getenv(experiment.DatabaseVariable), Pool: f.Pool}, nil
	}
	f.free = true
	p, err := f.Apply(ctx, d, works, plan.Plan{Workload: workload, Arms: []plan.Arm{{}}})
	if err != nil {
		return wirelab.DatabaseAddress{}, err
	}
	kind := p.DatabaseOf(plan.Arm{})
	if kind == "" {
		return wirelab.DatabaseAddress{}, nil
	}
	source, err := d.Source(ctx, kind)
	return wirelab.DatabaseAddress{Kind: kind, Source: source, Pool: p.Pool}, err
}
