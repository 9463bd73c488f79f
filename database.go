package wirelab

import (
	"context"
	"io"
	"time"
)

// Database is a kind of database that a workload's service can be served from,
// beside memory.
type Database[S any] struct {
	Name string // "postgres", "embedded"; as typed on the command line
	// Open returns the service over the database at an address, made ready: its
	// schema is there and it holds the data set data ("" is the first), written
	// if need be. Several processes may open one at once.
	Open func(ctx context.Context, at DatabaseAddress, data string) (Opened[S], error)
	// Script returns the statements that the service runs for an operation over a data set, with requests drawn at
	// random, in the form that pgbench reads: what the database does without a service before it. It is Unimplemented
	// for an operation that has none. nil: the database has no such program.
	Script func(data, operation, requests string) (Script, error)
}

// Script is what a database does for an operation: statements, in the form that pgbench reads.
type Script struct {
	Schema string // that the statements look names up in
	Text   string
}

// DatabaseAddress says where a database is.
type DatabaseAddress struct {
	Kind string // a [Database.Name]
	// Source is a connection string or a file, as the kind reads it; it may
	// hold a password, and is never shown. "" where the kind needs none.
	Source string
	// Pool is the most connections that the service holds. 0: [PoolSize].
	Pool int
}

// PoolSize is how many connections to its database a server holds unless it is
// told otherwise, the same on every wire (docs/origins.md R4): a library's own
// default is a number of processors that nobody wrote down (grb-M13).
const PoolSize = 16

// PoolLimit is the most connections that a server may be told to hold.
const PoolLimit = 1000

// Opened is a service over an open database.
type Opened[S any] struct {
	Service S
	// About names what is behind it, with its version: "PostgreSQL 15.18".
	About string
	// Pool tells how its connections were used so far; nil where there is no pool.
	Pool func() PoolUse
	io.Closer
}

// PoolUse is how a pool of connections was used since it was opened.
type PoolUse struct {
	Size     int           `json:"size"`     // connections at most
	Open     int           `json:"open"`     // connections now
	Acquired uint64        `json:"acquired"` // times one was taken
	Waited   uint64        `json:"waited"`   // times none was free
	Waiting  time.Duration `json:"waiting"`  // summed over those, ns
}

// OpenDatabase is an open database that a cell is served from.
type OpenDatabase interface {
	io.Closer
	// About names it with its version.
	About() string
	// Pool tells how its connections were used so far; false where there is no pool.
	Pool() (PoolUse, bool)
}

// openDatabase is an [OpenDatabase] of any service.
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

// Memory is the name of what holds a service that is opened over no database.
const Memory = "memory"

// database returns the workload's database of a name.
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

// direct is the workload's database without a service, as a cell that nothing serves: see [Cell.Script].
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

// open opens a database and returns the workload whose servers serve from it.
// What is expected of them is still worked out in memory.
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
