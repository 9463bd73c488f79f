package main

import (
	"context"

	"github.com/spf13/pflag"

	"wirelab/lab/databases"
	"wirelab/lab/plan"
)

func registerDatabase(f *databases.Choice, flags *pflag.FlagSet) {
	flags.StringVar(&f.Kind, "db", "", "where servers keep their data: postgres, embedded, memory, or the `DSN` of a PostgreSQL "+
		"(default, if the workload has a database: $WIRELAB_DB, else the server of wirelab db start, else a temporary one, else embedded)")
	flags.IntVar(&f.Pool, "pool", 0, "`connections` to the database that each server holds (default 16)")
}

// whole completes a plan that says itself which databases it needs.
func (a *app) whole(ctx context.Context, p plan.Plan) (plan.Plan, error) {
	var none databases.Choice
	p, err := none.Apply(ctx, &a.databases, a.Catalog, p)
	if err != nil {
		return p, err
	}
	return p.Complete()
}
