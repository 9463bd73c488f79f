package main

import (
	"github.com/spf13/cobra"

	"wirelab/cmd/internal/desk"
	"wirelab/cmd/internal/fleet"
	"wirelab/cmd/internal/kept"
)

// commands lists the constructors of all commands, in the order of the help.
func commands() []func(*app) *cobra.Command {
	return []func(*app) *cobra.Command{
		newCompareCommand,
		newLoadCommand,
		newOwnCommand,
		newExplainCommand,
		newCurveCommand,
		newCapacityCommand,
		newRunCommand,
		newPresetsCommand,
		newDBCommand,
		newDoctorCommand,
		newSelfTestCommand,
		withDesk(kept.Results),
		withDesk(kept.Report),
		withDesk(kept.Decide),
		withDesk(kept.Verify),
		newReplayCommand,
		newMatrixCommand,
		newServeCommand,
		withDesk(fleet.Host),
		withDesk(fleet.Hosts),
		newUpCommand,
		newChaosCommand,
		withDesk(kept.ServeResults),
		newRelayCommand,
		newCallCommand,
		newArrivalsCommand,
		newAuditCommand,
		newDriveCommand,
		newDriveMessagesCommand,
		newReadMessagesCommand,
		newNullBrokerCommand,
		newSpinCommand,
		newPartCommand,
		newVersionCommand,
	}
}

// withDesk returns the constructor of a command that needs only what all commands share.
func withDesk(build func(*desk.Desk) *cobra.Command) func(*app) *cobra.Command {
	return func(a *app) *cobra.Command { return build(a.Desk) }
}
