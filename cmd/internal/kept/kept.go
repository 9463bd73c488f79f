package kept

import (
	"github.com/spf13/cobra"

	"wirelab/cmd/internal/desk"
)

// commands is what these commands are made with.
type commands struct{ *desk.Desk }

// Results returns the commands over the store.
func Results(d *desk.Desk) *cobra.Command { return newResultsCommand(&commands{d}) }

// Report returns the command that writes reports.
func Report(d *desk.Desk) *cobra.Command { return newReportCommand(&commands{d}) }

// Decide returns the command that says when to use which path.
func Decide(d *desk.Desk) *cobra.Command { return newDecideCommand(&commands{d}) }

// Verify returns the command that computes a result again.
func Verify(d *desk.Desk) *cobra.Command { return newVerifyCommand(&commands{d}) }

// ServeResults returns the command that serves results.
func ServeResults(d *desk.Desk) *cobra.Command { return newServeResultsCommand(&commands{d}) }
