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

// shelf is a database whose clock goes on by a millisecond, and which counts a
// commit, whenever it is asked for either.
type shelf struct {
	mu        sync.Mutex // guards all below
	processes int
	counts    int
	elsewhere bool
	gone      int  // the reading of processes from which on there are none
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

// What the database used is read around every slice of the arms that it is
// behind, and added to their trials; of one that is inside its server that is
// said (grb-M13: of server and database nothing was observed).
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
				t.Errorf("of a database beside the server there is %+v", d)
			default:
				// A slice is two readings of each, which are one apart: nothing
				// else may come between them.
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

// A database elsewhere, or one that ended in mid-run, spoils no experiment:
// what it used is not known, and nothing is made up.
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
					t.Errorf("%s: of a kind that nobody looks at there is %+v", why, d)
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

// Asking that fails is the arm's failure, as asking a server is.
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

// What the database uses while a round runs is not others' noise.
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
	// It says that it used more than all CPUs have: nothing is left for others.
	for _, round := range r.Rounds {
		if round.Noise.Others != 0 {
			t.Errorf("others used %v, where all was the database's", round.Noise.Others)
		}
	}
}

// spender is a database that says it uses an hour between two readings.
type spender struct{ read time.Duration }

func (s *spender) Processes() (*result.DatabaseProcesses, error) {
	s.read += time.Hour
	return &result.DatabaseProcesses{CPU: plan.Duration(s.read), CPUs: []int{0}}, nil
}

func (*spender) Counts(context.Context) (*result.DatabaseCounts, error) { return nil, nil }

// How a server used its pool is told with its usage, and stored for each trial.
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

// pool is an open database that does nothing but have a pool: between two
// questions 3 connections are taken, 2 after a wait, together of 1 ms.
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
