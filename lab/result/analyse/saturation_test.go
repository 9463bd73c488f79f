package analyse_test

import (
	"strings"
	"testing"
	"time"

	"wirelab/lab/kind/kinds"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/resulttest"
)

// behind is the use of the parts of an arm, in cores, and how long calls wait for a connection, as a share of a call.
type behind struct {
	server, client, database, relay float64
	wait                            float64
	cpus                            []int // the CPUs that the database may run on; nil: it is not observed
	within                          bool
	pool                            bool
}

// saturated returns the statement on an arm that has its server on CPU 0, its client on CPU 1, and CPUs 2 and 3 free.
func saturated(t *testing.T, b behind, change func(*result.Result)) claim.ArmState {
	t.Helper()
	r := resulttest.OneArm()
	r.Environment.CPUs = 4
	for n := range r.Rounds {
		trial := &r.Rounds[n].Trials[0]
		share := func(cores float64) plan.Duration { return plan.Duration(cores * float64(trial.Driver.Wall)) }
		trial.Server.CPU, trial.Driver.CPU = share(b.server), share(b.client)
		trial.Database = &result.DatabaseUse{Within: b.within}
		if b.cpus != nil {
			trial.Database.Processes = &result.DatabaseProcesses{
				CPU: share(b.database), Wall: trial.Driver.Wall,
				CPUs: b.cpus,
			}
		}
		if b.relay > 0 {
			trial.Relay = &result.Relayed{CPU: share(b.relay)}
		}
		if b.pool {
			trial.Pool = &result.PoolUse{
				Size: 16, Open: 16, Taken: trial.OK, Waited: trial.OK / 2,
				Waiting: plan.Duration(b.wait * trial.Service.Mean() * float64(trial.OK)),
			}
		}
	}
	if change != nil {
		change(r)
	}
	return analyse.Result(r).Loads[0].Arms[0]
}

// The limit of an arm follows from stored values and is reported with figures. If it does not follow, that is
// reported (grb-M13: "DB connection saturation" was a guess, from a run in which only the client was measured).
func TestSaturation(t *testing.T) {
	t.Parallel()
	for why, c := range map[string]struct {
		behind
		change func(*result.Result)
		limit  claim.Limit
		says   []string
	}{
		"the database's own core is full": {
			behind{server: 0.5, client: 0.4, database: 0.94, cpus: []int{2}, pool: true},
			nil,
			claim.LimitDatabase,
			[]string{"the database was the limit: it used 0.94 of the 1 core it had"},
		},
		"and calls queue for it at the pool": {
			behind{server: 0.5, client: 0.4, database: 0.94, cpus: []int{2}, pool: true, wait: 0.6},
			nil,
			claim.LimitDatabase,
			[]string{
				"it used 0.94 of the 1 core", "the queue for it stood at the pool: calls waited",
				"of its 16 connections",
			},
		},
		"the pool, while cores have time": {
			behind{server: 0.5, client: 0.4, database: 0.45, cpus: []int{2}, pool: true, wait: 0.6},
			nil,
			claim.LimitPool,
			[]string{
				"the pool of 16 was the queue: calls waited",
				"no cores were full: the database used 0.45 of 1 core, the server used 0.50 of 1",
			},
		},
		"neither": {
			behind{server: 0.2, client: 0.2, database: 0.3, cpus: []int{2, 3}, pool: true},
			nil,
			claim.LimitNone,
			[]string{
				"neither cores nor pool were the limit: the database used 0.30 of 2 cores",
				"no call waited for one of the pool's 16",
			},
		},
		"a wait that is a small part of a call is no queue": {
			behind{server: 0.2, client: 0.2, database: 0.3, cpus: []int{2}, pool: true, wait: 0.05},
			nil,
			claim.LimitNone,
			[]string{"neither cores nor pool"},
		},
		"server and database fill the core they share": {
			behind{server: 0.42, client: 0.4, database: 0.55, cpus: []int{0}},
			nil,
			claim.LimitCores,
			[]string{"database and server filled the one core they share: database 0.55, server 0.42, 0.97 in all"},
		},
		"server and database share a core that has time": {
			behind{server: 0.3, client: 0.4, database: 0.4, cpus: []int{0}},
			nil,
			claim.LimitNone,
			[]string{"the database used 0.40 of 1 core, the server used 0.30 of 1, the client used 0.40 of 1, " +
				"database and server together 0.70 of the 1"},
		},
		"a neighbour may have been": {
			behind{server: 0.3, client: 0.4, database: 0.4, cpus: []int{2}},
			func(r *result.Result) {
				for n := range r.Rounds {
					r.Rounds[n].Noise.Others = 0.4
				}
			},
			claim.LimitUnknown,
			[]string{"other processes used 40.0 % of all CPUs in that time, and may have filled cores"},
		},
		"a database that may run anywhere is not said to have filled the server's core": {
			behind{server: 0.5, client: 0.4, database: 0.9, cpus: []int{0, 1, 2, 3}},
			nil,
			claim.LimitNone,
			[]string{"the database used 0.90 of 4 cores"},
		},
		"all of them fill all cores": {
			behind{server: 1.3, client: 1.2, database: 1.3, cpus: []int{0, 1, 2, 3}},
			func(r *result.Result) { r.Placement = result.Placement{} },
			claim.LimitCores,
			[]string{"database, server and client filled the 4 they share", "3.80 in all"},
		},
		"the client": {
			behind{server: 0.5, client: 0.99, database: 0.4, cpus: []int{2}},
			nil,
			claim.LimitClient,
			[]string{"the client was the limit: it used 0.99 of the 1 core"},
		},
		"the client with the network's relay": {
			behind{server: 0.5, client: 0.6, relay: 0.38, database: 0.4, cpus: []int{2}},
			func(r *result.Result) { r.Placement.RelayCPUs = r.Placement.DriverCPUs },
			claim.LimitCores,
			[]string{"client and relay filled the one core they share"},
		},
		"a database on another host may be the limit": {
			behind{server: 0.5, client: 0.5, pool: true},
			nil,
			claim.LimitUnknown,
			[]string{"nothing that was seen was the limit", "what the database used is not known"},
		},
		"or not be, where another is": {
			behind{server: 0.97, client: 0.5, pool: true},
			nil,
			claim.LimitServer,
			[]string{"the server was the limit", "what the database used is not known"},
		},
		"an embedded database is in the server": {
			behind{server: 0.97, client: 0.5, within: true},
			nil,
			claim.LimitServer,
			[]string{"the server was the limit: it used 0.97 of the 1 core it had; the database is inside the server"},
		},
	} {
		d := saturated(t, c.behind, c.change).Database
		if d == nil {
			t.Errorf("%s: nothing is said", why)
			continue
		}
		if d.Saturation.Limit != c.limit {
			t.Errorf("%s: limit %q, want %q", why, d.Saturation.Limit, c.limit)
		}
		for _, text := range c.says {
			if !strings.Contains(d.Saturation.Says, text) {
				t.Errorf("%s: it says %q, want %q in it", why, d.Saturation.Says, text)
			}
		}
	}
}

// A round without a record of the database's use makes it unknown, since a sum without it would be too small.
func TestSaturationIsOfEveryRound(t *testing.T) {
	t.Parallel()
	state := saturated(t, behind{server: 0.5, client: 0.4, database: 0.94, cpus: []int{2}}, func(r *result.Result) {
		r.Rounds[3].Trials[0].Database.Processes = nil
	})
	if d := state.Database; !d.Elsewhere || d.Saturation.Limit != claim.LimitUnknown {
		t.Errorf("elsewhere %v, limit %q, want it unknown", d.Elsewhere, d.Saturation.Limit)
	}
}

// A plan without a database has no statement on it, and no rows for it.
func TestNoDatabaseNoWord(t *testing.T) {
	t.Parallel()
	l := analyse.Result(resulttest.Closed()).Loads[0]
	for _, id := range []string{plan.DatabaseCPU, plan.BackendCPU, plan.PoolWait} {
		if l.Row(id) != nil {
			t.Errorf("there is a row for %s", id)
		}
	}
	for _, arm := range l.Arms {
		if arm.Database != nil {
			t.Errorf("of %s it says %+v", arm.Name, arm.Database)
		}
	}
}

// A database that cannot be observed marks times and throughput, and invalidates nothing.
func TestDatabaseElsewhereIsAMark(t *testing.T) {
	t.Parallel()
	l := analyse.Result(resulttest.LedgerElsewhere()).Loads[0]
	marked := func(arm int, id string) bool {
		m, err := kinds.MetricByID(id)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range l.Arms[arm].Marks(m) {
			if c.Gate == result.DatabaseSeen {
				return true
			}
		}
		return false
	}
	for _, c := range []struct {
		arm  int
		id   string
		want bool
	}{
		{0, plan.Throughput, true},
		{0, plan.ResponseP50, true},
		{0, plan.ServerCPU, false},
		{0, plan.WireSent, false},
		{2, plan.Throughput, false}, // its database is inside the server
	} {
		if got := marked(c.arm, c.id); got != c.want {
			t.Errorf("%s of %s is marked %v, want %v", c.id, l.Arms[c.arm].Name, got, c.want)
		}
	}
	for _, arm := range l.Arms {
		if len(arm.Failed()) > 0 {
			t.Errorf("of %s failed %v", arm.Name, arm.Failed())
		}
	}
	if row := l.Row(plan.DatabaseCPU); row != nil {
		t.Errorf("there is a row for the database's CPU: %+v", row)
	}
}

// The database's CPU time is a separate cost. Its sum with the server's can be compared between a separate database
// and an embedded one.
func TestDatabaseCPUPerRequest(t *testing.T) {
	t.Parallel()
	l := analyse.Result(resulttest.Ledger()).Loads[0]
	value := func(id string, arm int) claim.Estimate { return l.Row(id).Cells[arm].Estimate }
	server, database, both := value(plan.ServerCPU, 0), value(plan.DatabaseCPU, 0), value(plan.BackendCPU, 0)
	if !database.Known || !both.Known || both.Value < 0.99*(server.Value+database.Value) ||
		both.Value > 1.01*(server.Value+database.Value) {
		t.Errorf("server %v and database %v, together %v", server.Value, database.Value, both.Value)
	}
	if inside := value(plan.DatabaseCPU, 2); inside.Known || inside.Why != "its database is inside the server" {
		t.Errorf("of a database inside the server it says %+v", inside)
	}
	if inside, alone := value(plan.BackendCPU, 2), value(plan.ServerCPU, 2); inside.Value != alone.Value {
		t.Errorf("with its database inside, server and database used %v, the server %v", inside.Value, alone.Value)
	}
	if wait := l.Row(plan.PoolWait); wait == nil || !wait.Cells[0].Estimate.Known || wait.Cells[0].Estimate.Value != 0 {
		t.Errorf("with one call in flight a connection is free: %+v", wait)
	}
}

// What a database did for each call is a total divided by calls, over all rounds.
func TestDatabaseCounts(t *testing.T) {
	t.Parallel()
	d := analyse.Result(resulttest.Ledger()).Loads[0].Arms[0].Database
	want := map[string]float64{"database-blocks-hit": 3, "database-rollbacks": 0}
	for _, c := range d.Counts {
		if v, ok := want[c.ID]; ok && c.Value != v {
			t.Errorf("%s is %v a call, want %v", c.ID, c.Value, v)
		}
		delete(want, c.ID)
	}
	if len(want) > 0 {
		t.Errorf("%v are not counted", want)
	}
}

// A database does not count as another process: its use of the driver's cores, as far as it may run there, does not
// mean that the generator was held up.
func TestDatabaseOnTheDriversCoreIsNoNeighbour(t *testing.T) {
	t.Parallel()
	for why, c := range map[string]struct {
		cpus []int
		held bool
	}{
		"it runs where the driver does":        {[]int{1}, false},
		"it runs elsewhere, and others do not": {[]int{2}, true},
	} {
		state := saturated(t, behind{server: 0.3, client: 0.3, database: 0.4, cpus: c.cpus}, func(r *result.Result) {
			for n := range r.Rounds {
				u := r.Rounds[n].Trials[0].Driver
				u.Others, u.Waited = 4*u.Wall/10, u.Wall
			}
		})
		for _, check := range state.Checks {
			if check.Gate == result.GeneratorWaits && check.OK == c.held {
				t.Errorf("%s: %s", why, check.Detail)
			}
		}
	}
}

// No database uses more CPU time than there is (gate 6). Processes that have ended, which are counted late, may
// exceed it slightly.
func TestDatabaseWithinItsCores(t *testing.T) {
	t.Parallel()
	failed := func(database float64) bool {
		for _, c := range saturated(t, behind{server: 0.3, client: 0.3, database: database, cpus: []int{2}},
			nil).Checks {
			if c.Gate == result.CPUTime {
				return !c.OK
			}
		}
		return false
	}
	slack := float64(10*20*time.Millisecond) / float64(500*time.Millisecond) // ten slices, two ticks each
	if failed(1) || failed(1+slack) {
		t.Error("what ticks may hide fails")
	}
	if !failed(1.1 + slack) {
		t.Error("more than all of a core passes")
	}
}

// Use adds up over slices. A value that is unknown in one of them is unknown in the sum.
func TestDatabaseUseAddsUp(t *testing.T) {
	t.Parallel()
	one := func(cpu plan.Duration, commits uint64) result.DatabaseUse {
		return result.DatabaseUse{
			Processes: &result.DatabaseProcesses{
				CPU: cpu, Wall: 2 * cpu, CPUs: []int{0},
				Storage: &result.StorageUse{Read: commits},
			},
			Counts: &result.DatabaseCounts{Commits: commits},
		}
	}
	var none *result.DatabaseUse
	sum := none.Add(one(9, 9).Since(one(4, 3))).Add(one(20, 30).Since(one(10, 10)))
	if sum.Processes.CPU != 15 || sum.Processes.Wall != 30 || sum.Processes.Storage.Read != 26 ||
		sum.Counts.Commits != 26 {
		t.Errorf("5 and 10 of CPU, 6 and 20 commits are %+v, %+v", sum.Processes, sum.Counts)
	}
	if again := one(1, 1).Since(one(5, 5)); again.Processes.CPU != 0 || again.Counts.Commits != 0 {
		t.Errorf("counts that began anew give %+v, %+v", again.Processes, again.Counts)
	}
	if lost := sum.Add(result.DatabaseUse{Counts: &result.DatabaseCounts{}}); lost.Processes != nil ||
		lost.Counts == nil {
		t.Errorf("with a slice that does not tell, the sum is %+v", lost)
	}
}

// The parts of a queue are at work until the last entry is stored, long after the last call. With the calls' time
// alone, they used 1.3 of 1 core.
func TestSaturationLastsUntilAllIsStored(t *testing.T) {
	t.Parallel()
	arm := saturated(t, behind{server: 1.3, client: 0.3, within: true}, func(r *result.Result) {
		for n := range r.Rounds {
			trial := &r.Rounds[n].Trials[0]
			calls := int(time.Duration(trial.Driver.Wall) / result.BacklogEvery)
			trial.Followed = &result.Followed{Backlog: [][]int32{make([]int32, calls), make([]int32, calls)}}
		}
	})
	if s := arm.Database.Saturation; s.Limit != claim.LimitNone ||
		!strings.Contains(s.Says, "the server used 0.65 of 1 core, the client used 0.30 of 1") {
		t.Errorf("limit %q: %s", s.Limit, s.Says)
	}
}
