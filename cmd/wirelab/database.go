package main

import (
	"github.com/spf13/pflag"

	"wirelab/lab/databases"
)

func registerDatabase(f *databases.Choice, flags *pflag.FlagSet) {
	flags.StringVar(&f.Kind, "db", "", "where servers keep their data: postgres, embedded, memory, or the `DSN` of a PostgreSQL "+
		"(default, if the workload has a database: $WIRELAB_DB, else the server of wirelab db start, else a temporary one, else embedded)")
	flags.IntVar(&f.Pool, "pool", 0, "`connections` to the database that each server holds (default 16)")
}
