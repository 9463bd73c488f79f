package kept

import (
	"github.com/spf13/cobra"

	"wirelab/cmd/internal/desk"
)

// keeper is what these commands are made with.
type keeper struct{ *desk.Desk }

// Results is the commands over the store.
func Results(d *desk.Desk) *cobra.Command { return newResultsCommand(&keeper{d}) }

// Report is the command that writes reports.
func Report(d *desk.Desk) *cobra.Command { return newReportCommand(&keeper{d}) }

// Decide is the command that says when to use which path.
func Decide(d *desk.Desk) *cobra.Command { return newDecideCommand(&keeper{d}) }

// Verify is the command that computes a result again.
func Verify(d *desk.Desk) *cobra.Command { return newVerifyCommand(&keeper{d}) }

// ServeResults is the command that serves results.
func ServeResults(d *desk.Desk) *cobra.Command { return newServeResultsCommand(&keeper{d}) }
