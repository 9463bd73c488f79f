package postgres

import (
	"context"
	"fmt"

	"wirelab"
	"wirelab/system/postgres"
	"wirelab/workload/ledger"
)

// Kind is the name of the database.
const Kind = "postgres"

// Database returns PostgreSQL as a database of the ledger. Its source is a connection string.
func Database() wirelab.Database[ledger.Service] {
	return wirelab.Database[ledger.Service]{Name: Kind, Open: open, Script: script}
}

// open prepares the data set and opens the ledger over it.
func open(ctx context.Context, at wirelab.DatabaseAddress, data string) (wirelab.Opened[ledger.Service], error) {
	set, err := ledger.SetOf(data)
	if err != nil {
		return wirelab.Opened[ledger.Service]{}, err
	}
	if at.Pool == 0 {
		at.Pool = wirelab.PoolSize
	}
	if at.Source == "" {
		return wirelab.Opened[ledger.Service]{}, wirelab.Errorf(wirelab.InvalidArgument,
			"no connection string: set %s to one such as postgres://user:password@host:5432/database, or start a "+
				"server with "+
				"wirelab db start", postgres.Variable)
	}
	if _, err := makeReady(ctx, at.Source, set); err != nil {
		return wirelab.Opened[ledger.Service]{}, fmt.Errorf("data set %s: %w", set.Name(), err)
	}
	name := schemaOf(set)
	pool, err := postgres.Open(ctx, at.Source, postgres.Pooling{Size: at.Pool, Schema: name, Each: prepare})
	if err != nil {
		return wirelab.Opened[ledger.Service]{}, err
	}
	about, err := pool.About(ctx)
	if err != nil {
		pool.Close()
		return wirelab.Opened[ledger.Service]{}, err
	}
	s := &service{
		pool: pool, balances: newGatherer(pool, at.Pool), dsn: at.Source, name: name, turn: make(chan struct{}, 1),
	}
	use := func() wirelab.PoolUse { return s.balances.use(pool.Settled()) }
	return wirelab.Opened[ledger.Service]{Service: s, About: about, Pool: use, Closer: s}, nil
}

// schemaOf returns the schema of a data set.
func schemaOf(set *ledger.Set) string { return schemaStem + set.Name() }

const schemaStem = "ledger_"
