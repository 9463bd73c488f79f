package main

import (
	"wirelab/lab/audit/trial"
)

// printAudit prints an audit in the requested format.
func (a *app) printAudit(done trial.Audited, f auditFlags) error {
	switch {
	case f.json:
		return a.PrintJSON(done)
	case f.markdown:
		return trial.PrintMarkdown(a, done, f.Tool)
	}
	return trial.Print(a, done)
}
