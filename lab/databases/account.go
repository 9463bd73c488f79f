package databases

import (
	"context"

	"wirelab/lab/experiment"
	"wirelab/lab/plan"
	"wirelab/system/postgres"
)

// Accounts opens the cost accounts of the databases of a plan, by kind. An embedded database has none (nil): its cost
// is part of its server's. A server that was started here is pinned to other cores than the plan's servers.
func (d *Databases) Accounts(ctx context.Context, p plan.Plan,
	bench *experiment.Processes,
) (map[string]experiment.Database, error) {
	all := map[string]experiment.Database{}
	for _, kind := range p.Databases() {
		all[kind] = nil
		if kind != Postgres {
			continue
		}
		account, err := postgres.OpenAccount(ctx, d.sources[kind])
		if err != nil {
			return nil, err
		}
		d.close = append(d.close, func() error { return account.Close(context.WithoutCancel(ctx)) })
		all[kind] = account
		if d.private == nil {
			continue
		}
		if cpus, err := bench.PlaceDatabase(); err != nil || len(cpus) == 0 {
			return all, err
		} else if err := account.Pin(cpus); err != nil {
			return nil, err
		}
	}
	return all, nil
}
