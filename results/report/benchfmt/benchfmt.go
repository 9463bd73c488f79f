// Package benchfmt writes a result in the format of Go benchmarks, one line
// for each round, load and arm, for benchstat and what else reads it. It knows
// only results.
//
// A line is "BenchmarkGetFeature/arm=grpc/load=50-in-flight N value unit …",
// where N is the number of calls. The units, lower being better but for req/s and msg/s:
//
//   - server-cpu-ns/op, client-cpu-ns/op: CPU time per request
//   - req/s: throughput, in the closed loop
//   - response-p50-ns … service-p99-ns, response-mean-ns: times
//   - wire-sent-B/op, wire-received-B/op: bytes per request
//   - server-allocs/op, client-allocs/op: heap allocations per request
//   - connections: opened while measuring
//   - message-rate-msg/s, delivered-p99-ns, disk-written-B/op and the like, of loads
//     that send messages; op is a message then
//
// An arm that acknowledges messages before they are on disk has ° behind its name,
// and a comment says so.
//
// benchstat -col /arm compares the arms, but as if rounds were not paired: its
// intervals are wider than ours and its p-values assume no drift. Arms that
// failed a gate have a comment that says so, and no line.
package benchfmt

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"

	"wirelab/lab/kind/kinds"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/metric"
	"wirelab/results/report"
)

// Write writes the result. The error is w's.
func Write(w io.Writer, r *result.Result) error {
	out := bufio.NewWriter(w)
	found := analyse.Result(r)
	r, a := report.Marked(r, &found)
	for _, line := range [][2]string{
		{"goos", r.Environment.OS},
		{"cpu", r.Environment.CPU},
		{"pkg", "wirelab/" + r.Plan.Workload},
		{"wirelab-result", r.ID},
		{"wirelab-seed", strconv.FormatUint(r.Plan.Seed, 10)},
		{"go", r.Environment.Go},
		{"wirelab-machine", report.Resolves(r.Certificate)},
	} {
		if text := strings.Join(strings.Fields(line[1]), " "); text != "" {
			fmt.Fprintf(out, "%s: %s\n", line[0], text)
		}
	}
	lines, used := trials(r, a)
	for _, m := range kinds.Metrics() {
		if !used[m.ID] {
			continue // a unit of nothing below is noise
		}
		better := "lower"
		if m.Higher {
			better = "higher"
		}
		fmt.Fprintf(out, "Unit %s better=%s\n", Unit(m), better)
	}
	for _, line := range report.EarlyLegend(r) {
		fmt.Fprintf(out, "# %s\n", line)
	}
	for l := range a.Loads {
		for arm := range a.Loads[l].Arms {
			for _, c := range a.Loads[l].Arms[arm].Checks {
				is := ""
				switch {
				case !c.OK && claim.Whole(c.Gate):
					is = "is invalid"
				case !c.OK:
					is = "is invalid in part"
				case c.Limited:
					is = "is limited"
				}
				if is != "" {
					fmt.Fprintf(out, "# %s under %s %s: %s\n", word(r.ArmName(arm)), word(a.Loads[l].Name), is,
						strings.Join(strings.Fields(c.Detail), " "))
				}
			}
		}
	}
	fmt.Fprint(out, lines)
	return out.Flush() // Flush returns the first error of all writes
}

// trials returns the lines of all trials, and the metrics that occur in them.
func trials(r *result.Result, a *claim.Analysis) (lines string, used map[string]bool) {
	var all strings.Builder
	used = map[string]bool{}
	for n := range r.Rounds {
		for i := range r.Rounds[n].Trials {
			t := &r.Rounds[n].Trials[i]
			if t.Load >= 0 && t.Load < len(a.Loads) && t.Arm >= 0 && t.Arm < len(a.Loads[t.Load].Arms) {
				line(&all, r, &a.Loads[t.Load], t, used)
			}
		}
	}
	return all.String(), used
}

// line writes one trial, unless its arm is invalid or it has no figure, and records its metrics.
func line(w io.Writer, r *result.Result, l *claim.LoadAnalysis, t *result.Trial, used map[string]bool) {
	arm := &l.Arms[t.Arm]
	var values strings.Builder
	var metrics []string
	for _, m := range kinds.Metrics() {
		v, ok := m.Value(t)
		if !kinds.Under(m, r.Plan.Loads[l.Load]) || !ok || !m.Earned(t) || arm.Why(m) != "" {
			continue
		}
		metrics = append(metrics, m.ID)
		fmt.Fprintf(&values, " %s %s", strconv.FormatFloat(v, 'f', -1, 64), Unit(m))
	}
	if values.Len() == 0 || len(arm.Invalid()) > 0 {
		return
	}
	for _, m := range metrics {
		used[m] = true
	}
	fmt.Fprintf(w, "Benchmark%s/arm=%s/load=%s %d%s\n", title(r.Plan.OperationOf(r.Plan.Loads[l.Load])), word(arm.Name),
		word(l.Name), t.OK, values.String())
}

// Unit returns the unit of a metric in this format. benchstat scales units with ns or B between hyphens.
func Unit(m metric.Metric) string {
	switch m.Dimension {
	case metric.Frequency:
		switch m.ID {
		case plan.MessageRate, plan.DeliveredRate, plan.DrainRate:
			return m.ID + "-msg/s"
		}
		return "req/s"
	case metric.Time:
		if m.Quantile > 0 || m.ID == plan.SendOutage || m.ID == plan.DeliveryOutage ||
			strings.HasPrefix(m.ID, "response") {
			return m.ID + "-ns"
		}
		return m.ID + "-ns/op"
	case metric.Size:
		if m.Averaged {
			return m.ID + "-B/s"
		}
		return m.ID + "-B/op"
	}
	if m.Counted {
		return m.ID
	}
	return m.ID + "/op"
}

// word makes a value of a benchmark's name: no space, no slash, and no ending
// that could be read as a number of processors.
func word(text string) string {
	text = strings.ReplaceAll(text, "/s", "-per-s")
	text = strings.Map(func(c rune) rune {
		if unicode.IsSpace(c) || c == '/' || !unicode.IsPrint(c) {
			return '-'
		}
		return c
	}, text)
	if last := strings.LastIndexByte(text, '-'); last >= 0 && strings.Trim(text[last+1:], "0123456789") == "" {
		text += "."
	}
	return text
}

// title makes the part of a benchmark's name that must not begin in lower case.
func title(operation string) string {
	name := word(operation)
	if name == "" {
		return "Call"
	}
	first := []rune(name)
	first[0] = unicode.ToUpper(first[0])
	return string(first)
}
