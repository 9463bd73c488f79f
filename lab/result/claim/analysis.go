package claim

import (
	"math"

	"wirelab/lab/plan"
	"wirelab/lab/stat"
)

// Analysis is everything that may be said of a [result.Result], and nothing that may
// not: where a number was not earned there is the reason instead.
type Analysis struct {
	// Rounds is how many rounds there are, complete for every arm or not.
	Rounds int `json:"rounds"`
	// Requests is the number of measured calls; each reply was checked.
	Requests uint64 `json:"requests"`
	// Told is the number of calls that tools of others made and counted, whose replies nobody checked.
	Told  uint64         `json:"told,omitempty"`
	Loads []LoadAnalysis `json:"loads"` // one for each of Plan.Loads
	// Curves are response times over offered rates, where there are enough of
	// them; Capacity is what was found of the highest rates.
	Curves   []Curve           `json:"curves,omitempty"`
	Capacity *CapacityAnalysis `json:"capacity,omitempty"`
}

// LoadAnalysis is what was found under one load.
type LoadAnalysis struct {
	Load int       `json:"load"`
	Name string    `json:"name"` // plan.Load.String
	Kind plan.Kind `json:"-"`    // of the load
	Open bool      `json:"open"`
	// Streams is how many streams it holds instead of making calls, and Slow
	// whether they are read more slowly than their events are due.
	Streams int  `json:"streams,omitempty"`
	Slow    bool `json:"slow,omitempty"`
	// Scenario is what happens while it sends messages; "" of one that makes calls.
	Scenario string `json:"scenario,omitempty"`
	// Primary is the id of the metric that the verdict looks at.
	Primary string     `json:"primary"`
	Arms    []ArmState `json:"arms"` // one for each of Plan.Arms
	Rows    []Row      `json:"rows"` // one for each metric of the load's kind of loop
	// Libraries is what client libraries add, where an arm ran with both drivers.
	Libraries []Library `json:"libraries,omitempty"`
	// Contests say which arm is first by what; nil but where the entries of all
	// arms were followed until they were stored.
	Contests []Contest `json:"contests,omitempty"`
}

// ArmState is how an arm did under a load, apart from its figures.
type ArmState struct {
	Name     string `json:"name"`
	Rounds   int    `json:"rounds"` // with a trial
	Requests uint64 `json:"requests"`
	// Tool is the program of others that made the calls, and counted them; "" if a driver of ours did.
	Tool string `json:"tool,omitempty"`
	// Planned and Achieved are calls per second due and answered in the open
	// loop; 0 in the closed one.
	Planned  float64 `json:"planned,omitempty"`
	Achieved float64 `json:"achieved,omitempty"`
	// Refused holds Achieved where the generator or the machine spoiled it.
	Refused Refusals `json:"refused,omitempty"`
	// Checks are the gates, in the order of [result.Gates]; those that cannot be
	// applied to this load are not among them.
	Checks []Check `json:"checks"`
	// Floor is what the arm's driver does before a server that does nothing.
	Floor Floors `json:"floor"`
	// Database is what is known of the arm's database; nil where nobody looked.
	Database *DatabaseState `json:"database,omitempty"`
	// Streams is how its streams did; nil where the load makes calls.
	Streams *StreamState `json:"streams,omitempty"`
	// Entries is what became of what its calls handed over, and Parts what each
	// process of its pipeline used, the dearest first; nil where there is none.
	Entries *EntryState `json:"entries,omitempty"`
	Parts   []PartState `json:"parts,omitempty"`
	// Messages is what became of what it sent; nil of a load that sends no messages.
	Messages *MessageState `json:"messages,omitempty"`
	// Steps is how long each call of a chain takes; nil where calls are single ones.
	Steps []StepState `json:"steps,omitempty"`
	// Causes tell why its calls failed, the most frequent first; nil where none did, and of
	// results that do not tell.
	Causes stat.Causes `json:"causes,omitempty"`
	// Notes are things to know that make nothing invalid.
	Notes []string `json:"notes,omitempty"`
	// Place is the arm's place by the primary metric: 1 plus the number of
	// arms proved better, so arms that cannot be told apart may share one. 0:
	// there are no places, since too little is proved.
	Place int `json:"place,omitempty"`
}

// Row is one metric of all arms.
type Row struct {
	Metric  string `json:"metric"` // id
	Primary bool   `json:"primary,omitempty"`
	// Alpha is the probability that an interval misses or a difference is
	// claimed wrongly. It is 0.04 for the primary metric of an experiment that
	// was to stop on width: looking after every round costs the rest of 0.05.
	Alpha float64 `json:"alpha"`
	Cells []Cell  `json:"cells"` // one for each arm
}

// Cell is one metric of one arm.
type Cell struct {
	Estimate Estimate `json:"estimate"`
	// Difference is from the first arm; nil in the first arm, and for what is
	// counted and not compared.
	Difference *Difference `json:"difference,omitempty"`
}

// Estimate is an arm's value of a metric, in the unit of its dimension.
type Estimate struct {
	Known bool `json:"known"`
	// Value is the geometric mean of the rounds, or the quantile of all
	// rounds' calls together, or the total of what is counted.
	Value float64 `json:"value,omitempty"`
	// Low and High bound it; both 0 if there is no interval, as from one round.
	Low    float64 `json:"low,omitempty"`
	High   float64 `json:"high,omitempty"`
	Rounds int     `json:"rounds,omitempty"`
	// Why says in words why it is not known.
	Why string `json:"why,omitempty"`
	// Refused is the value where one was measured and a check refused it.
	Refused *Refused `json:"refused,omitempty"`
}

// Interval reports whether there is one.
func (e Estimate) Interval() bool { return e.Known && e.High > 0 }

// Verdict is what may be said of a difference.
type Verdict string

// The verdicts. Better and Worse are of the arm, seen from the first.
const (
	Better       Verdict = "better"
	Worse        Verdict = "worse"
	Equivalent   Verdict = "equivalent"
	Inconclusive Verdict = "inconclusive"
	TooFew       Verdict = "too few rounds" // fewer than MinRounds: no claim
	Unmeasured   Verdict = "not measured"   // too few calls for the quantile, or nobody could see it
	Invalid      Verdict = "invalid"        // a gate failed
	// Unsteady is of an arm whose service never settled: a finding, for which
	// there is no one number.
	Unsteady Verdict = "no steady state"
)

// Claim reports whether the verdict says something of the arms, and not only
// of what is missing.
func (v Verdict) Claim() bool { return v == Better || v == Worse || v == Equivalent }

// Difference is how an arm differs from the first.
type Difference struct {
	Verdict Verdict `json:"verdict"`
	// Known tells whether Ratio, Low and High are set.
	Known bool `json:"known"`
	// Ratio is this arm's value by the first arm's, over the rounds that have
	// both; Low and High bound it.
	Ratio float64 `json:"ratio,omitempty"`
	Low   float64 `json:"low,omitempty"`
	High  float64 `json:"high,omitempty"`
	// Exact: every round of an arm gave the same value, so the ratio is known.
	Exact  bool `json:"exact,omitempty"`
	Rounds int  `json:"rounds"` // with both arms
	// P is the larger p-value of t-test and sign-flip test; Adjusted is P
	// after [stat.Holm] over the arms (primary metric), or after
	// [stat.BenjaminiHochberg] over arms and metrics (the others).
	P        float64 `json:"p,omitempty"`
	Adjusted float64 `json:"p_adjusted,omitempty"`
	// Margin is the plan's margin of equivalence as a share.
	Margin float64 `json:"margin,omitempty"`
	// More is how many more rounds would probably settle an inconclusive
	// difference, or make too few enough.
	More int `json:"more_rounds,omitempty"`
	// Detectable is the smallest difference that this many rounds would have
	// found in 8 of 10 repeats, as a share.
	Detectable float64 `json:"detectable,omitempty"`
	// Why says in words why it is inconclusive, too few, not measured or invalid.
	Why string `json:"why,omitempty"`

	Effect stat.Effect `json:"-"` // what the above was made from; set if Known
	Least  int         `json:"-"` // rounds that a claim needs; 0: MinRounds
}

// MinRounds is how many rounds both arms need before anything is claimed.
// With 5 the true error of the 5 % tests is up to 7.5 %.
const MinRounds = 10

// Row returns the row of a metric, nil if the load has none.
func (l *LoadAnalysis) Row(metric string) *Row {
	for i := range l.Rows {
		if l.Rows[i].Metric == metric {
			return &l.Rows[i]
		}
	}
	return nil
}

// Floors are what an arm's driver does before a server that does nothing.
type Floors struct {
	// Known tells whether the figures are set; if not, Why says why not.
	Known bool   `json:"known"`
	Why   string `json:"why,omitempty"`
	// P50 is the median service time in ns, Throughput calls per second
	// (closed loop; else 0), ClientCPU what the driver used for a call, in ns.
	P50        float64 `json:"p50,omitempty"`
	Throughput float64 `json:"throughput,omitempty"`
	ClientCPU  float64 `json:"client_cpu,omitempty"`
	// Times is the arm's own median service time by the floor's, and Limited
	// whether that is too little to speak of the server.
	Times   float64 `json:"times,omitempty"`
	Limited bool    `json:"limited,omitempty"`
	// Headroom is, of messages in the closed loop, how many times as many as the load's
	// fastest arm the driver sends before a broker that does nothing; Throughput is
	// messages then, and Limited is judged by this and not by Times.
	Headroom float64 `json:"headroom,omitempty"`
	// Refused holds Times and Headroom where the arm's own figure in them is refused.
	Refused Refusals `json:"refused,omitempty"`
}

// Finite returns v, or 0 where it is not a number that JSON can hold.
func Finite(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	return v
}
