// Package report has what all reports share: the words for numbers, differences and verdicts, the order of metrics,
// and the sentences about a whole experiment. Its sub-packages are the formats, such as terminal, markdown, csv, json
// and benchfmt, and progress, for an experiment that is still running.
//
// Reports are pure functions of a stored result. They know nothing of engines, wires or workloads. They never print a
// number that the analysis refused: they give the reason instead.
package report
