package markdown

import (
	"bufio"
	"io"

	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/results/report"
)

// WriteDecisions writes only the tables of which path to use when. The error is w's.
func WriteDecisions(w io.Writer, tables []report.DecisionTable) error {
	p := &page{out: bufio.NewWriter(w)}
	for _, t := range tables {
		p.blocks(report.DecisionBlocks(t))
	}
	return p.out.Flush()
}

// WriteWithOutages is [Write] with the results of runs with failing parts.
func WriteWithOutages(w io.Writer, r *result.Result, outages []report.Outage) error {
	a := analyse.Result(r)
	return write(w, r, &a, outages)
}
