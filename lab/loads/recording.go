package loads

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"time"

	"wirelab"
	"wirelab/internal/fault"
	"wirelab/internal/input"
	"wirelab/lab/load"
	"wirelab/lab/plan"
)

// Read reads a recording from a file. by is the flag or field that named it, for errors.
func Read(ctx context.Context, by, name string) (plan.Recording, error) {
	data, err := input.File(ctx, name, plan.RecordingFileSize)
	if err != nil {
		return plan.Recording{}, fault.Unread(by, name, err)
	}
	return plan.ParseRecording(name, data)
}

// InPlan reads the files that a plan's loads name. Relative names are resolved from folder.
func InPlan(ctx context.Context, p plan.Plan, folder string) (plan.Plan, error) {
	p.Loads = slices.Clone(p.Loads)
	for i := range p.Loads {
		r := &p.Loads[i].Recording
		if r.File == "" {
			continue
		}
		if r.Given() {
			return p, wirelab.Errorf(wirelab.InvalidArgument, "loads[%d].recording has both file and gaps: give one", i)
		}
		name := r.File
		if !filepath.IsAbs(name) {
			name = filepath.Join(folder, name)
		}
		field := fmt.Sprintf("loads[%d].recording.file", i)
		read, err := Read(ctx, "", name)
		if err != nil {
			return p, wirelab.Public(err).Behind(field + ": ")
		}
		*r = read
	}
	return p, nil
}

// File is a recording in its file format, with the names of the published benchmark.
type File struct {
	About string         `json:"about,omitempty"`
	Count int            `json:"message_count"` // arrivals, which is one more than gaps
	Span  float64        `json:"time_span_seconds"`
	Rate  float64        `json:"avg_rate_per_second"`
	Gaps  []float64      `json:"inter_arrival_ms,omitempty"`
	Stats recordingStats `json:"stats"`
	// Spread is wirelab's addition: standard deviation divided by mean.
	Spread float64 `json:"spread"`
}

type recordingStats struct {
	Min float64 `json:"min_ms"`
	Max float64 `json:"max_ms"`
	Avg float64 `json:"avg_ms"`
	P50 float64 `json:"p50_ms"`
	P90 float64 `json:"p90_ms"`
	P99 float64 `json:"p99_ms"`
}

// Describe computes the statistics of a recording for its file.
func Describe(r plan.Recording) File {
	sorted := make([]float64, 0, len(r.Gaps))
	for _, gap := range r.Gaps {
		sorted = append(sorted, float64(gap)/1e6)
	}
	slices.Sort(sorted)
	// The smallest gap that at least a share q of all gaps does not exceed.
	at := func(q float64) float64 { return sorted[max(0, int(math.Ceil(q*float64(len(sorted))))-1)] }
	return File{
		Count: len(sorted) + 1, Span: r.Span().Seconds(), Rate: r.Rate(), Spread: r.Spread(),
		Stats: recordingStats{
			Min: sorted[0], Max: sorted[len(sorted)-1], Avg: 1e3 / r.Rate(), P50: at(0.5), P90: at(0.9), P99: at(0.99),
		},
	}
}

// Draw draws a recording with gaps rounded to microseconds.
func Draw(rateText string, spread float64, count int, seed uint64) (plan.Recording, error) {
	rate, err := plan.ParseRate(rateText)
	if err != nil {
		return plan.Recording{}, err
	}
	if count < 1 || count > load.GapsLimit {
		return plan.Recording{},
			wirelab.Errorf(wirelab.InvalidArgument, "--count %d: want 1 to %d", count, load.GapsLimit)
	}
	s := load.Schedule{Law: load.LogNormal, Spread: spread, Seed: seed, Stages: []load.Stage{{From: rate, To: rate}}}
	if err := s.Validate(); err != nil {
		return plan.Recording{}, wirelab.Errorf(wirelab.InvalidArgument, "--spread: %v", err)
	}
	var r plan.Recording
	for _, gap := range s.DrawGaps(count, rate) {
		r.Gaps = append(r.Gaps, plan.Duration(gap.Round(time.Microsecond)))
	}
	return r, nil
}
