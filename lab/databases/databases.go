// Package databases finds, starts and stops the databases in which the servers of an experiment keep their data. It
// knows which kinds there are and where to look for them, and must not know what they store.
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

// The kinds of database that a command line can name.
const (
	Postgres = "postgres"
	Embedded = "embedded"
)

// Choice says where servers keep their data.
type Choice struct {
	Kind string
	Pool int
	Dry  bool // start nothing
	free bool // pin nothing
}

// Kinds returns the names of all places where servers can keep their data.
func Kinds() []string { return []string{Postgres, Embedded, wirelab.Memory} }

// isDSN reports whether a text is a connection string of PostgreSQL.
func isDSN(text string) bool {
	return strings.HasPrefix(text, "postgres://") || strings.HasPrefix(text, "postgresql://") ||
		strings.Contains(text, "=")
}

// Apply sets the database of a plan from the flags, the environment and this machine, and makes sure that it is
// available.
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
		return p, wirelab.Errorf(wirelab.InvalidArgument, "%s keeps its data in memory: omit --db and --pool",
			work.Name)
	}
	return p, f.provide(ctx, d, p, work)
}

// cores returns the CPUs on which a database that is started for a plan may run.
func (f *Choice) cores(p plan.Plan, work wirelab.Work) ([]int, error) {
	if f.Dry || f.free || len(work.Databases) == 0 {
		return nil, nil
	}
	return coresOf(p)
}

// provide makes sure that the databases of a plan are available.
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

// Databases are the databases that a command uses. Close stops those that it started.
type Databases struct {
	Getenv func(string) string
	Tell   progress.Teller

	given   string            // a PostgreSQL connection string that was typed
	private *postgres.Server  // started here; nil: none
	cpus    []int             // for a server started here; nil: any
	sources map[string]string // by kind; a connection string may hold a password, and is never shown
	close   []func() error
}

// usual returns the kind of database to use if no setting names one.
func (f *Choice) usual(ctx context.Context, d *Databases) (string, error) {
	if f.Dry {
		return Postgres, nil // another machine may have it
	}
	_, err := d.Source(ctx, Postgres)
	switch {
	case err == nil:
		return Postgres, nil
	case ctx.Err() != nil || d.Getenv(experiment.DatabaseVariable) != "":
		return "", err // the user named this server, so the embedded database must not replace it
	}
	d.Tell.Note("no PostgreSQL: %s; data is kept in the embedded database instead, and results say so",
		fault.Describe(err))
	return Embedded, nil
}

// Source returns the address of the database of a kind. If there is none, it starts one.
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

// embeddedPrefix begins the directory names of embedded databases.
const embeddedPrefix = "wirelab-db-"

// NewFile returns a database file that is removed at the end of the command. It also removes the files of commands that
// were killed, since nothing else would.
func (d *Databases) NewFile() (string, error) {
	for _, left := range daemon.Left(os.TempDir(), embeddedPrefix, time.Now()) {
		daemon.Reclaim(left, func() bool { return true }) // the children of a killed command have ended with it
	}
	dir, owned, err := daemon.Make(os.TempDir(), embeddedPrefix, nil)
	if err != nil {
		return "", err
	}
	d.close = append(d.close, func() error { return errors.Join(os.RemoveAll(dir), owned.Close()) })
	return filepath.Join(dir, "data.db"), nil
}

// Close stops what was started.
func (d *Databases) Close() error {
	var all error
	for _, end := range slices.Backward(d.close) {
		all = errors.Join(all, end())
	}
	*d = Databases{Getenv: d.Getenv, Tell: d.Tell}
	return all
}

// Over returns the cell over the chosen database, and the open database; nil if data stays in memory.
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

// How long an experiment's server waits for a database that is not available, and how long between two tries. A crash
// in one round must not cost the next round.
const (
	databasePatience = 20 * time.Second
	databaseLook     = 200 * time.Millisecond
)

// patiently opens a database that may be about to come back.
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

// For returns where the database of a server is. A server of an experiment (controlled) gets that from its environment.
// A server that a person starts finds it as an experiment does.
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
