package experiment

import (
	"context"
	"os"
	"slices"
	"time"

	"wirelab"
	"wirelab/lab/control"
	"wirelab/lab/plan"
	"wirelab/lab/probe"
	"wirelab/lab/result"
)

// Database is what servers keep their data in, outside of themselves. It is
// asked around every slice, and by one goroutine at a time.
type Database interface {
	// Processes tells what its processes have used so far, without asking it;
	// nil where they cannot be seen, or are not those of the reading before.
	Processes() (*result.DatabaseProcesses, error)
	// Counts asks what it counted so far; nil where it does not tell.
	Counts(ctx context.Context) (*result.DatabaseCounts, error)
}

// databaseOf is what an arm's server keeps its data in; within, if that is
// inside the server. Neither where nobody looks: no database is known of the
// plan, or not this one, or the server is somebody else's.
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

// stretch is what the database behind a server used over a slice. The server
// is asked before [round.behind] and after [stretch.ended]: for it to tell all
// about its connections makes the database work. And the clocks are read last
// before and first after, since telling its counts makes it work too.
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

// PlaceDatabase gives a database of our own CPUs, takes them from the servers
// and returns them; nil: it may run anywhere. It is called before servers are
// started, and for a database only that nobody else uses.
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

// placeDatabase gives a database half of the server's cores, whole ones, where
// that has several, and else has them share it. Beside the driver it would make
// calls late, and so spoil what is measured; beside the server it makes that
// slower, alike for all arms, and what each of the two used is known apart.
func placeDatabase(p result.Placement, cores [][]int) result.Placement {
	var whole [][]int // the server's
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

// pooled is how a pool was used between two answers of a server; nil where
// there is none.
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

// ownTimes is the CPU time so far of what is the experiment's beside its
// children: the conductor, and the databases that it can see, by kind.
func (c *Runner) ownTimes() (map[string]time.Duration, error) {
	self, err := probe.CPU(os.Getpid())
	if err != nil {
		return nil, err
	}
	all := map[string]time.Duration{wirelab.Memory: self} // the conductor's: no database is called so
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

// ownSince is the CPU time that was used between two readings, of what both tell.
func ownSince(before, after map[string]time.Duration) (sum time.Duration) {
	for who, now := range after {
		if was, ok := before[who]; ok {
			sum += max(0, now-was)
		}
	}
	return sum
}
