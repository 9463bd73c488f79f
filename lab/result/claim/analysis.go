package claim

import (
	"math"

	"wirelab/lab/plan"
	"wirelab/lab/stat"
)

// Analysis has everything that may be said about a [result.Result], and nothing else. Where the data does not support
// a number, there is the reason instead.
type Analysis struct {
	// Rounds is the number of rounds, whether or not they are complete for every arm.
	Rounds int `json:"rounds"`
	// Requests is the number of measured calls. Every reply was checked.
	Requests uint64 `json:"requests"`
	// Told is the number of calls that other load generators made and counted. Their replies were not checked.
	Told  uint64         `json:"told,omitempty"`
	Loads []LoadAnalysis `json:"loads"` // one for each of Plan.Loads
	// Curves are response times over offered rates, if there are enough rates. Capacity is the result of a search for
	// the highest rates.
	Curves   []Curve           `json:"curves,omitempty"`
	Capacity *CapacityAnalysis `json:"capacity,omitempty"`
}

// LoadAnalysis is the analysis of one load.
type LoadAnalysis struct {
	Load int       `json:"load"`
	Name string    `json:"name"` // plan.Load.String
	Kind plan.Kind `json:"-"`    // the kind of the load
	Open bool      `json:"open"`
	// Streams is the number of streams of a load that holds streams instead of making calls. Slow reports whether
	// they are read more slowly than their events are due.
	Streams int  `json:"streams,omitempty"`
	Slow    bool `json:"slow,omitempty"`
	// Scenario is the scenario of a load of messages; "" for other loads.
	Scenario string `json:"scenario,omitempty"`
	// Primary is the id of the metric by which the verdict is decided.
	Primary string     `json:"primary"`
	Arms    []ArmState `json:"arms"` // one for each of Plan.Arms
	Rows    []Row      `json:"rows"` // one for each metric of the load's kind of loop
	// Libraries is what client libraries add, if an arm ran with both drivers.
	Libraries []Library `json:"libraries,omitempty"`
	// Rankings say which arm is first by which metric. They are nil unless the entries of all arms were tracked until
	// they were stored.
	Rankings []Ranking `json:"contests,omitempty"`
}

// ArmState describes an arm under a load, apart from its figures.
type ArmState struct {
	Name     string `json:"name"`
	Rounds   int    `json:"rounds"` // with a trial
	Requests uint64 `json:"requests"`
	// Tool is the other load generator that made and counted the calls; "" for our own drivers.
	Tool string `json:"tool,omitempty"`
	// Planned and Achieved are the calls per second that were due and answered in the open loop; 0 in the closed
	// loop.
	Planned  float64 `json:"planned,omitempty"`
	Achieved float64 `json:"achieved,omitempty"`
	// Refused holds Achieved if the generator or the machine disturbed it.
	Refused Refusals `json:"refused,omitempty"`
	// Checks are the gates, in the order of [result.Gates], without those that do not apply to this load.
	Checks []Check `json:"checks"`
	// Floor is what the arm's driver does against a server that does nothing.
	Floor Floors `json:"floor"`
	// Database describes the arm's database; nil if it was not measured.
	Database *DatabaseState `json:"database,omitempty"`
	// Streams has the counters and rates of its streams; nil for a load of calls.
	Streams *StreamState `json:"streams,omitempty"`
	// Entries counts what happened to the entries that its calls handed over. Parts is what each process of its
	// pipeline used, largest first. Both are nil if there are none.
	Entries *EntryState `json:"entries,omitempty"`
	Parts   []PartState `json:"parts,omitempty"`
	// Messages counts what happened to its messages; nil for other loads.
	Messages *MessageState `json:"messages,omitempty"`
	// Steps is how long each call of a chain takes; nil for single calls.
	Steps []StepState `json:"steps,omitempty"`
	// Causes say why calls failed, most frequent first; nil if none failed, and for results that do not record
	// causes.
	Causes stat.Causes `json:"causes,omitempty"`
	// Notes are remarks that invalidate nothing.
	Notes []string `json:"notes,omitempty"`
	// Place is the arm's rank by the primary metric: 1 plus the number of arms that are proved better. So arms that
	// cannot be distinguished may share a rank. 0 means that there is no ranking, because too little is proved.
	Place int `json:"place,omitempty"`
}

// Row has one metric of all arms.
type Row struct {
	Metric  string `json:"metric"` // id
	Primary bool   `json:"primary,omitempty"`
	// Alpha is the probability that an interval misses, or that a difference is claimed wrongly. It is 0.04 for the
	// primary metric of an experiment that stops on width, because checking after every round uses up the rest of
	// 0.05.
	Alpha float64 `json:"alpha"`
	Cells []Cell  `json:"cells"` // one for each arm
}

// Cell has one metric of one arm.
type Cell struct {
	Estimate Estimate `json:"estimate"`
	// Difference is the difference from the first arm. It is nil for the first arm, and for counts that are not
	// compared.
	Difference *Difference `json:"difference,omitempty"`
}

// Estimate is an arm's value of a metric, in the unit of its dimension.
type Estimate struct {
	Known bool `json:"known"`
	// Value is the geometric mean of the rounds, the quantile of all rounds' calls together, or the total of a count.
	Value float64 `json:"value,omitempty"`
	// Low and High are its interval. Both are 0 if there is none, for example with one round.
	Low    float64 `json:"low,omitempty"`
	High   float64 `json:"high,omitempty"`
	Rounds int     `json:"rounds,omitempty"`
	// Why says why the value is not known.
	Why string `json:"why,omitempty"`
	// Refused is the value that was measured but refused by a check.
	Refused *Refused `json:"refused,omitempty"`
}

// Interval reports whether there is an interval.
func (e Estimate) Interval() bool { return e.Known && e.High > 0 }

// Verdict is what may be said about a difference.
type Verdict string

// The verdicts. Better and Worse compare the arm with the first one.
const (
	Better       Verdict = "better"
	Worse        Verdict = "worse"
	Equivalent   Verdict = "equivalent"
	Inconclusive Verdict = "inconclusive"
	TooFew       Verdict = "too few rounds" // fewer than MinRounds: no claim
	Unmeasured   Verdict = "not measured"   // too few calls for the quantile, or not observable
	Invalid      Verdict = "invalid"        // a gate failed
	// Unsteady is the verdict on an arm whose service never became steady. This is a finding, for which there is no
	// single number.
	Unsteady Verdict = "no steady state"
)

// Claim reports whether the verdict says something about the arms, and not only about missing data.
func (v Verdict) Claim() bool { return v == Better || v == Worse || v == Equivalent }

// Difference is how an arm differs from the first one.
type Difference struct {
	Verdict Verdict `json:"verdict"`
	// Known reports whether Ratio, Low and High are set.
	Known bool `json:"known"`
	// Ratio is this arm's value divided by the first arm's, over the rounds that have both. Low and High are its
	// interval.
	Ratio float64 `json:"ratio,omitempty"`
	Low   float64 `json:"low,omitempty"`
	High  float64 `json:"high,omitempty"`
	// Exact reports that every round of each arm gave the same value, so the ratio is known.
	Exact  bool `json:"exact,omitempty"`
	Rounds int  `json:"rounds"` // with both arms
	// P is the larger of the p-values of the t-test and the sign-flip test. Adjusted is P after [stat.Holm] over the
	// arms (primary metric), or after [stat.BenjaminiHochberg] over arms and metrics (other metrics).
	P        float64 `json:"p,omitempty"`
	Adjusted float64 `json:"p_adjusted,omitempty"`
	// Margin is the plan's margin of equivalence, as a share.
	Margin float64 `json:"margin,omitempty"`
	// More is how many more rounds would probably decide an inconclusive difference, or be enough if there are too
	// few.
	More int `json:"more_rounds,omitempty"`
	// Detectable is the smallest difference that this number of rounds would have found in 8 of 10 repetitions, as a
	// share.
	Detectable float64 `json:"detectable,omitempty"`
	// Why says why it is inconclusive, too few, not measured or invalid.
	Why string `json:"why,omitempty"`

	Effect stat.Effect `json:"-"` // the source of the values above; set if Known
	Least  int         `json:"-"` // the rounds that a claim needs; 0: MinRounds
}

// MinRounds is the number of rounds that both arms need before anything is claimed. With 5 rounds, the true error of
// the 5 % tests is up to 7.5 %.
const MinRounds = 10

// Row returns the row of a metric, or nil if the load has none.
func (l *LoadAnalysis) Row(metric string) *Row {
	for i := range l.Rows {
		if l.Rows[i].Metric == metric {
			return &l.Rows[i]
		}
	}
	return nil
}

// Floors are what an arm's driver does against a server that does nothing.
type Floors struct {
	// Known reports whether the figures are set. If not, Why says why.
	Known bool   `json:"known"`
	Why   string `json:"why,omitempty"`
	// P50 is the median service time in ns. Throughput is calls per second (closed loop, otherwise 0). ClientCPU is
	// the driver's CPU time for a call, in ns.
	P50        float64 `json:"p50,omitempty"`
	Throughput float64 `json:"throughput,omitempty"`
	ClientCPU  float64 `json:"client_cpu,omitempty"`
	// Times is the arm's own median service time divided by the floor's. Limited reports whether that is too little
	// to say anything about the server.
	Times   float64 `json:"times,omitempty"`
	Limited bool    `json:"limited,omitempty"`
	// Headroom is for messages in the closed loop: the rate at which the driver sends to a broker that does nothing,
	// divided by the rate of the load's fastest arm. Throughput is then in messages, and Limited is judged by
	// Headroom instead of Times.
	Headroom float64 `json:"headroom,omitempty"`
	// Refused holds Times and Headroom if the arm's own figure in them is refused.
	Refused Refusals `json:"refused,omitempty"`
}

// Finite returns v, or 0 if it is not a number that JSON can hold.
func Finite(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	return v
}
