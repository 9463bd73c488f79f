package databases

import (
	"context"

	"wirelab/lab/experiment"
	"wirelab/lab/plan"
	"wirelab/lab/result"
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
		all[kind] = stored{account}
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

// stored is an account whose readings have the stored form.
type stored struct{ account *postgres.Account }

// Processes implements [experiment.Database].
func (s stored) Processes() (*result.DatabaseProcesses, error) {
	used, err := s.account.Processes()
	if used == nil {
		return nil, err
	}
	all := &result.DatabaseProcesses{
		CPU: plan.Duration(used.CPU), Background: plan.Duration(used.Background), Wall: plan.Duration(used.Wall),
		CPUs: used.CPUs,
	}
	if used.Storage {
		all.Storage = &result.StorageUse{Read: used.Read, Written: used.Written}
	}
	return all, err
}

// Counts implements [experiment.Database].
func (s stored) Counts(ctx context.Context) (*result.DatabaseCounts, error) {
	counts, err := s.account.Counts(ctx)
	if counts == nil {
		return nil, err
	}
	return &result.DatabaseCounts{
		WALBytes: counts.WALBytes, BlocksRead: counts.BlocksRead, BlocksHit: counts.BlocksHit,
		Commits: counts.Commits, Rollbacks: counts.Rollbacks, Checkpoints: counts.Checkpoints,
	}, err
}
