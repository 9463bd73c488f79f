package wirelab

import (
	"context"
	"io"
	"time"
)

// Database is a kind of database that can store the data of a workload's service,
// instead of memory.
type Database[S any] struct {
	Name string // "postgres", "embedded"; as typed on the command line
	// Open returns the service over the database at an address. It creates the
	// schema and writes the data set data ("" is the first) if they are missing.
	// Several processes may open one database at once.
	Open func(ctx context.Context, at DatabaseAddress, data string) (Opened[S], error)
	// Script returns the statements that the service runs for an operation over a data set, with requests drawn at
	// random, in the format of pgbench: the work of the database without a service in front of it. It returns
	// Unimplemented for an operation without a script. nil: the database has no scripts.
	Script func(data, operation, requests string) (Script, error)
}

// Script is the work of a database for an operation: statements, in the format of pgbench.
type Script struct {
	Schema string // the schema in which the statements look up names
	Text   string
}

// DatabaseAddress is the address of a database.
type DatabaseAddress struct {
	Kind string // a [Database.Name]
	// Source is a connection string or a file, as the kind requires. It may
	// contain a password, and is never shown. "" if the kind needs none.
	Source string
	// Pool is the largest number of connections of the service. 0: [PoolSize].
	Pool int
}

// PoolSize is the default number of connections of a server to its database. It is
// the same on every wire (docs/origins.md R4): a library's default depends on the
// number of processors, which no result records (grb-M13).
const PoolSize = 16

// PoolLimit is the largest pool that can be configured.
const PoolLimit = 1000

// Opened is a service over an open database.
type Opened[S any] struct {
	Service S
	// About is the name and version of the database: "PostgreSQL 15.18".
	About string
	// Pool returns how its connections were used so far; nil if there is no pool.
	Pool func() PoolUse
	io.Closer
}

// PoolUse counts how a pool of connections was used since it was opened.
type PoolUse struct {
	Size     int           `json:"size"`     // connections at most
	Open     int           `json:"open"`     // connections now
	Acquired uint64        `json:"acquired"` // how often a connection was taken
	Waited   uint64        `json:"waited"`   // how often no connection was free
	Waiting  time.Duration `json:"waiting"`  // total time of these waits, ns
}

// OpenDatabase is the open database of a cell.
type OpenDatabase interface {
	io.Closer
	// About returns the name and version of the database.
	About() string
	// Pool returns how its connections were used so far; false if there is no pool.
	Pool() (PoolUse, bool)
}

// openDatabase implements [OpenDatabase] for any service.
type openDatabase struct {
	io.Closer
	about string
	pool  func() PoolUse
}

func (d openDatabase) About() string { return d.about }

func (d openDatabase) Pool() (PoolUse, bool) {
	if d.pool == nil {
		return PoolUse{}, false
	}
	return d.pool(), true
}

// Memory is the name for a service without a database.
const Memory = "memory"

// database returns the workload's database with a name.
func (w Workload[S]) database(name string) (Database[S], error) {
	known := []string{Memory}
	for _, d := range w.Databases {
		if d.Name == name {
			return d, nil
		}
		known = append(known, d.Name)
	}
	if len(known) == 1 {
		return Database[S]{}, Errorf(InvalidArgument, "%s keeps its data in memory; leave the database out", w.Name)
	}
	return Database[S]{}, UnknownName("database of "+w.Name, name, known, "wirelab matrix "+w.Name)
}

// direct returns the workload's database without a service, as a cell without a server: see [Cell.Script].
func (w Workload[S]) direct(d Database[S]) Cell {
	cell := Cell{
		Workload: w.Name, Usual: true, Style: Idiomatic,
		Protocol: Protocol{Name: d.Name, Network: "tcp", Transport: "TCP", Framing: d.Name, Encoding: d.Name},
		Script:   func(operation, requests string) (Script, error) { return d.Script(w.data, operation, requests) },
	}
	cell.with = func(data string) (Cell, error) {
		other, err := w.With(data)
		if err != nil {
			return Cell{}, err
		}
		return other.direct(d), nil
	}
	cell.over = func(ctx context.Context, at DatabaseAddress) (Cell, OpenDatabase, error) {
		opened, err := w.open(ctx, at, w.data)
		if err != nil {
			return Cell{}, nil, err
		}
		return w.direct(d), openDatabase{Closer: opened.Closer, about: opened.About, pool: opened.Pool}, nil
	}
	return cell
}

// open opens a database and returns the service over it.
// Expected replies still come from the reference in memory.
func (w Workload[S]) open(ctx context.Context, at DatabaseAddress, data string) (Opened[S], error) {
	d, err := w.database(at.Kind)
	if err != nil {
		return Opened[S]{}, err
	}
	if at.Pool == 0 {
		at.Pool = PoolSize
	}
	if at.Pool < 1 || at.Pool > PoolLimit {
		return Opened[S]{}, Errorf(InvalidArgument, "a pool of %d connections; want 1 to %d", at.Pool, PoolLimit)
	}
	return d.Open(ctx, at, data)
}
