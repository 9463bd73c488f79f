package postgres

import (
	"bytes"
	"encoding/json"
	"math"
	"math/big"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"

	"wirelab/lab/kind/capacity"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/claim"
	"wirelab/results/store"
	"wirelab/results/store/benchmark"
)

// derived is a result as rows for the columns and tables next to its body.
type derived struct {
	id     string
	result []any    // the arguments of insertResult
	tables []*table // in an order in which no table refers to a later one
}

// table has the rows for one table.
type table struct {
	name    string
	columns []string
	rows    [][]any
}

func newTable(name, columns string) *table {
	return &table{name: name, columns: strings.Fields(columns)}
}

func (t *table) add(row ...any) { t.rows = append(t.rows, row) }

const insertResult = `INSERT INTO wirelab_results.results
	(id, schema, name, workload, operations, protocols, arms, loads, rounds, began, ended, ending, host, revision, command, seed, self_test, bytes, digest)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)
	ON CONFLICT (id) DO NOTHING`

// derive converts a result that has passed [store.Check] into rows. They follow from the result alone. The verdicts
// in them are those of the version that stores it.
func derive(p store.Packed) derived {
	r, m := p.Result, store.Summarize(p.Result)
	d := derived{id: m.ID, result: []any{
		m.ID, r.Schema, text(m.Name), text(m.Workload), texts(m.Operations), texts(m.Protocols), m.Arms, m.Loads,
		m.Rounds,
		m.Began, m.Ended, text(string(m.Ending)), text(m.Host), text(m.Commit), text(r.Command), whole(r.Plan.Seed),
		r.SelfTest != nil, len(p.Body), p.Digest,
	}}
	analysis := analyse.Result(r)
	d.tables = append(d.tables, environments(r), arms(r), loads(r))
	d.tables = append(d.tables, rounds(r)...)
	d.tables = append(d.tables, capacities(r, &analysis))
	d.tables = append(d.tables, runs(r, &analysis)...)
	return d
}

func environments(r *result.Result) *table {
	t := newTable("environments",
		`result_id host os kernel cpu cpus memory_bytes governor clock_source virtual go revision dirty libraries settings`)
	e := r.Environment
	t.add(r.ID, text(e.Host), text(e.OS), text(e.Kernel), text(e.CPU), e.CPUs, count(e.MemoryBytes), text(e.Governor),
		text(e.ClockSource),
		text(e.Virtual), text(e.Go), text(e.Commit), e.Dirty, object(e.Libraries), object(e.Settings))
	return t
}

func arms(r *result.Result) *table {
	t := newTable("arms",
		`result_id arm name protocol transport framing encoding secure multiplexed server client driver style data database
		target inject connections out`)
	for i, a := range r.Arms { // as many as in the plan: see store.Check
		p := r.Plan.Arms[i]
		driver := a.Driver
		if driver == "" {
			driver = plan.DriverClient
		}
		t.add(r.ID, i, text(r.ArmName(i)), text(a.Protocol), text(a.Transport), text(a.Framing), text(a.Encoding),
			a.Secure, a.Multiplexed,
			text(r.ServerOf(i)), text(a.Client), text(driver), text(a.Style), text(a.Data), text(a.Database),
			text(p.Target), text(p.Inject), p.Connections, text(a.Out))
	}
	return t
}

func loads(r *result.Result) *table {
	t := newTable("loads", `result_id load name operation requests open in_flight rate arrivals settings`)
	for i, l := range r.Plan.Loads {
		var rate *float64
		if l.Rate > 0 {
			rate = number(l.Rate)
		}
		inFlight := l.InFlight
		if !l.Open() {
			inFlight = max(inFlight, 1)
		}
		t.add(r.ID, i, text(l.String()), text(r.Plan.OperationOf(l)), text(r.Plan.RequestsOf(l)), l.Open(), inFlight,
			rate, text(l.Arrivals), object(l))
	}
	return t
}

// rounds returns the tables rounds, failures and trials.
func rounds(r *result.Result) []*table {
	all := newTable("rounds", `result_id round began steal others cpu_pressure io_pressure throttled_ns`)
	failed := newTable("failures", `result_id round arm why`)
	measured := newTrials()
	fail := func(round int, failures []result.Failure) {
		seen := map[int]bool{}
		for _, f := range failures {
			if !seen[f.Arm] {
				seen[f.Arm] = true
				failed.add(r.ID, round, f.Arm, text(f.Why))
			}
		}
	}
	for i := range r.Rounds {
		round := &r.Rounds[i]
		n := round.Noise
		var throttled *int64
		if n.Throttled >= 0 {
			throttled = new(int64(n.Throttled))
		}
		all.add(r.ID, i+1, round.Began.UTC(), known(n.Steal), known(n.Others), known(n.CPUPressure),
			known(n.IOPressure), throttled)
		fail(i+1, round.Failures)
		for j := range round.Trials {
			measured.add(r.ID, i+1, 0, &round.Trials[j], nil)
		}
	}
	for i, round := range r.Capacity.Searched() {
		if i >= len(r.Rounds) { // a result has only one kind of rounds
			all.add(r.ID, i+1, round.Began.UTC(), nil, nil, nil, nil, nil)
			fail(i+1, round.Failures)
		}
		for _, s := range round.Searches {
			measured.add(r.ID, i+1, 0, &s.Closed, nil)
			for j := range s.Probes {
				measured.add(r.ID, i+1, j+1, &s.Probes[j].Trial, &s.Probes[j])
			}
		}
	}
	return []*table{all, failed, measured.table}
}

// trials is the table of that name. If two trials have the same place, the first counts, as in an analysis.
type trials struct {
	*table
	seen map[[4]int]bool
}

func newTrials() trials {
	return trials{
		seen: map[[4]int]bool{},
		table: newTable("trials", `result_id round arm load probe probe_rate probe_outcome
		steady drifting window_ns planned sent ok completed unsent late errors calls
		server_cpu_ns server_allocations server_resident_bytes
		driver_cpu_ns driver_wall_ns driver_allocations driver_resident_bytes
		wire_sent wire_received connections open_connections
		response_mean_ns response_p50_ns response_p90_ns response_p99_ns service_p50_ns service_p99_ns`),
	}
}

func (all trials) add(id string, round, place int, t *result.Trial, probe *result.Probe) {
	key := [4]int{round, t.Arm, t.Load, place}
	if all.seen[key] {
		return
	}
	all.seen[key] = true
	var rate *float64
	var outcome *string
	if probe != nil {
		rate, outcome = number(probe.Rate), new(text(string(probe.Outcome)))
	}
	var cpu, allocated, resident *int64
	if s := t.Server; s != nil {
		cpu, resident = new(int64(s.CPU)), new(count(s.ResidentBytes))
		if allocated = allocations(s); allocated != nil && *allocated == 0 {
			allocated = nil // older results have 0 if allocations were not counted
		}
	}
	driverAllocations := int64(0) // our driver always reports them
	if n := allocations(t.Driver); n != nil {
		driverAllocations = *n
	}
	ours := func(v any) any { // another program's driver leaves them NULL if it does not report them
		if t.Told != nil {
			return nil
		}
		return v
	}
	var mean *float64
	if t.Response.Count() > 0 {
		mean = number(t.Response.Mean())
	}
	at := func(of interface {
		Count() uint64
		Quantile(q float64) int64
	}, q float64,
	) *int64 {
		if of.Count() == 0 {
			return nil
		}
		return new(of.Quantile(q))
	}
	all.table.add(id, round, t.Arm, t.Load, place, rate, outcome,
		ours(t.Steady), ours(t.Drifting), int64(t.Window), ours(count(t.Planned)), count(t.Sent), count(t.OK),
		count(t.Completed), ours(count(t.Unsent)), ours(count(t.Late)),
		object(t.Errors), count(t.Calls()), cpu, allocated, resident,
		int64(t.Driver.CPU), int64(benchmark.Wall(t)), ours(driverAllocations), count(t.Driver.ResidentBytes),
		ours(count(t.WireSent)), ours(count(t.WireReceived)), ours(count(t.Connections)), ours(count(t.Open)),
		mean, at(t.Response, 0.5), at(t.Response, 0.9), at(t.Response, 0.99), at(t.Service, 0.5), at(t.Service, 0.99))
}

// allocations returns NULL if they were not counted.
func allocations(u *result.Usage) *int64 {
	if n, known := u.Allocated(); known {
		return new(count(n))
	}
	return nil
}

func capacities(r *result.Result, a *claim.Analysis) *table {
	t := newTable("capacities", `result_id arm objective kind rate low high bound why`)
	found := capacity.Of(a)
	for i, arm := range found.Arms {
		rate, low, high := told(arm.Rate)
		var bound *float64
		if arm.Bound > 0 {
			bound = number(arm.Bound)
		}
		t.add(r.ID, i, text(found.Objective), text(string(arm.Kind)), rate, low, high, bound, reason(arm.Why))
	}
	return t
}

// told returns an estimate and its interval, as far as they are known.
func told(e claim.Estimate) (value, low, high *float64) {
	if !e.Known {
		return nil, nil, nil
	}
	value = number(e.Value)
	if e.Interval() {
		low, high = number(e.Low), number(e.High)
	}
	return value, low, high
}

// text returns s without what PostgreSQL refuses but JSON may contain.
func text(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\x00", "\ufffd")
}

func texts(all []string) []string {
	out := make([]string, len(all))
	for i, s := range all {
		out[i] = text(s)
	}
	return out
}

// reason returns a sentence, or NULL if it is empty.
func reason(s string) *string {
	if s == "" {
		return nil
	}
	return new(text(s))
}

// object returns a value as JSON for a jsonb column: without NUL characters.
func object(value any) []byte {
	data, err := json.Marshal(value)
	if err != nil || bytes.Equal(data, []byte("null")) {
		return []byte("{}") // maps of text and plain structures never give an error
	}
	return bytes.ReplaceAll(data, []byte(`\u0000`), []byte(`\ufffd`))
}

// count returns n, limited to the range of bigint. Only a fabricated result exceeds it.
func count(n uint64) int64 { return int64(min(n, math.MaxInt64)) }

// whole returns a uint64 without loss.
func whole(n uint64) pgtype.Numeric {
	return pgtype.Numeric{Int: new(big.Int).SetUint64(n), Valid: true}
}

// number returns f, or NULL if it is not a number.
func number(f float64) *float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil
	}
	return &f
}

// known returns a share that the kernel reported, or NULL.
func known(f float64) *float64 {
	if f < 0 {
		return nil
	}
	return number(f)
}
