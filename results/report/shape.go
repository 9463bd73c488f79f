package report

import (
	"strings"

	"wirelab/lab/plan"
	"wirelab/lab/result/claim"
)

// Shape is what reports say of one kind of load alone. Code that writes of a load asks its shape, and tests for no
// kind.
type Shape struct {
	// Sends is what an arm's driver does: "calls". Done begins a sentence on how many of them there were in a second.
	Sends, Done string
	// short stands after the unit of costs: "/req".
	short string
	// Right follows how many replies were checked, and was right. Followed says the same where more is known of them.
	Right    string
	Followed func(a *claim.Analysis) string
	// Checked heads that fact on a page.
	Checked string
	// answered heads the rate that an open loop came to; "" where there is no such table.
	answered string
	// main are the ids of the metrics that a load is judged by, the primary one first.
	main func(l *claim.LoadAnalysis) []string
	// Calls: it makes calls one by one, to any server: tables and pictures of calls alone are of it.
	Calls bool
	// Bytes: what a request moves in both directions says something of it.
	bytes bool
	// Wide: arms have long descriptions, so that tables have room for a column less.
	Wide bool
	// heads are heads of columns that differ from those of calls.
	heads map[string]string
	// named names a load among several; nil: LoadName.
	named func(p plan.Plan, load int) string
	// paced is how fast a load goes; under the same with the word before it, in a sentence. nil: as calls have it.
	paced, under func(l plan.Load) string
	// limited says what "floor-limited" means under a load.
	limited func(l *claim.LoadAnalysis) string
}

// shapes are those that there are: the one table of what reports have of kinds of load.
func shapes() map[plan.Kind]func() Shape {
	return map[plan.Kind]func() Shape{plan.Calls: callShape, plan.Messages: messageShape, plan.Held: streamShape}
}

// ShapeOf is the shape of a kind; that of calls of an unknown one.
func ShapeOf(k plan.Kind) Shape {
	if of := shapes()[k]; of != nil {
		return of()
	}
	return callShape()
}

func callShape() Shape {
	return Shape{
		Sends: "calls", Done: "Calls", short: "/req", Right: "replies right", Checked: "Replies",
		answered: "answered /s", main: callMain, Calls: true, bytes: true, limited: callLimited,
	}
}

func callMain(l *claim.LoadAnalysis) []string {
	ids := []string{l.Primary, plan.ServerCPU, plan.DatabaseCPU, plan.Throughput, plan.ResponseP50, plan.ResponseP99}
	if l.Open {
		ids = []string{l.Primary, plan.ResponseP50, plan.ResponseP99, plan.ServerCPU, plan.DatabaseCPU}
	}
	if followed(l) {
		// When a caller got its answer, and when its entry was stored: each on the same axis.
		ids = append(ids, plan.ConfirmedP50, plan.ConfirmedP99, plan.StoredP50, plan.StoredP99)
	}
	return ids
}

func callLimited(*claim.LoadAnalysis) string {
	return "less than twice what client and kernel take by themselves"
}

// amongLoads names a load in a list of several, without the pace that all have.
func amongLoads(p plan.Plan, l *claim.LoadAnalysis, pace string) string {
	if named := ShapeOf(l.Kind).named; named != nil {
		return named(p, l.Load)
	}
	return strings.TrimSuffix(LoadName(p, l.Load), ", "+pace)
}
