package main

import (
	"fmt"
	"strings"

	"wirelab/cmd/internal/cli"
	"wirelab/lab/result"
	"wirelab/results/report"
)

// incomplete is the error of an experiment of which an arm was absent: it gave what
// it could, and not what it was asked for. What is worse comes first: err.
func (a *app) incomplete(r *result.Result, err error) error {
	if len(r.Absent) == 0 || err != nil && exitCodeOf(err) != exitUndecided {
		return err
	}
	return cli.With(exitNoWord, fmt.Errorf("%s%s", strings.Join(report.Absences(r.Absent), "; "), a.Stored("of the others the result is ", r.ID)))
}
