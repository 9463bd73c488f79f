package dashboard

import (
	"context"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"wirelab/lab/kind/kinds"
	"wirelab/lab/result/claim"
	histories "wirelab/lab/result/history"
	"wirelab/lab/result/metric"
	"wirelab/lab/stat"
	"wirelab/results/report"
	"wirelab/results/report/csv"
	"wirelab/results/store"
)

// The limits of a history. Finding changes takes memory with the square of the number of values: 2 MB at the limit.
const (
	historyDefault = 200
	historyLimit   = 500
	scanLimit      = 2000 // results that are listed to find the choices
)

// wanted says which history is requested; "" chooses the latest.
type wanted struct {
	Workload  string `json:"workload"`
	Operation string `json:"operation"`
	Machine   string `json:"machine"`
	Arm       string `json:"arm"`
	Load      string `json:"load"`
	Metric    string `json:"metric"`
	Limit     int    `json:"limit"`
}

func (q *query) wanted() wanted {
	w := wanted{
		Workload: q.text("workload"), Operation: q.text("operation"), Machine: q.text("machine"),
		Arm: q.text("arm"), Load: q.text("load"), Metric: q.text("metric"),
		Limit: q.number("limit", historyDefault, 1, historyLimit),
	}
	if w.Metric != "" {
		if _, err := kinds.MetricByID(w.Metric); err != nil && q.err == nil {
			q.err = err
		}
	}
	return w
}

// address returns the address of a history, below a path.
func (w wanted) address(path string) string {
	v := url.Values{}
	for _, one := range []struct{ name, value string }{
		{"workload", w.Workload},
		{"operation", w.Operation},
		{"machine", w.Machine},
		{"arm", w.Arm},
		{"load", w.Load},
		{"metric", w.Metric},
	} {
		if one.value != "" {
			v.Set(one.name, one.value)
		}
	}
	if w.Limit != historyDefault {
		v.Set("limit", strconv.Itoa(w.Limit))
	}
	return path + "?" + v.Encode()
}

// choices lists the possible values of each parameter, given those before it. Every choice finds something (grb-D04).
type choices struct {
	Workloads  []string `json:"workloads"`
	Operations []string `json:"operations"`
	Machines   []string `json:"machines"`
	Arms       []string `json:"arms"`
	Loads      []string `json:"loads"`
	Metrics    []string `json:"metrics"`
}

// history is one arm's metric on one machine over time.
type history struct {
	Of      wanted  `json:"of"`
	Choices choices `json:"choices"`
	Unit    string  `json:"unit"` // unit of the values: "ns", "B", "/s", ""
	// Results is how many results were read, of the Total that the machine has.
	Results int       `json:"results"`
	Total   int       `json:"total"`
	Points  []point   `json:"points"`   // in order of time, the earliest first
	Parts   []stretch `json:"segments"` // the segments between changes
	Rule    rule      `json:"rule"`

	metric metric.Metric
}

// rule says what counts as a change; see [stat.ChangeRule].
type rule struct {
	Weak      float64 `json:"weak_p"`
	Strong    float64 `json:"strong_p"`
	Least     int     `json:"least_points"`
	Magnitude float64 `json:"least_change"` // as a share
}

// point is one result.
type point struct {
	ID    string    `json:"id"`
	Began time.Time `json:"began"`
	// Known reports whether there is a value, with Low and High if there is an interval. If not, Why is the reason.
	Known bool    `json:"known"`
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Why   string  `json:"why,omitempty"`
	// Broken lists the changes of the machine, the settings or the question since the previous point, because of
	// which the two are not compared. Built lists the versions that changed.
	Broken []histories.Change `json:"environment_break,omitempty"`
	Built  []histories.Change `json:"build_change,omitempty"`
	Commit string             `json:"commit,omitempty"`
	Name   string             `json:"arm"` // the arm's name in this result
}

// stretch is a segment of a history in which no change was found.
type stretch struct {
	From int `json:"from"` // index of its first point
	To   int `json:"to"`   // index after its last point
	// Mean is the geometric mean of its values; 0 if there are none.
	Mean   float64 `json:"mean"`
	Points int     `json:"points"` // that have a value
	// Begins is why it begins here: "" for the first, "environment" or "change".
	Begins string `json:"begins,omitempty"`
	// Ratio is its mean divided by that of the segment before. P is the p-value of the t-test between the two, and
	// Verdict what this means for the metric. All three are set only for a change.
	Ratio   float64       `json:"ratio,omitempty"`
	P       float64       `json:"p,omitempty"`
	Verdict claim.Verdict `json:"verdict,omitempty"`
}

// history completes the request with defaults, and returns the history with the possible choices.
func (d *Dashboard) history(ctx context.Context, w wanted) (*history, error) {
	values, err := d.config.Store.Values(ctx)
	if err != nil {
		return nil, err
	}
	by := stat.DefaultChangeRule()
	h := &history{
		Of: w, Choices: choices{values.Workloads, []string{}, []string{}, []string{}, []string{}, []string{}},
		Points: []point{}, Parts: []stretch{}, Rule: rule{by.Weak, by.Strong, by.Least, math.Expm1(by.Magnitude)},
	}
	list, err := d.narrow(ctx, h)
	if err != nil {
		return nil, err
	}
	records, err := d.recall(ctx, list)
	if err != nil {
		return nil, err
	}
	h.Results = len(records)
	slices.Reverse(records)
	h.choose(records)
	if h.Of.Metric == "" {
		return h, nil // nothing is stored
	}
	if h.metric, err = kinds.MetricByID(h.Of.Metric); err != nil {
		return nil, err
	}
	h.Unit = report.BaseUnit(h.metric.Dimension)
	h.fill(records)
	h.split(by)
	return h, nil
}

// narrow chooses workload, operation and machine, and returns their latest results.
func (d *Dashboard) narrow(ctx context.Context, h *history) ([]store.Summary, error) {
	if h.Of.Workload == "" {
		latest, err := d.config.Store.List(ctx, store.Filter{Limit: 1})
		if err != nil || len(latest) == 0 {
			return nil, err
		}
		h.Of.Workload = latest[0].Workload
	}
	all, err := d.config.Store.List(ctx, store.Filter{Workload: h.Of.Workload, Limit: scanLimit})
	if err != nil || len(all) == 0 {
		return nil, err
	}
	h.Choices.Operations = store.Gather(all).Operations
	if h.Of.Operation == "" {
		h.Of.Operation = all[0].Operations[0]
	}
	all = slices.DeleteFunc(all, func(m store.Summary) bool { return !slices.Contains(m.Operations, h.Of.Operation) })
	if len(all) == 0 {
		return nil, nil
	}
	h.Choices.Machines = store.Gather(all).Hosts
	if h.Of.Machine == "" {
		h.Of.Machine = all[0].Host
	}
	f := store.Filter{Workload: h.Of.Workload, Operation: h.Of.Operation, Host: h.Of.Machine, Limit: h.Of.Limit}
	total, err := d.config.Store.Total(ctx, f)
	if err != nil {
		return nil, err
	}
	h.Total = total.Results
	return d.config.Store.List(ctx, f)
}

// choose chooses arm, load and metric: those of the latest result that has any.
func (h *history) choose(records []*record) {
	var arms, loads, metrics []string
	var last *figures
	// An arm may also be requested by its name, if that differs from its description.
	named := slices.ContainsFunc(records, func(r *record) bool {
		return slices.ContainsFunc(r.figures, func(f figures) bool { return f.arm == h.Of.Arm })
	})
	for _, r := range slices.Backward(records) {
		for i := range r.figures {
			f := &r.figures[i]
			if f.operation != h.Of.Operation {
				continue
			}
			arms = append(arms, f.arm)
			if h.Of.Arm == "" || h.Of.Arm == f.name && f.name != f.arm && !named {
				h.Of.Arm = f.arm
			}
			if f.arm != h.Of.Arm {
				continue
			}
			loads = append(loads, f.load)
			if h.Of.Load == "" {
				h.Of.Load = f.load
			}
			if f.load != h.Of.Load {
				continue
			}
			if last == nil {
				last = f
			}
			for id, e := range f.values {
				if e.Known {
					metrics = append(metrics, id)
				}
			}
		}
	}
	if last != nil && h.Of.Metric == "" {
		h.Of.Metric = last.primary
	}
	once := func(all []string) []string {
		slices.Sort(all)
		return append([]string{}, slices.Compact(all)...)
	}
	h.Choices.Arms, h.Choices.Loads = once(arms), once(loads)
	for _, m := range kinds.Metrics() { // in the order of reports
		if slices.Contains(metrics, m.ID) {
			h.Choices.Metrics = append(h.Choices.Metrics, m.ID)
		}
	}
}

// fill adds the points.
func (h *history) fill(records []*record) {
	var before *record
	for _, r := range records {
		if r.damage != "" {
			h.Points = append(h.Points, point{ID: r.summary.ID, Began: r.summary.Began, Why: r.damage})
			continue
		}
		i := slices.IndexFunc(r.figures, func(f figures) bool {
			return f.operation == h.Of.Operation && f.arm == h.Of.Arm && f.load == h.Of.Load
		})
		if i < 0 {
			continue
		}
		f := &r.figures[i]
		e, ok := f.values[h.Of.Metric]
		if !ok {
			e.Why = "not measured"
		}
		p := point{
			ID: r.summary.ID, Began: r.summary.Began, Commit: r.summary.Commit, Name: f.name,
			Known: e.Known, Value: e.Value, Low: e.Low, High: e.High, Why: e.Why,
		}
		if before != nil {
			machine, builds := histories.Moved(before.place, r.place)
			p.Broken = slices.Concat(machine, histories.Questions(before.place.Plan, r.place.Plan))
			for _, c := range builds {
				if c.Setting() {
					p.Broken = append(p.Broken, c)
				} else {
					p.Built = append(p.Built, c)
				}
			}
		}
		before = r
		h.Points = append(h.Points, p)
	}
}

// split divides the history where the environment changed, and each part where its values change.
func (h *history) split(by stat.ChangeRule) {
	for from := 0; from < len(h.Points); {
		to := from + 1
		for to < len(h.Points) && len(h.Points[to].Broken) == 0 {
			to++
		}
		begins := ""
		if from > 0 {
			begins = "environment"
		}
		h.divide(from, to, begins, by)
		from = to
	}
}

// divide finds the changes between two points.
func (h *history) divide(from, to int, begins string, by stat.ChangeRule) {
	var logs []float64
	var at []int
	for i := from; i < to; i++ {
		if p := &h.Points[i]; p.Known && p.Value > 0 { // 0 has no logarithm, and no ratio to other values
			logs, at = append(logs, math.Log(p.Value)), append(at, i)
		}
	}
	changes := stat.ChangePoints(logs, by)
	for n := range len(changes) + 1 {
		s := stretch{From: from, To: to, Begins: begins}
		start, end := 0, len(logs)
		if n > 0 {
			c := changes[n-1]
			start, s.From, s.Begins = c.At, at[c.At], "change"
			s.Ratio, s.P, s.Verdict = math.Exp(c.After-c.Before), c.P, claim.Worse
			if (s.Ratio > 1) == h.metric.Higher {
				s.Verdict = claim.Better
			}
		}
		if n < len(changes) {
			end = changes[n].At
			s.To = at[end]
		}
		if s.Points = end - start; s.Points > 0 {
			sum := 0.0
			for _, v := range logs[start:end] {
				sum += v
			}
			s.Mean = math.Exp(sum / float64(s.Points))
		}
		h.Parts = append(h.Parts, s)
	}
}

func (d *Dashboard) historyAPI(w http.ResponseWriter, r *http.Request) error {
	h, err := d.askHistory(r, false)
	if err != nil {
		return err
	}
	d.json(w, http.StatusOK, h)
	return nil
}

func (d *Dashboard) askHistory(r *http.Request, lenient bool) (*history, error) {
	q := ask(r, lenient)
	of := q.wanted()
	if err := q.done(); err != nil {
		return nil, err
	}
	return d.history(r.Context(), of)
}

// historyCSV answers with a history as a table for programs.
func (d *Dashboard) historyCSV(w http.ResponseWriter, r *http.Request) error {
	h, err := d.askHistory(r, true)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	w.Header().Set("Content-Disposition",
		`attachment; filename="history-`+safeName(h.Of.Operation)+"-"+safeName(h.Of.Metric)+`.csv"`)
	table := csv.NewSheet(w)
	rows := [][]string{{
		"id", "began", "arm", "metric", "value", "low", "high", "unit", "refused", "segment",
		"segment_begins", "segment_mean", "commit",
	}}
	for i, p := range h.Points {
		part := h.partOf(i)
		value, low, high := "", "", ""
		if p.Known {
			value = report.Exact(p.Value)
			if p.High > 0 {
				low, high = report.Exact(p.Low), report.Exact(p.High)
			}
		}
		s := h.Parts[part]
		rows = append(rows, []string{
			p.ID, p.Began.Format(time.RFC3339), p.Name, h.Of.Metric, value, low, high, h.Unit, p.Why,
			strconv.Itoa(part + 1), s.Begins, report.Exact(s.Mean), p.Commit,
		})
	}
	return table.WriteAll(rows)
}

// partOf returns the index of the segment that a point belongs to.
func (h *history) partOf(point int) int {
	return slices.IndexFunc(h.Parts, func(s stretch) bool { return point >= s.From && point < s.To })
}
