package entries

import (
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/metric"
	"wirelab/lab/stat"
)

// Missing and other entries, counted. They should be 0; with a missing one no
// figure of the arm is valid. A queue may deliver an entry again or in another order, so these are only reported.
const (
	MissingEntries    = "missing-entries"
	DuplicatedEntries = "duplicated-entries"
	ReorderedEntries  = "reordered-entries"
)

// followedMetrics are those of calls whose effect comes later. They are the
// accepted entries' alone: one whose caller got an error has no time.
func followedMetrics() []metric.Metric {
	times := func(id, title string, q float64, of func(*result.Followed) *stat.Histogram) metric.Metric {
		return metric.Metric{
			ID: id, Title: title, Short: title, Dimension: metric.Time, Gain: "faster", Loss: "slower",
			Closed: true, Open: true, Optional: true, Quantile: q, Of: func(t *result.Trial) *stat.Histogram {
				if t.Followed == nil {
					return nil
				}
				return of(t.Followed)
			},
		}
	}
	confirmed := func(f *result.Followed) *stat.Histogram { return f.ConfirmedAfter }
	stored := func(f *result.Followed) *stat.Histogram { return f.StoredAfter }
	counted := func(id, title string, of func(*result.Followed) uint64) metric.Metric {
		return metric.Metric{
			ID: id, Title: title, Short: title, Dimension: metric.Number, Gain: "fewer", Loss: "more",
			Closed: true, Open: true, Optional: true, Counted: true, Take: func(t *result.Trial) (float64, bool) {
				if t.Followed == nil {
					return 0, false
				}
				return float64(of(t.Followed)), true
			},
		}
	}
	return []metric.Metric{
		times(plan.ConfirmedP50, "confirmed p50", 0.5, confirmed),
		times(plan.ConfirmedP99, "confirmed p99", 0.99, confirmed),
		times(plan.StoredP50, "stored p50", 0.5, stored),
		times(plan.StoredP90, "stored p90", 0.9, stored),
		times(plan.StoredP99, "stored p99", 0.99, stored),
		times(plan.StoredP999, "stored p99.9", 0.999, stored),
		counted(MissingEntries, "missing entries", func(f *result.Followed) uint64 { return f.Missing }),
		counted(DuplicatedEntries, "duplicated entries", func(f *result.Followed) uint64 { return f.Duplicated }),
		counted(ReorderedEntries, "reordered entries", func(f *result.Followed) uint64 { return f.Reordered }),
	}
}
