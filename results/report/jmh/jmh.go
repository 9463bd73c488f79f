// Package jmh writes a result in the JSON of JMH, Java's microbenchmark
// harness, for the viewers and scripts that read it. It knows only results.
//
// The meaning of JMH's names:
//
//   - benchmark: "wirelab.WORKLOAD.ARM.OPERATION", so that viewers, which take
//     the part before the last dot for a class, compare arms. The
//     arm's own name is in params, with the load.
//   - mode: "thrpt", calls (or messages acknowledged) per second, of each closed
//     loop; "avgt", the mean response time in µs, of every loop.
//   - fork: a round, which has new processes; an iteration is the
//     window of a round, so rawData is one value for each fork.
//   - threads: calls in flight.
//   - score and scoreConfidence: ours, with the interval over rounds at 95 %,
//     not JMH's at 99.9 % over pooled iterations; scoreError is half of its
//     width. params says so, and of an arm that acknowledges messages before they
//     are on disk "early" says that.
//   - secondaryMetrics: every other metric, in the unit of the benchstat form.
//   - jdkVersion, vmName: of Go; there is no jvm.
//
// A metric that a check refused is left out, since the format has no field for
// a reason: [Refused] lists them.
package jmh

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"

	"wirelab/lab/kind/kinds"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/claim"
	measures "wirelab/lab/result/metric"
	"wirelab/results/report"
	"wirelab/results/report/benchfmt"
)

// form is the version of the format that is written.
const form = "1.37"

// Benchmark is one entry.
type Benchmark struct {
	Version            string            `json:"jmhVersion"`
	Benchmark          string            `json:"benchmark"`
	Mode               string            `json:"mode"`
	Threads            int               `json:"threads"`
	Forks              int               `json:"forks"`
	JVM                string            `json:"jvm"`
	JVMArgs            []string          `json:"jvmArgs"`
	JDK                string            `json:"jdkVersion"`
	VM                 string            `json:"vmName"`
	VMVersion          string            `json:"vmVersion"`
	WarmUpIterations   int               `json:"warmupIterations"`
	WarmUpTime         string            `json:"warmupTime"`
	WarmUpBatch        int               `json:"warmupBatchSize"`
	MeasuredIterations int               `json:"measurementIterations"`
	MeasuredTime       string            `json:"measurementTime"`
	MeasuredBatch      int               `json:"measurementBatchSize"`
	Params             map[string]string `json:"params"`
	Primary            Metric            `json:"primaryMetric"`
	Secondary          map[string]Metric `json:"secondaryMetrics"`
}

// Metric is a figure of an entry.
type Metric struct {
	Score       float64            `json:"score"`
	Error       any                `json:"scoreError"` // a number, or "NaN" without an interval, as in JMH's output
	Confidence  [2]any             `json:"scoreConfidence"`
	Percentiles map[string]float64 `json:"scorePercentiles"` // of the values of rounds
	Unit        string             `json:"scoreUnit"`
	Raw         [][]float64        `json:"rawData"` // by fork and iteration
}

// Write writes the result, one entry per line. With one value per line it would have thirteen thousand lines. The
// error is w's.
func Write(w io.Writer, r *result.Result) error {
	found := analyse.Result(r)
	r, a := report.Marked(r, &found)
	all := []Benchmark{}
	for i := range a.Loads {
		for arm := range a.Loads[i].Arms {
			all = append(all, entries(r, &a.Loads[i], arm)...)
		}
	}
	var text bytes.Buffer
	out := json.NewEncoder(&text)
	out.SetEscapeHTML(false)
	text.WriteString("[\n")
	for i := range all {
		if err := out.Encode(all[i]); err != nil {
			return err
		}
		if i < len(all)-1 {
			text.Truncate(text.Len() - 1) // the newline, which must follow the comma
			text.WriteString(",\n")
		}
	}
	text.WriteString("]\n")
	_, err := w.Write(text.Bytes())
	return err
}

// Refused lists the metrics that are left out of the entries, and why.
func Refused(r *result.Result) []string {
	a := analyse.Result(r)
	var all []string
	for i := range a.Loads {
		l := &a.Loads[i]
		for arm := range l.Arms {
			var who report.Groups[string, string]
			for _, row := range l.Rows {
				if e := row.Cells[arm].Estimate; !e.Known {
					who.Add(e.Why, row.Metric)
				}
			}
			all = append(all, who.Each(func(why string, metrics []string) string {
				return fmt.Sprintf("left out: %s of %s, %s: %s", strings.Join(metrics, ", "), l.Arms[arm].Name, l.Name,
					why)
			})...)
		}
	}
	return all
}

// entries returns the entries of an arm under a load: one for each mode that has a figure.
func entries(r *result.Result, l *claim.LoadAnalysis, arm int) []Benchmark {
	trials := report.Trials(r, l.Load, arm)
	if len(trials) == 0 {
		return nil
	}
	load := r.Plan.Loads[l.Load]
	base := Benchmark{
		Version: form, Benchmark: name(r, l, arm), Threads: max(load.InFlight, 1), Forks: len(trials),
		JVMArgs: []string{}, JDK: r.Environment.Go, VM: "Go", VMVersion: r.Environment.Go,
		WarmUpIterations: 1, WarmUpTime: short(time.Duration(r.Plan.WarmUp)), WarmUpBatch: 1,
		MeasuredIterations: 1, MeasuredTime: short(time.Duration(trials[0].Window)), MeasuredBatch: 1,
		Params: map[string]string{
			"arm": l.Arms[arm].Name, "load": l.Name, "confidence": "95 % over rounds",
			"result": r.ID,
		},
	}
	if early := kinds.Early(r, arm); early != "" {
		base.Params["early"] = early
	}
	metrics := map[string]Metric{}
	for _, m := range kinds.Metrics() {
		row := l.Row(m.ID)
		if row == nil || !row.Cells[arm].Estimate.Known {
			continue
		}
		metrics[m.ID] = metric(m, row.Cells[arm].Estimate, trials)
	}
	var all []Benchmark
	for _, mode := range []struct {
		mode, id, unit string
		by             float64
	}{
		{"thrpt", plan.Throughput, "ops/s", 1},
		{"thrpt", plan.MessageRate, "ops/s", 1},
		{"avgt", plan.ResponseMean, "us/op", 1e-3},
	} {
		primary, ok := metrics[mode.id]
		if !ok {
			continue
		}
		one := base
		one.Mode, one.Primary, one.Secondary = mode.mode, primary.scaled(mode.by, mode.unit), map[string]Metric{}
		for id, m := range metrics {
			if id != mode.id {
				one.Secondary[id] = m
			}
		}
		all = append(all, one)
	}
	return all
}

// metric returns an estimate with the values of its rounds.
func metric(m measures.Metric, e claim.Estimate, trials []*result.Trial) Metric {
	one := Metric{
		Score: e.Value, Error: "NaN", Confidence: [2]any{"NaN", "NaN"}, Unit: benchfmt.Unit(m),
		Raw: [][]float64{},
	}
	if e.Interval() {
		one.Error, one.Confidence = (e.High-e.Low)/2, [2]any{e.Low, e.High}
	}
	var values []float64
	for _, t := range trials {
		if v, ok := m.Value(t); ok && m.Earned(t) {
			values = append(values, v)
			one.Raw = append(one.Raw, []float64{v})
		}
	}
	slices.Sort(values)
	one.Percentiles = map[string]float64{}
	for _, p := range []string{"0.0", "50.0", "90.0", "95.0", "99.0", "99.9", "99.99", "99.999", "99.9999", "100.0"} {
		one.Percentiles[p] = percentile(values, p, e.Value)
	}
	return one
}

// percentile returns the nearest rank of sorted values; otherwise if there are none.
func percentile(values []float64, name string, otherwise float64) float64 {
	if len(values) == 0 {
		return otherwise
	}
	var p float64
	if _, err := fmt.Sscanf(name, "%f", &p); err != nil {
		return otherwise
	}
	rank := int(math.Ceil(p / 100 * float64(len(values))))
	return values[min(max(rank, 1), len(values))-1]
}

// scaled returns the metric in another unit.
func (m Metric) scaled(by float64, unit string) Metric {
	times := func(v any) any {
		if f, ok := v.(float64); ok {
			return f * by
		}
		return v
	}
	m.Score, m.Error, m.Unit = m.Score*by, times(m.Error), unit
	m.Confidence = [2]any{times(m.Confidence[0]), times(m.Confidence[1])}
	percentiles, raw := map[string]float64{}, make([][]float64, len(m.Raw))
	for k, v := range m.Percentiles {
		percentiles[k] = v * by
	}
	for i, fork := range m.Raw {
		raw[i] = []float64{fork[0] * by}
	}
	m.Percentiles, m.Raw = percentiles, raw
	return m
}

// name is an entry's, of words that Java takes for names.
func name(r *result.Result, l *claim.LoadAnalysis, arm int) string {
	var parts []string
	for _, text := range []string{r.Plan.Workload, l.Arms[arm].Name, r.Plan.OperationOf(r.Plan.Loads[l.Load])} {
		word := strings.Map(func(c rune) rune {
			if unicode.IsLetter(c) || unicode.IsDigit(c) {
				return c
			}
			return '_'
		}, text)
		if word != "" {
			parts = append(parts, word)
		}
	}
	return strings.Join(append([]string{"wirelab"}, parts...), ".")
}

// short writes a time as JMH does: "500 ms", "1 s".
func short(d time.Duration) string {
	if d > 0 && d%time.Second == 0 {
		return fmt.Sprintf("%d s", d/time.Second)
	}
	return fmt.Sprintf("%d ms", d.Milliseconds())
}
