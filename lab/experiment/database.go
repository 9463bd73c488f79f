package experiment

import (
	"context"
	"os"
	"slices"
	"time"

	"wirelab"
	"wirelab/internal/process"
	"wirelab/lab/control"
	"wirelab/lab/plan"
	"wirelab/lab/probe"
	"wirelab/lab/result"
)

// Database is a database outside the servers. It is read around every slice, by one goroutine at a time.
type Database interface {
	// Processes returns what its processes have used so far, without a request to the database. It returns nil if they
	// are not visible, or are not those of the last reading.
	Processes() (*result.DatabaseProcesses, error)
	// Counts asks the database for its counters; nil if it does not provide them.
	Counts(ctx context.Context) (*result.DatabaseCounts, error)
}

// databaseOf returns the database of an arm's server; within is set if it runs inside the server. It returns nil and
// false if the database is not observed: the runner knows no database of the plan or not this one, or wirelab did not
// start the server.
func (c *Runner) databaseOf(arm plan.Arm) (database Database, within bool) {
	if len(c.Databases) == 0 || arm.Target != "" {
		return nil, false
	}
	kind := c.Plan.DatabaseOf(arm)
	if kind == "" {
		return nil, true
	}
	database, known := c.Databases[kind]
	return database, known && database == nil
}

// stretch is what the database behind a server used over a slice. The server is asked before [round.behind] and after
// [stretch.ended], since to report on its connections it makes the database work. The CPU clocks are read last before
// and first after, since reporting the counters makes the database work too.
type stretch struct {
	database      Database // nil: none to look at
	within        bool     // it is in the server
	before, after result.DatabaseUse
}

// behind begins a stretch.
func (w *round) behind(ctx context.Context, a *armRun) (s *stretch, err error) {
	s = &stretch{}
	if s.database, s.within = w.c.databaseOf(a.plan); s.database == nil {
		return s, nil
	}
	if s.before.Counts, err = s.database.Counts(ctx); err != nil {
		return nil, err
	}
	s.before.Processes, err = s.database.Processes()
	return s, err
}

// ended ends a stretch.
func (s *stretch) ended() (err error) {
	if s.database != nil {
		s.after.Processes, err = s.database.Processes()
	}
	return err
}

// add adds a stretch that has ended to its trial.
func (s *stretch) add(ctx context.Context, t *result.Trial) (err error) {
	switch {
	case s.within:
		t.Database = t.Database.Add(result.DatabaseUse{Within: true})
	case s.database != nil:
		if s.after.Counts, err = s.database.Counts(ctx); err != nil {
			return err
		}
		t.Database = t.Database.Add(s.after.Since(s.before))
	}
	return nil
}

// PlaceDatabase takes CPUs from the servers for a private database and returns them; nil: it may run anywhere. Call it
// before servers are started, and only for a database that this experiment alone uses.
func (b *Processes) PlaceDatabase() ([]int, error) {
	if len(b.place.ServerCPUs) == 0 {
		return nil, nil
	}
	cores, err := probe.Cores(os.DirFS("/"))
	if err != nil {
		return nil, err
	}
	b.place = placeDatabase(b.place, cores)
	return b.place.DatabaseCPUs, nil
}

// placeDatabase gives a database half of the server's cores, without dividing a core, if the server has several.
// Otherwise it shares the server's core. On the driver's cores it would make calls late, and so spoil the measurement.
// On the server's it slows the server down equally for all arms, and the use of each is known separately.
func placeDatabase(p result.Placement, cores [][]int) result.Placement {
	var whole [][]int // whole cores of the server
	for _, core := range cores {
		if len(core) > 0 && slices.Contains(p.ServerCPUs, core[0]) {
			whole = append(whole, core)
		}
	}
	p.DatabaseCPUs = p.ServerCPUs
	if half := len(whole) / 2; half > 0 {
		p.DatabaseCPUs = slices.Sorted(slices.Values(slices.Concat(whole[len(whole)-half:]...)))
		p.ServerCPUs = slices.DeleteFunc(slices.Clone(p.ServerCPUs),
			func(cpu int) bool { return slices.Contains(p.DatabaseCPUs, cpu) })
	}
	return p
}

// pooled returns how a pool was used between two replies of a server; nil if there is none.
func pooled(before, after control.Reply) *result.PoolUse {
	if before.Pool == nil || after.Pool == nil {
		return nil
	}
	b, a := *before.Pool, *after.Pool
	return &result.PoolUse{
		Size: a.Size, Open: a.Open, Taken: a.Acquired - min(a.Acquired, b.Acquired),
		Waited: a.Waited - min(a.Waited, b.Waited), Waiting: plan.Duration(max(0, a.Waiting-b.Waiting)),
	}
}

// ownTimes returns the CPU time so far of the experiment's processes that are not its children: the runner, and the
// databases that it can see, by kind.
func (c *Runner) ownTimes() (map[string]time.Duration, error) {
	self, err := process.CPU(os.Getpid())
	if err != nil {
		return nil, err
	}
	all := map[string]time.Duration{wirelab.Memory: self} // the runner's: no database has this name
	for kind, database := range c.Databases {
		if database == nil {
			continue
		}
		used, err := database.Processes()
		if err != nil {
			return nil, err
		}
		if used != nil {
			all[kind] = time.Duration(used.CPU)
		}
	}
	return all, nil
}

// ownSince returns the CPU time that was used between two readings, for the keys that both have.
func ownSince(before, after map[string]time.Duration) (sum time.Duration) {
	for who, now := range after {
		if was, ok := before[who]; ok {
			sum += max(0, now-was)
		}
	}
	return sum
}
