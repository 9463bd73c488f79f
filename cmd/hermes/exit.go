package main

import "wirelab/cmd/internal/cli"

// The exit codes, as "hermes help exit-codes" tells them; the numbers mean what they
// mean for wirelab.
const (
	exitOK          = cli.OK
	exitFailed      = cli.Failed
	exitInterrupted = cli.Interrupted
	exitUsage       = cli.WrongUsage
)

const exitCodesText = `Exit codes of hermes, for scripts:

   0  Done. The node has stopped, as it was told; or everything was published and
      acknowledged; or the subscription got all its messages, or was ended with
      Ctrl-C.
   1  The command failed: no node could be reached, a publish was refused, it is
      not known whether a message was stored, the disk of a node failed, a
      directory or a backup is damaged.
   3  The command was interrupted; what was acknowledged until then is stored. Or
      a node uses the directory that check, export or recover was to read.
  64  The command is wrong: an unknown name, flag or setting, or a topic or group
      that is not there, or has other settings.

Errors are on standard error, in the form "hermes: what happened; what to do".`
