// Package report is what all reports share: how numbers, differences and
// verdicts are put into words, which metrics come first, and what is said
// about a whole experiment. Its folders are the forms: terminal, markdown,
// csv, json, benchfmt; and progress, for what is still running.
//
// Reports are pure functions of a stored result. They know nothing of
// engines, wires or workloads, and never print a number that package result
// did not find earned: where there is none they say why.
package report
