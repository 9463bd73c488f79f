package markdown

import (
	"bufio"
	"io"

	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/results/report"
)

// WriteDecisions writes tables of when to use which alone. The error is w's.
func WriteDecisions(w io.Writer, tables []report.DecisionTable) error {
	p := &page{out: bufio.NewWriter(w)}
	for _, t := range tables {
		p.blocks(report.DecisionBlocks(t))
	}
	return p.out.Flush()
}

// WriteWithOutages is [Write] with what runs showed in which parts failed.
func WriteWithOutages(w io.Writer, r *result.Result, outages []report.Outage) error {
	a := analyse.Result(r)
	return write(w, r, &a, outages)
}
