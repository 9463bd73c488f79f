package main

import "github.com/spf13/cobra"

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
		newResultsCommand,
		newReportCommand,
		newDecideCommand,
		newVerifyCommand,
		newReplayCommand,
		newMatrixCommand,
		newServeCommand,
		newUpCommand,
		newChaosCommand,
		newServeResultsCommand,
		newRelayCommand,
		newCallCommand,
		newArrivalsCommand,
		newAuditCommand,
		newDriveCommand,
		newDriveMessagesCommand,
		newReadMessagesCommand,
		newNullBrokerCommand,
		newHogCommand,
		newPartCommand,
		newVersionCommand,
	}
}
