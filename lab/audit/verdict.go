package audit

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Truth is the law of a service's response times: what callers wait who come
// evenly spread and do not look at how the service fares.
type Truth interface {
	// Quantile is the time that a share q of the calls do not exceed.
	Quantile(q float64) time.Duration
	// AtMost is the share of the calls that take at most d.
	AtMost(d time.Duration) float64
	Mean() time.Duration
	// Period is the window over whole multiples of which the law holds
	// exactly; 0 if over any. With one, the service stands still within it.
	Period() time.Duration
}

// How near a report must come: a tenth and a millisecond above the truth, which
// is far more than a tool's own time, or a tenth and a rounding below, since no
// answer comes sooner than it is given; at a level that may be one percentage
// point off. The point is what a run that begins a
// little early or late, and a machine that does other things, moves a level
// by: it matters where the truth leaps, as at the p90 of a service that stands
// still for a tenth of the time. A tool that leaves out what it did not send is
// off by far more.
const (
	nearRatio = 0.10
	nearBelow = 100 * time.Microsecond
	nearAbove = time.Millisecond
	nearLevel = 0.01
)

// fewest is how many requests are needed: below, one alone moves a level by
// half a point.
const fewest = 200

// shortShare is the share of the planned requests that, if not sent, is said.
const shortShare = 0.01

// unsentShare is the share of them that, if not sent, leaves nothing to agree
// with: what those would have waited, nobody knows.
const unsentShare = 0.05

// wrongShare is the share of wrong answers above which times say nothing.
const wrongShare = 0.01

// Standing is how one number stands to the truth.
type Standing string

// Agrees is within tolerance; the others are below and above it.
const (
	Agrees  Standing = "agrees"
	TooLow  Standing = "too low"
	TooHigh Standing = "too high"
	Unsaid  Standing = "" // the tool does not report it
)

// Row is one number beside the truth.
type Row struct {
	Name  string         `json:"name"` // p50 to p99.9, mean
	Says  *time.Duration `json:"says_ns,omitempty"`
	Truth time.Duration  `json:"truth_ns"`
	// Low and High bound what agrees.
	Low      time.Duration `json:"low_ns"`
	High     time.Duration `json:"high_ns"`
	Standing Standing      `json:"standing,omitempty"`
	// ControlClient is what the witness measured, and how that stands.
	ControlClient   *time.Duration `json:"witness_ns,omitempty"`
	ControlStanding Standing       `json:"witness_standing,omitempty"`
}

// Ratio is what the tool says as a multiple of the truth; 0 if it does not.
func (r Row) Ratio() float64 {
	if r.Says == nil {
		return 0
	}
	return float64(*r.Says) / float64(r.Truth)
}

// Verdict is what may be said of a tool.
type Verdict string

// The verdicts.
const (
	Truthful   Verdict = "truthful"
	Untruthful Verdict = "untruthful"
	Unjudged   Verdict = "could not be judged"
)

// Finding is a report beside the truth.
type Finding struct {
	Tool   string `json:"tool"`
	Report Report `json:"report"`
	Asked  Asked  `json:"asked"`
	// Planned is how many requests were to be sent, 0 if that does not follow.
	Planned uint64  `json:"planned,omitempty"`
	Rows    []Row   `json:"rows,omitempty"`
	Verdict Verdict `json:"verdict"`
	// Sentence says the verdict and why.
	Sentence string `json:"sentence"`
	// Notes are what else is to be known, in sentences.
	Notes []string `json:"notes,omitempty"`
}

// Run is one run of a tool.
type Run struct {
	Tool   string
	Report Report
	Asked  Asked
	// Took is how long it ran, which counts where neither command nor report
	// tells the time.
	Took time.Duration
	// ControlClient is what a caller known to be right measured at the same time;
	// nil if there was none. A machine that is too busy to answer in time shows
	// in it, and is not held against the tool.
	ControlClient *Report
}

// Compare puts a run beside the truth.
func Compare(run Run, truth Truth) Finding {
	tool, r, asked := run.Tool, run.Report, run.Asked
	f := Finding{Tool: tool, Report: r, Asked: asked, Planned: asked.Planned(), Verdict: Unjudged}
	if f.Planned == 0 && asked.Rate == 0 && r.Dropped != nil && r.Count != nil {
		f.Planned = *r.Count + *r.Dropped // where only the tool's script knows the rate
	}
	length := window(r, asked, run.Took)
	if f.Sentence = f.unfit(truth, length); f.Sentence != "" {
		return f
	}
	offset := nearLevel + edge(truth, length)
	for _, l := range Levels() {
		says, controlClient := r.at(l), run.ControlClient.at(l)
		// Not up to the largest, which some laws do not have.
		above := min(l.Share()+offset, (1+l.Share())/2)
		f.Rows = append(f.Rows,
			judge(l.String(), truth.Quantile(l.Share()), truth.Quantile(l.Share()-offset), truth.Quantile(above), says,
				controlClient))
	}
	// A level's offset moves the mean by that share of the whole range.
	mean, reach := truth.Mean(), time.Duration(offset*float64(truth.Quantile(0.999)-truth.Quantile(0)))
	var controlClient *time.Duration
	if run.ControlClient != nil {
		controlClient = run.ControlClient.Mean
	}
	f.Rows = append(f.Rows, judge("mean", mean, mean-reach, mean+reach, r.Mean, controlClient))
	f.judge(truth)
	if off := edge(truth, length); off > nearLevel {
		f.Notes = append(f.Notes, fmt.Sprintf(
			"The run was no whole number of turns of %s, so that a level may be %.1f points off; run it for a "+
				"multiple.",
			Short(truth.Period()), 100*off))
	}
	return f
}

// window is how long requests were sent.
func window(r Report, asked Asked, took time.Duration) time.Duration {
	switch {
	case asked.For > 0:
		return asked.For
	case asked.Rate > 0 && asked.Requests > 0:
		return time.Duration(float64(asked.Requests) / asked.Rate * float64(time.Second))
	case r.Elapsed != nil:
		return *r.Elapsed
	}
	return took
}

// edge is by how much the share of the calls that are held can differ from
// the law's in a window that is not a whole number of periods: from the run
// that misses what it can of the standstill to the one that meets all it can.
func edge(truth Truth, length time.Duration) float64 {
	period := truth.Period()
	if period <= 0 || length <= 0 {
		return 0
	}
	rest := (length % period).Seconds()
	held := (1 - truth.AtMost(truth.Quantile(0))) * period.Seconds()
	law := rest * held / period.Seconds()
	most := min(rest, held) - law
	least := law - max(rest-(period.Seconds()-held), 0)
	return max(most, least, 0) / length.Seconds()
}

// unfit says why nothing can be said, "" if something can.
func (f *Finding) unfit(truth Truth, length time.Duration) string {
	r := f.Report
	var why string
	switch n := r.Count; {
	case n == nil || *n == 0:
		why = "it reports no requests"
	case len(r.Quantiles) == 0 && r.Mean == nil:
		why = "it reports no answer times"
	case r.Errors != nil && float64(*r.Errors) > wrongShare*float64(*n):
		why = fmt.Sprintf("%d of its %d requests got no right answer; see the placeholders for a request that the "+
			"service answers", *r.Errors, *n)
	case max(*n, f.Planned) < fewest:
		why = fmt.Sprintf("it sent %d requests and %d are needed", *n, fewest)
	case length < truth.Period():
		why = fmt.Sprintf("it ran for %s and the service takes %s for one turn", Short(length), Short(truth.Period()))
	default:
		return ""
	}
	return fmt.Sprintf("%s could not be judged: %s.", f.Tool, why)
}

// judge places one number. low and high are the truth at the levels around.
func judge(name string, truth, low, high time.Duration, says, controlClient *time.Duration) Row {
	row := Row{
		Name: name, Truth: truth, Says: says, ControlClient: controlClient,
		Low:  max(time.Duration(float64(low)*(1-nearRatio))-nearBelow, 0),
		High: time.Duration(float64(high)*(1+nearRatio)) + nearAbove,
	}
	row.Standing, row.ControlStanding = row.standing(says), row.standing(controlClient)
	return row
}

func (r Row) standing(d *time.Duration) Standing {
	switch {
	case d == nil:
		return Unsaid
	case *d < r.Low:
		return TooLow
	case *d > r.High:
		return TooHigh
	}
	return Agrees
}

// judge sets the verdict by the rows.
func (f *Finding) judge(truth Truth) {
	var agree []string
	for _, row := range f.Rows {
		if row.Standing == Agrees {
			agree = append(agree, row.Name)
		}
	}
	if n := f.short(); n > 0 {
		f.Notes = append(f.Notes,
			fmt.Sprintf("It sent %d of the %d requests that it was asked for.", *f.Report.Count, f.Planned))
	}
	low, isLow := f.worst(TooLow)
	high, isHigh := f.worst(TooHigh)
	busy, isBusy := f.busy()
	switch {
	case isHigh && isBusy && !isLow:
		// What is too low stays so: a busy machine makes nobody wait less.
		f.Sentence = fmt.Sprintf("%s could not be judged: it reports a %s of %s where the truth is %s, but the "+
			"witness beside it measured a %s of %s: this machine is too busy.",
			f.Tool, high.Name, Short(*high.Says), Short(high.Truth), busy.Name, Short(*busy.ControlClient))
		return
	case isLow && (isBusy || !isHigh || low.distance() > high.distance()):
		f.accuse(low, truth)
		return
	case isHigh:
		f.accuse(high, truth)
		return
	case float64(f.short()) > unsentShare*float64(f.Planned):
		f.Sentence = fmt.Sprintf("%s could not be judged: what it reports is near the truth, but of %d of the %d "+
			"requests only, and it is not known how long the others would have waited.",
			f.Tool, *f.Report.Count, f.Planned)
		return
	}
	f.Verdict = Truthful
	f.Sentence = fmt.Sprintf("%s tells the truth here: %s %s with it.", f.Tool, list(agree),
		verb(len(agree), "agrees", "agree"))
}

// accuse says what is wrong with a row.
func (f *Finding) accuse(row Row, truth Truth) {
	f.Verdict = Untruthful
	f.Sentence = fmt.Sprintf("%s reports a %s of %s where the truth is %s: %s.",
		f.Tool, row.Name, Short(*row.Says), Short(row.Truth), f.cause(row.Standing, truth))
}

// worst is the row of a standing that is farthest off.
func (f *Finding) worst(s Standing) (worst Row, ok bool) {
	for _, row := range f.Rows {
		if row.Standing == s && (!ok || row.distance() > worst.distance()) {
			worst, ok = row, true
		}
	}
	return worst, ok
}

// busy is the first row in which the witness had to wait too long.
func (f *Finding) busy() (Row, bool) {
	i := slices.IndexFunc(f.Rows, func(r Row) bool { return r.ControlStanding == TooHigh })
	if i < 0 {
		return Row{}, false
	}
	return f.Rows[i], true
}

// distance is how far off a row is, as a ratio either way. A time of 0 would
// be infinitely far; a billionth is far enough.
func (r Row) distance() float64 { return math.Abs(math.Log(max(r.Ratio(), 1e-9))) }

// cause says what the numbers show of the reason, and no more.
func (f *Finding) cause(s Standing, truth Truth) string {
	switch {
	case s == TooHigh:
		return "its own delays, or those of this machine, are in the number"
	case truth.Period() == 0:
		return "it does not report how long callers wait"
	case f.short() > 0:
		return "it leaves out the requests that it did not send while the service stood still"
	case f.Planned > 0:
		return "it sent every request, but takes the time of each from when it was sent and not from when it was due"
	}
	return "it sends the next request only when one is answered, so that few meet a service that stands still"
}

// short is how many of the planned requests were not sent, 0 if few.
func (f *Finding) short() uint64 {
	sent := *f.Report.Count
	if sent >= f.Planned || float64(f.Planned-sent) <= shortShare*float64(f.Planned) {
		return 0
	}
	return f.Planned - sent
}

func verb(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// list joins words as a sentence does.
func list(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// Short writes a time in three digits, as people read it: 1.30 ms, 251 ms.
func Short(d time.Duration) string {
	unit, name := time.Second, " s"
	switch {
	case d < time.Millisecond:
		unit, name = time.Microsecond, " µs"
	case d < time.Second:
		unit, name = time.Millisecond, " ms"
	}
	v := float64(d) / float64(unit)
	switch {
	case v >= 100 || v == math.Trunc(v) && unit == time.Second:
		return fmt.Sprintf("%.0f%s", v, name)
	case v >= 10:
		return fmt.Sprintf("%.1f%s", v, name)
	}
	return fmt.Sprintf("%.2f%s", v, name)
}
