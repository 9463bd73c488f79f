package audit

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Truth is the distribution of a service's true response times: those of callers who come evenly spread and
// independently of how the service is doing.
type Truth interface {
	// Quantile is the time that a share q of the calls does not exceed.
	Quantile(q float64) time.Duration
	// AtMost is the share of the calls that take at most d.
	AtMost(d time.Duration) float64
	Mean() time.Duration
	// Period is the length of a window such that the distribution holds exactly over whole multiples of it; 0 if it
	// holds over any window. A service with a period stops for a part of it.
	Period() time.Duration
}

// How near to the truth a report must be. Above it, a tenth and a millisecond are allowed, which is far more than a
// tool's own time. Below it, a tenth and a rounding error are allowed, since no reply comes before it is sent. The
// level itself may be off by one percentage point: a run that begins a little early or late, or a machine that does
// other work, moves it by that much. This matters where the truth has a jump, as at the p90 of a service that stops for
// a tenth of the time. A tool that leaves out requests that it did not send is off by far more.
const (
	nearRatio = 0.10
	nearBelow = 100 * time.Microsecond
	nearAbove = time.Millisecond
	nearLevel = 0.01
)

// fewest is the least number of requests. With fewer, a single request moves a level by half a percentage point.
const fewest = 200

// shortShare is the share of the planned requests above which unsent ones are reported.
const shortShare = 0.01

// unsentShare is the share of the planned requests above which unsent ones make agreement impossible: it is unknown how
// long those would have waited.
const unsentShare = 0.05

// wrongShare is the share of wrong replies above which response times mean nothing.
const wrongShare = 0.01

// Standing says how one number compares with the truth.
type Standing string

// Agrees means within tolerance. The others are below and above it.
const (
	Agrees  Standing = "agrees"
	TooLow  Standing = "too low"
	TooHigh Standing = "too high"
	Unsaid  Standing = "" // the tool does not report it
)

// Row compares one number with the truth.
type Row struct {
	Name  string         `json:"name"` // p50 to p99.9, mean
	Says  *time.Duration `json:"says_ns,omitempty"`
	Truth time.Duration  `json:"truth_ns"`
	// Low and High are the bounds within which a number agrees.
	Low      time.Duration `json:"low_ns"`
	High     time.Duration `json:"high_ns"`
	Standing Standing      `json:"standing,omitempty"`
	// ControlClient is the time that the control client measured, and ControlStanding how it compares.
	ControlClient   *time.Duration `json:"witness_ns,omitempty"`
	ControlStanding Standing       `json:"witness_standing,omitempty"`
}

// Ratio returns the tool's number as a multiple of the truth; 0 if the tool does not report it.
func (r Row) Ratio() float64 {
	if r.Says == nil {
		return 0
	}
	return float64(*r.Says) / float64(r.Truth)
}

// Verdict is the conclusion about a tool.
type Verdict string

// The verdicts.
const (
	Truthful   Verdict = "truthful"
	Untruthful Verdict = "untruthful"
	Unjudged   Verdict = "could not be judged"
)

// Finding compares a report with the truth.
type Finding struct {
	Tool   string `json:"tool"`
	Report Report `json:"report"`
	Asked  Asked  `json:"asked"`
	// Planned is how many requests were to be sent, 0 if it is unknown.
	Planned uint64  `json:"planned,omitempty"`
	Rows    []Row   `json:"rows,omitempty"`
	Verdict Verdict `json:"verdict"`
	// Sentence gives the verdict and its reason.
	Sentence string `json:"sentence"`
	// Notes are further sentences that the reader should know.
	Notes []string `json:"notes,omitempty"`
}

// Run is one run of a tool.
type Run struct {
	Tool   string
	Report Report
	Asked  Asked
	// Took is how long the tool ran. It is used if neither the command nor the report gives the time.
	Took time.Duration
	// ControlClient is what a control client known to be right measured at the same time; nil if there was none. It shows
	// whether the machine was too busy to answer in time, which is not the tool's fault.
	ControlClient *Report
}

// Compare compares a run with the truth.
func Compare(run Run, truth Truth) Finding {
	tool, r, asked := run.Tool, run.Report, run.Asked
	f := Finding{Tool: tool, Report: r, Asked: asked, Planned: asked.Planned(), Verdict: Unjudged}
	if f.Planned == 0 && asked.Rate == 0 && r.Dropped != nil && r.Count != nil {
		f.Planned = *r.Count + *r.Dropped // only the tool's script knows the rate
	}
	length := window(r, asked, run.Took)
	if f.Sentence = f.unfit(truth, length); f.Sentence != "" {
		return f
	}
	offset := nearLevel + edge(truth, length)
	for _, l := range Levels() {
		says, controlClient := r.at(l), run.ControlClient.at(l)
		// The bound stays below the maximum, since some distributions have none.
		above := min(l.Share()+offset, (1+l.Share())/2)
		f.Rows = append(f.Rows,
			judge(l.String(), truth.Quantile(l.Share()), truth.Quantile(l.Share()-offset), truth.Quantile(above), says,
				controlClient))
	}
	// Moving a level by the offset moves the mean by at most that share of the whole range.
	mean, reach := truth.Mean(), time.Duration(offset*float64(truth.Quantile(0.999)-truth.Quantile(0)))
	var controlClient *time.Duration
	if run.ControlClient != nil {
		controlClient = run.ControlClient.Mean
	}
	f.Rows = append(f.Rows, judge("mean", mean, mean-reach, mean+reach, r.Mean, controlClient))
	f.judge(truth)
	if off := edge(truth, length); off > nearLevel {
		f.Notes = append(f.Notes, fmt.Sprintf(
			"The run did not last a whole number of periods of %s, so that a level may be off by %.1f percentage "+
				"points; run it for a multiple of the period.",
			Short(truth.Period()), 100*off))
	}
	return f
}

// window returns how long requests were sent.
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

// edge returns by how much the share of the calls that are held can differ from that of the distribution if the run is
// not a whole number of periods. It is the larger of two differences: that of a run with as much, and of one with as
// little of the stop as possible.
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

// unfit says why no verdict is possible, "" if one is.
func (f *Finding) unfit(truth Truth, length time.Duration) string {
	r := f.Report
	var why string
	switch n := r.Count; {
	case n == nil || *n == 0:
		why = "it reports no requests"
	case len(r.Quantiles) == 0 && r.Mean == nil:
		why = "it reports no answer times"
	case r.Errors != nil && float64(*r.Errors) > wrongShare*float64(*n):
		why = fmt.Sprintf("%d of its %d requests got no correct reply; the placeholders make a request that the "+
			"service answers", *r.Errors, *n)
	case max(*n, f.Planned) < fewest:
		why = fmt.Sprintf("it sent %d requests and %d are needed", *n, fewest)
	case length < truth.Period():
		why = fmt.Sprintf("it ran for %s, and one period of the service is %s", Short(length), Short(truth.Period()))
	default:
		return ""
	}
	return fmt.Sprintf("%s could not be judged: %s.", f.Tool, why)
}

// judge compares one number. low and high are the truth at the levels around it.
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

// judge sets the verdict from the rows.
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
		// A number that is too low stays too low: no caller waits less because the machine is busy.
		f.Sentence = fmt.Sprintf("%s could not be judged: it reports a %s of %s where the truth is %s, but "+
			"the control client measured a %s of %s at the same time: this machine is too busy.",
			f.Tool, high.Name, Short(*high.Says), Short(high.Truth), busy.Name, Short(*busy.ControlClient))
		return
	case isLow && (isBusy || !isHigh || low.distance() > high.distance()):
		f.accuse(low, truth)
		return
	case isHigh:
		f.accuse(high, truth)
		return
	case float64(f.short()) > unsentShare*float64(f.Planned):
		f.Sentence = fmt.Sprintf("%s could not be judged: its figures are near the truth, but they cover only %d of "+
			"the %d requests, and it is not known how long the others would have waited.",
			f.Tool, *f.Report.Count, f.Planned)
		return
	}
	f.Verdict = Truthful
	f.Sentence = fmt.Sprintf("%s tells the truth here: %s %s with it.", f.Tool, list(agree),
		verb(len(agree), "agrees", "agree"))
}

// accuse sets the verdict of a row that is wrong.
func (f *Finding) accuse(row Row, truth Truth) {
	f.Verdict = Untruthful
	f.Sentence = fmt.Sprintf("%s reports a %s of %s where the truth is %s: %s.",
		f.Tool, row.Name, Short(*row.Says), Short(row.Truth), f.cause(row.Standing, truth))
}

// worst returns the row of a standing that is farthest from the truth.
func (f *Finding) worst(s Standing) (worst Row, ok bool) {
	for _, row := range f.Rows {
		if row.Standing == s && (!ok || row.distance() > worst.distance()) {
			worst, ok = row, true
		}
	}
	return worst, ok
}

// busy returns the first row in which the control client had to wait too long.
func (f *Finding) busy() (Row, bool) {
	i := slices.IndexFunc(f.Rows, func(r Row) bool { return r.ControlStanding == TooHigh })
	if i < 0 {
		return Row{}, false
	}
	return f.Rows[i], true
}

// distance returns how far a row is from the truth, as a ratio in either direction. A time of 0 would be infinitely
// far, so a billionth takes its place.
func (r Row) distance() float64 { return math.Abs(math.Log(max(r.Ratio(), 1e-9))) }

// cause returns the reason as far as the numbers show it, and no more.
func (f *Finding) cause(s Standing, truth Truth) string {
	switch {
	case s == TooHigh:
		return "its own delays, or those of this machine, are in the number"
	case truth.Period() == 0:
		return "it does not report how long callers wait"
	case f.short() > 0:
		return "it leaves out the requests that it did not send while the service was stopped"
	case f.Planned > 0:
		return "it sent every request, but measures each from when it was sent, and not from when it was due"
	}
	return "it sends the next request only after a reply, so that few are sent while the service is stopped"
}

// short returns how many of the planned requests were not sent, 0 if the share is small.
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

// list joins words with commas and "and".
func list(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// Short formats a time with three digits: 1.30 ms, 251 ms.
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
