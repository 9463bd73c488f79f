package databases

import (
	"context"

	"wirelab/lab/experiment"
	"wirelab/lab/plan"
	"wirelab/system/postgres"
)

// postgres finds a PostgreSQL: the one that was typed, the one in the environment, or the one of "wirelab db start". If
// there is none, it starts one for the duration of the command.
func (d *Databases) postgres(ctx context.Context) (string, error) {
	if d.given != "" {
		return d.given, nil
	}
	if dsn := d.Getenv(experiment.DatabaseVariable); dsn != "" {
		return dsn, nil
	}
	resident, running, err := postgres.Running(d.Getenv)
	if err != nil {
		return "", err
	}
	if running {
		return resident.Source, nil
	}
	defer d.Tell.Doing("starting a PostgreSQL")()
	server, err := postgres.Start(ctx, postgres.Options{Getenv: d.Getenv, CPUs: d.cpus})
	if err != nil {
		return "", err
	}
	d.close = append(d.close, func() error { return server.Stop(context.WithoutCancel(ctx)) })
	d.private = server
	return server.DSN(), nil
}

// coresOf returns the CPUs of a plan's servers: their database stays off the driver's CPUs.
func coresOf(p plan.Plan) ([]int, error) {
	bench, err := experiment.NewProcesses("", plan.Plan{Pin: p.Pin, DriverCores: p.DriverCores})
	if err != nil {
		return nil, err
	}
	return bench.Placement().ServerCPUs, nil
}
