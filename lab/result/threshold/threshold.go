package threshold

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"wirelab"
	"wirelab/lab/kind/kinds"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/metric"
	"wirelab/lab/result/words"
)

// Threshold is a bound that a result must keep: the text after --fail-if, such
// as "cpu/req > +3%" (of the difference from the first arm), "p99 > 20ms" (of
// an arm's own value), "grpc: errors > 0.1% @ 50 in flight".
type Threshold struct {
	// Text is the threshold as it was typed, with single spaces.
	Text string
	// Arm is the only arm that it is for. "" is every arm or, for a relative threshold, every arm but the first.
	Arm string
	// Load is the only load that it is for, in the form that [Threshold.Check] reads; "" is every load.
	Load string
	// Metric is the id of a metric, or [ErrorShare].
	Metric string
	// Relative thresholds bound the ratio to the first arm.
	Relative bool
	// Below reports that the limit is a lower bound: "throughput < 5k/s".
	Below bool
	// Limit is a ratio above 0 (1.03 for +3 %), a value in the unit of the metric's dimension, or a share from 0 to
	// 1. LimitText is the limit as it was typed.
	Limit     float64
	LimitText string
}

// ErrorShare is the share of calls that failed, including wrong replies. It is not a metric: it decides whether
// metrics are valid, and only thresholds use it.
const ErrorShare = "errors"

// ThresholdMetrics returns the words with which a threshold may begin, short ones first, for help and errors.
func ThresholdMetrics() []string {
	words := []string{
		"cpu/req", "throughput", "p50", "p90", "p99", "p99.9", "mean", "client-cpu", "sent", "received", "allocs/req",
		"client-allocs", ErrorShare,
	}
	for _, m := range kinds.Known() {
		if !slices.Contains(words, m.ID) {
			words = append(words, m.ID)
		}
	}
	return words
}

// thresholdLimit bounds the text of a threshold, in bytes.
const thresholdLimit = 1000

// ParseThreshold reads "[ARM:] METRIC >|< LIMIT [@ LOAD]". The limit is a signed percentage of the first arm's value
// ("+3%"), or a value with its unit ("20ms", "5k/s", "300B", "40"). For errors it is a percentage of the calls. An
// error is InvalidArgument and says what would be right. [Threshold.Check] checks what depends on the plan.
func ParseThreshold(text string) (Threshold, error) {
	t := Threshold{Text: strings.Join(strings.Fields(text), " ")}
	if len(t.Text) > thresholdLimit {
		return Threshold{}, refuse(t.Text, "it is longer than %d bytes", thresholdLimit)
	}
	// The last sign is used: an arm's name may contain one, but a limit and a load cannot.
	at := strings.LastIndexAny(t.Text, "<>")
	if at < 0 {
		return Threshold{}, refuse(t.Text, "it has no > or <; write cpu/req > +3%%, or p99 > 20ms")
	}
	t.Below = t.Text[at] == '<'
	name := strings.TrimSpace(t.Text[:at])
	if colon := strings.LastIndex(name, ":"); colon >= 0 { // a name may contain one: host:port
		t.Arm, name = strings.TrimSpace(name[:colon]), strings.TrimSpace(name[colon+1:])
		if t.Arm == "" {
			return Threshold{}, refuse(t.Text, "no arm is named before the colon")
		}
	}
	limit, load, scoped := strings.Cut(t.Text[at+1:], "@")
	t.LimitText, t.Load = strings.TrimSpace(limit), strings.TrimSpace(load)
	if scoped && t.Load == "" {
		return Threshold{}, refuse(t.Text, "no load is named after the @")
	}
	m, err := thresholdMetric(t.Text, name)
	if err != nil {
		return Threshold{}, err
	}
	t.Metric = m.ID
	if err := t.parseLimit(m); err != nil {
		return Threshold{}, err
	}
	if t.Below != m.Higher {
		way, sign := "less", ">"
		if m.Higher {
			way, sign = "more", "<"
		}
		return Threshold{}, refuse(t.Text, "of %s %s is better, so a threshold is written with %s", name, way, sign)
	}
	return t, nil
}

// refuse is the error for a threshold.
func refuse(text, format string, args ...any) error {
	return wirelab.Errorf(wirelab.InvalidArgument, "threshold %.80q: %s", text, fmt.Sprintf(format, args...))
}

// errorMetric has the properties of a metric that thresholds on [ErrorShare] need.
func errorMetric() metric.Metric {
	return metric.Metric{
		ID: ErrorShare, Title: "share of calls that failed", Short: ErrorShare, Dimension: metric.Number,
		Gain: "fewer", Loss: "more", Closed: true, Open: true, Streams: true, Slow: true,
	}
}

// thresholdMetric finds a metric by id, short word, or the head of its column.
func thresholdMetric(text, name string) (metric.Metric, error) {
	word := strings.ReplaceAll(strings.ToLower(name), " ", "-")
	if word == ErrorShare {
		return errorMetric(), nil
	}
	if m, err := kinds.MetricNamed(word); err == nil {
		return m, nil
	}
	unknown := wirelab.Public(wirelab.UnknownName("metric", name, ThresholdMetrics(), "wirelab help metrics"))
	return metric.Metric{}, unknown.Behind(fmt.Sprintf("threshold %.80q: ", text))
}

// limitForm is a sign, a number and a unit.
var limitForm = regexp.MustCompile(`^([+\-−]?) ?([0-9]{1,15}(?:\.[0-9]{1,12})?) ?(\S*)$`)

// limitUnits are the units of each dimension, as factors of the unit in which values are kept.
var limitUnits = map[metric.Dimension]map[string]float64{
	metric.Time:      {"ns": 1, "us": 1e3, "µs": 1e3, "μs": 1e3, "ms": 1e6, "s": 1e9},
	metric.Size:      {"B": 1, "kB": 1e3, "MB": 1e6},
	metric.Number:    {"": 1, "k": 1e3, "M": 1e6},
	metric.Frequency: {"/s": 1, "k/s": 1e3, "M/s": 1e6},
}

// limitExamples are valid limits, for errors.
var limitExamples = map[metric.Dimension]string{
	metric.Time: "20ms or 50us", metric.Size: "300B or 2kB",
	metric.Number: "40 or 2k", metric.Frequency: "500/s or 5k/s",
}

func (t *Threshold) parseLimit(m metric.Metric) error {
	found := limitForm.FindStringSubmatch(t.LimitText)
	if found == nil {
		return refuse(t.Text, "%q is no limit; write +3%% of the first arm's value, or %s", t.LimitText,
			limitExamples[m.Dimension])
	}
	sign, number, unit := found[1], found[2], found[3]
	if unit == "%" {
		return t.parseShare(m, sign, number)
	}
	if t.Metric == ErrorShare {
		return refuse(t.Text, "errors are a share of all calls; write errors > 0.1%%")
	}
	size, ok := limitUnits[m.Dimension][unit]
	value, err := strconv.ParseFloat(number, 64)
	switch {
	case !ok || err != nil:
		return refuse(t.Text, "%q is no limit of %s; write %s, or +3%% of the first arm's value", t.LimitText, m.ID,
			limitExamples[m.Dimension])
	case sign != "":
		return refuse(t.Text, "a limit with a sign is a percentage of the first arm's value; write +3%%, or %s",
			limitExamples[m.Dimension])
	case value == 0 && !m.Counted:
		return refuse(t.Text, "nothing is below 0, so a limit of 0 is always crossed")
	}
	t.Limit = value * size
	return nil
}

// parseShare reads a percentage: of the first arm's value, or of all calls.
func (t *Threshold) parseShare(m metric.Metric, sign, number string) error {
	// With an exponent instead of a division, "3" becomes exactly the number that "0.03" reads as.
	share, err := strconv.ParseFloat(number+"e-2", 64)
	switch {
	case err != nil:
		return refuse(t.Text, "%q is no percentage", t.LimitText)
	case t.Metric == ErrorShare && sign != "":
		return refuse(t.Text, "errors are a share of all calls, not a difference from the first arm; write errors "+
			"> 0.1%%")
	case t.Metric == ErrorShare && share >= 1:
		return refuse(t.Text, "no more than all calls can fail")
	case t.Metric == ErrorShare:
		t.Limit = share
		return nil
	case m.Counted:
		return refuse(t.Text, "%s are counted and not compared; write %s > 0", m.ID, m.ID)
	case sign == "":
		return refuse(t.Text, "a percentage of the first arm's value has a sign; write +%s%% or -%s%%", number, number)
	case sign != "+" && share >= 1:
		return refuse(t.Text, "nothing can fall by 100 %% or more")
	}
	if sign != "+" {
		share = -share
	}
	t.Relative, t.Limit = true, 1+share
	return nil
}

// Check reports whether a complete plan has what the threshold is about, so that a typing error costs no experiment.
// The error lists the choices.
func (t Threshold) Check(p plan.Plan) error {
	if t.Relative && len(p.Arms) < 2 {
		return refuse(t.Text, "a percentage is of the first arm's value, and there is no second arm")
	}
	if t.Arm != "" {
		names := make([]string, len(p.Arms))
		for i := range p.Arms {
			names[i] = (&result.Result{Plan: p}).ArmName(i)
		}
		switch at := slices.Index(names, t.Arm); {
		case at < 0:
			return refuse(t.Text, "%s", wirelab.Public(wirelab.UnknownName("arm", t.Arm, names)).Message)
		case at == 0 && t.Relative:
			return refuse(t.Text, "%s is the first arm, which the others are compared with", t.Arm)
		}
	}
	loads := slices.DeleteFunc(slices.Clone(p.Loads), func(l plan.Load) bool { return !t.under(l) })
	if len(loads) == 0 {
		names := make([]string, len(p.Loads))
		for i, l := range p.Loads {
			names[i] = l.String()
		}
		return refuse(t.Text, "%s", wirelab.Public(wirelab.UnknownName("load", t.Load, names)).Message)
	}
	m, _ := thresholdMetric(t.Text, t.Metric) // it is known, since it was parsed
	if !slices.ContainsFunc(loads, func(l plan.Load) bool { return kinds.Under(m, l) }) {
		if kinds.OfPlan(p).Run.Held || m.Streams && !m.Open {
			return refuse(t.Text,
				"%s is not measured under such a load: streams have metrics of events, calls have others", m.ID)
		}
		return refuse(t.Text, "%s is not measured in the open loop, where the plan itself sets it", m.ID)
	}
	for i, arm := range p.Arms {
		if seen := t.Arm == "" || t.Relative && i == 0 ||
			t.Arm == (&result.Result{Plan: p}).ArmName(i); seen && arm.Target != "" &&
			(t.Metric == plan.ServerCPU && !arm.Seen() || t.Metric == plan.ServerAllocations) {
			return refuse(t.Text, "the server at %s is not ours, so its %s cannot be seen%s", arm.Target, m.Title,
				words.Choose(t.Metric == plan.ServerCPU, "; if it runs here, give its process: pid= next to target=",
					""))
		}
	}
	return nil
}

// under reports whether the threshold is for a load: "50", "50 in flight",
// "2k/s", "2000/s poisson".
func (t Threshold) under(l plan.Load) bool {
	scope := strings.ToLower(t.Load)
	if scope == "" || scope == strings.ToLower(l.String()) {
		return true
	}
	word, rest, _ := strings.Cut(t.Load, " ")
	switch rest = strings.ToLower(rest); {
	case len(l.Stages) > 0 || kinds.Of(l).Run.Held:
		return false
	case l.Open():
		rate, err := plan.ParseRate(word)
		return err == nil && rate == l.Rate && (rest == "" || rest == strings.ToLower(l.Arrivals))
	}
	n, err := strconv.Atoi(word)
	return err == nil && n == max(l.InFlight, 1) &&
		slices.Contains([]string{"", "in flight", "calls in flight", "call in flight"}, rest)
}
