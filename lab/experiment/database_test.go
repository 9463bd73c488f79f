package experiment_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"wirelab"
	"wirelab/lab/experiment"
	"wirelab/lab/plan"
	"wirelab/lab/result"
)

// shelf is a database whose CPU clock advances by a millisecond with each reading, and whose commits by one.
type shelf struct {
	mu        sync.Mutex // guards all below
	processes int
	counts    int
	elsewhere bool
	gone      int  // from this reading on there are no processes
	broken    bool // counts fail
}

func (s *shelf) Processes() (*result.DatabaseProcesses, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.processes++
	if s.elsewhere || s.gone > 0 && s.processes >= s.gone {
		return nil, nil
	}
	at := plan.Duration(s.processes) * plan.Duration(time.Millisecond)
	return &result.DatabaseProcesses{CPU: at, Wall: 2 * at, CPUs: []int{0}}, nil
}

func (s *shelf) Counts(context.Context) (*result.DatabaseCounts, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts++
	if s.broken {
		return nil, errors.New("no word")
	}
	return &result.DatabaseCounts{Commits: uint64(s.counts)}, nil
}

// kept runs two arms, one of them over a database that is inside its server.
func kept(t *testing.T, databases map[string]experiment.Database) (*experiment.Runner, *result.Result, error) {
	t.Helper()
	c := runner(t, newBench(), 2, "a", "b")
	c.Plan.Database = "shelf"
	c.Plan.Arms[1].Database = "pocket"
	c.Databases = databases
	r, err := c.Run(t.Context())
	return c, r, err
}

// The use of the database is read around every slice of the arms over it, and added to their trials. If the database is
// inside the server, the trial says so (grb-M13: neither server nor database was observed).
func TestTrialsSayWhatTheDatabaseUsed(t *testing.T) {
	t.Parallel()
	c, r, err := kept(t, map[string]experiment.Database{"shelf": &shelf{}, "pocket": nil})
	if err != nil {
		t.Fatal(err)
	}
	for _, round := range r.Rounds {
		for _, trial := range round.Trials {
			d := trial.Database
			switch {
			case d == nil:
				t.Errorf("arm %d tells nothing of its database", trial.Arm)
			case trial.Arm == 1:
				if !d.Within || d.Processes != nil || d.Counts != nil {
					t.Errorf("of a database inside the server there is %+v", d)
				}
			case d.Within || d.Processes == nil || d.Counts == nil:
				t.Errorf("of a database outside the server there is %+v", d)
			default:
				// A slice takes two readings of each, and they differ by one: no other reading may come between them.
				slices := plan.Duration(c.Plan.Slices)
				if want := slices * plan.Duration(time.Millisecond); d.Processes.CPU != want ||
					d.Processes.Wall != 2*want {
					t.Errorf("%v of CPU in %v, want %v in %v", d.Processes.CPU, d.Processes.Wall, want, 2*want)
				}
				if d.Counts.Commits != uint64(c.Plan.Slices) {
					t.Errorf("%d commits, want %d", d.Counts.Commits, c.Plan.Slices)
				}
			}
		}
	}
}

// A database elsewhere, or one that ended during the run, does not spoil the experiment: its use is unknown, and
// nothing is made up.
func TestTrialsOfADatabaseThatIsNotSeen(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for why, s := range map[string]*shelf{"elsewhere": {elsewhere: true}, "gone in mid-run": {gone: 4}} {
		_, r, err := kept(t, map[string]experiment.Database{"shelf": s})
		if err != nil {
			t.Fatalf("%s: %v", why, err)
		}
		unseen := 0
		for _, round := range r.Rounds {
			for _, trial := range round.Trials {
				switch d := trial.Database; {
				case trial.Arm == 1 && d != nil:
					t.Errorf("%s: of a kind that is not observed there is %+v", why, d)
				case trial.Arm == 0 && (d == nil || d.Counts == nil):
					t.Errorf("%s: it counted %+v", why, d)
				case trial.Arm == 0 && d.Processes == nil:
					unseen++
				}
			}
		}
		if unseen == 0 {
			t.Errorf("%s: processes are known in every trial", why)
		}
	}
}

// A database that cannot be read fails its arm, as a server does.
func TestDatabaseThatFailsFailsTheArm(t *testing.T) {
	t.Parallel()
	_, r, err := kept(t, map[string]experiment.Database{"shelf": &shelf{broken: true}, "pocket": nil})
	if err != nil {
		t.Fatal(err)
	}
	for _, round := range r.Rounds {
		if len(round.Failures) != 1 || round.Failures[0].Arm != 0 {
			t.Errorf("failures %v, want arm 0's", round.Failures)
		}
	}
}

// The database's use during a round does not count as noise of others.
func TestDatabaseIsNotNoise(t *testing.T) {
	t.Parallel()
	busy := &spender{}
	c := runner(t, newBench(), 1, "a", "b")
	c.Plan.Database = "busy"
	c.Databases = map[string]experiment.Database{"busy": busy}
	r, err := c.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// It reports more than all CPUs have, so nothing is left for others.
	for _, round := range r.Rounds {
		if round.Noise.Others != 0 {
			t.Errorf("others used %v, where all was the database's", round.Noise.Others)
		}
	}
}

// spender is a database that reports an hour of use between two readings.
type spender struct{ read time.Duration }

func (s *spender) Processes() (*result.DatabaseProcesses, error) {
	s.read += time.Hour
	return &result.DatabaseProcesses{CPU: plan.Duration(s.read), CPUs: []int{0}}, nil
}

func (*spender) Counts(context.Context) (*result.DatabaseCounts, error) { return nil, nil }

// A server reports the use of its pool with its own use, and it is stored for each trial.
func TestTrialsSayHowThePoolWasUsed(t *testing.T) {
	t.Parallel()
	b := newBench()
	b.pool = &pool{}
	c := runner(t, b, 1, "a", "b")
	r, err := c.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, trial := range r.Rounds[0].Trials {
		p, slices := trial.Pool, uint64(c.Plan.Slices)
		if p == nil || p.Size != 16 || p.Taken != 3*slices || p.Waited != 2*slices ||
			p.Waiting != plan.Duration(slices)*plan.Duration(time.Millisecond) {
			t.Errorf("pool %+v, want what one answer is beyond the one before it, %d times", p, slices)
		}
	}
}

// pool is an open database that only has a pool: between two readings 3 connections are taken, 2 of them after a wait,
// 1 ms in all.
type pool struct {
	mu  sync.Mutex // guards use
	use wirelab.PoolUse
}

func (*pool) About() string { return "a pool" }
func (*pool) Close() error  { return nil }

func (p *pool) Pool() (wirelab.PoolUse, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.use.Size, p.use.Open = 16, 16
	p.use.Acquired += 3
	p.use.Waited += 2
	p.use.Waiting += time.Millisecond
	return p.use, true
}
