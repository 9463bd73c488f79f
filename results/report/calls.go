package report

import (
	"wirelab/lab/kind/entries"
	"wirelab/lab/plan"
	"wirelab/lab/result/claim"
	"wirelab/results/report/block"
)

// callShape has what reports say of calls, whether or not the entries that they hand over are followed.
func callShape() Shape {
	return Shape{
		Sends: "calls", Done: "Calls", short: "/req", Right: "replies right", Checked: "Replies",
		answered: "answered /s", main: callMain, Calls: true, bytes: true, limited: callLimited,
		looked: callLooked, alone: func(l *claim.LoadAnalysis) bool { return !followed(l) },
		accounts: func(l *claim.LoadAnalysis) []*block.Table {
			return []*block.Table{EntryTable(l), ProcessTable(l), StepTable(l)}
		},
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

// callLooked has client cost only where it is asked for.
func callLooked(l *claim.LoadAnalysis) []string {
	switch {
	case followed(l):
		return []string{l.Primary, plan.ServerCPU, plan.Throughput, plan.ResponseP50, plan.StoredP50, plan.StoredP99}
	case l.Open:
		return []string{l.Primary, plan.ResponseP50, plan.ServerCPU, plan.DatabaseCPU}
	}
	return []string{
		l.Primary, plan.ServerCPU, plan.DatabaseCPU, plan.Throughput, plan.ResponseP50, plan.ResponseP99,
	}
}

// followed reports whether any arm's entries were followed until they were stored.
func followed(l *claim.LoadAnalysis) bool { return len(entries.Arms(l)) > 0 }

func callLimited(*claim.LoadAnalysis) string {
	return "less than twice what client and kernel take by themselves"
}
