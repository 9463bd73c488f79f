package kind

import (
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/gate"
	"wirelab/lab/result/grid"
	"wirelab/lab/result/metric"
)

// Kind is a kind of load, with everything that is specific to it. Other code uses its fields instead of testing for a
// kind. A nil field means that the kind does not have it.
type Kind struct {
	// Name is the kind's, as [plan.Load.Kind] gives it.
	Name plan.Kind
	// Manner is what the checks that all kinds share need to know of it.
	gate.Manner
	// Words makes words that are of calls those of the kind.
	Words func(text string) string
	// Metrics are its additional metrics, in the order of reports.
	Metrics func() []metric.Metric
	// Under reports whether a metric, its own or another's, is one of such a load.
	Under func(m metric.Metric, l plan.Load) bool
	// Primary is the id of the metric that decides where a plan names none. Usual is the one that decides of calls in
	// the closed loop.
	Primary func(p plan.Plan, l plan.Load, usual string) string
	// Rate is the id of the metric that says how much an arm does. Its figures are refused with those of the metric.
	Rate string
	// Gates applies the checks to an arm under a load.
	Gates func(g grid.Grid, l int, s *gate.Subject)
	// Refuse takes what failed checks cover out of the figures that are no metrics. Why returns
	// the reason why a metric is refused, and whole the reason why all are; "" if they are not.
	Refuse func(s *claim.ArmState, why func(id string) string, whole string)
	// Merge adds the data of a slice that only this kind has to its trial.
	Merge func(t *result.Trial, more result.Particulars)
	// Followed tells how many of the things that a trial is of never came, and how many came again, where each was
	// followed by itself.
	Followed func(t *result.Trial) (missing, again uint64, ok bool)
	// Ranked reports whether the arms of a load are ranked by each goal that a user may have; nil: never.
	Ranked func(l *claim.LoadAnalysis) bool
	// Early says of an arm that its figures are of less than another's, since it acknowledges before a message is
	// durable; nil: there are no acknowledgements.
	Early func(arm *result.Arm) string
	// Run is what measuring it takes.
	Run Run
	// Flaws finds what a trial says of the kind and contradicts itself, or its load: a stored result may have been
	// edited.
	Flaws func(path string, t *result.Trial, l plan.Load, add func(path, format string, args ...any))
}

// Run says what lab/experiment needs to know of a kind.
type Run struct {
	// Held: streams are held open, and the server sends. There are no calls, which have callers, a schedule and a pace.
	Held bool
	// Cluster: the server is a cluster of brokers. It takes long to start, and works behind its acknowledgements. So
	// arms are measured one after the other, each from its start to its stop (docs/concepts/claims.md), what was sent
	// is read before a slice is over, and the CPU time of a window is not that of its messages.
	Cluster bool
	// Floor is what a server that does nothing is asked in a load's stead, which several loads may share; nil: the load.
	Floor func(l plan.Load) plan.Load
}
