package report

import (
	"strings"

	"wirelab/lab/kind"
	"wirelab/lab/kind/kinds"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/results/report/block"
)

// Shape has the words and tables that only one kind of load has in a report. Code that writes about a load reads its
// shape, and does not test for a kind.
type Shape struct {
	// Sends says what an arm's driver does: "calls". Done begins a sentence on how many of them there were per
	// second.
	Sends, Done string
	// short follows the unit of costs: "/req".
	short string
	// Right follows the number of replies that were checked and right. Account replaces it if the load tracks more
	// about each of them.
	Right   string
	Account func(a *claim.Analysis) string
	// Checked is the label of that number on a page.
	Checked string
	// answered is the column head for the rate that an open loop reached; "" if there is no such table.
	answered string
	// main returns the ids of the metrics that a load is judged by, the primary one first.
	main func(l *claim.LoadAnalysis) []string
	// looked are the ids of the metrics that most people look for first; nil: those of main. alone reports whether a
	// load of one arm can be told by how fast the arm answers; nil: it cannot.
	looked func(l *claim.LoadAnalysis) []string
	alone  func(l *claim.LoadAnalysis) bool
	// Calls is true if the load makes single calls to any server. Only such loads have the tables and pictures of
	// calls.
	Calls bool
	// bytes is true if the bytes per request in both directions are meaningful.
	bytes bool
	// Wide is true if arms have long descriptions, so that tables have space for one column less.
	Wide bool
	// heads has the column heads that differ from those of calls.
	heads map[string]string
	// asked are facts about what the plan asks that only this kind has; nil: none.
	asked func(r *result.Result) []Fact
	// seen shows next to metrics how a load did, and accounts show what became of the things that it sent. A table may
	// be nil; nil: none.
	seen     func(l *claim.LoadAnalysis) *block.Table
	accounts func(l *claim.LoadAnalysis) []*block.Table
	// overview puts several loads into one table; nil: each has its own only.
	overview func(r *result.Result, a *claim.Analysis) *block.Table
	// named names a load among several; nil: LoadName.
	named func(p plan.Plan, load int) string
	// paced writes how fast a load goes. under writes the same in a sentence, with its preposition. nil: as for
	// calls.
	paced, under func(l plan.Load) string
	// limited says what "floor-limited" means under a load.
	limited func(l *claim.LoadAnalysis) string
}

// shapes are those of the kinds that say more of themselves than their metrics: the one table of what reports have of
// kinds of load.
func shapes() map[plan.Kind]func() Shape {
	return map[plan.Kind]func() Shape{plan.Calls: callShape, plan.Messages: messageShape, plan.Held: streamShape}
}

// ShapeOf returns the shape of a kind. An unknown kind gets the shape of calls.
func ShapeOf(k plan.Kind) Shape {
	known := kinds.Named(k)
	if of := shapes()[known.Name]; of != nil {
		return of()
	}
	return plainShape(known)
}

// plainShape is the shape of a kind that has no own: its words are those of its checks, and all its metrics are shown.
func plainShape(k *kind.Kind) Shape {
	return Shape{
		Sends: k.Things, Done: Titled(k.Things), Right: k.Replies + " right",
		Checked: Titled(k.Replies), paced: plan.Load.Pace, limited: callLimited,
		main: func(l *claim.LoadAnalysis) []string {
			ids := []string{l.Primary}
			for _, m := range k.Metrics() {
				if !m.Counted {
					ids = append(ids, m.ID)
				}
			}
			return ids
		},
	}
}

// amongLoads names a load in a list, without the pace if all loads share it.
func amongLoads(p plan.Plan, l *claim.LoadAnalysis, pace string) string {
	if named := ShapeOf(l.Kind).named; named != nil {
		return named(p, l.Load)
	}
	return strings.TrimSuffix(LoadName(p, l.Load), ", "+pace)
}
