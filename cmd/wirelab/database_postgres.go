package main

import (
	"context"

	"wirelab"
	"wirelab/experiment"
)

// postgres finds or starts a PostgreSQL.
func (d *databases) postgres(_ context.Context, a *app) (string, error) {
	if d.given != "" {
		return d.given, nil
	}
	if dsn := a.getenv(experiment.DatabaseVariable); dsn != "" {
		return dsn, nil
	}
	return "", wirelab.Errorf(wirelab.Unavailable, "none is running")
}
