package main

import "wirelab/cli"

// The exit codes, as "hermes help exit-codes" tells them; the numbers mean what they
// mean for wirelab.
const (
	exitOK          = cli.OK
	exitFailed      = cli.Failed
	exitInterrupted = cli.Interrupted
	exitUsage       = cli.WrongUsage
)

const exitCodesText = `Exit codes of hermes, for scripts:

   0  Done. A node that was told to stop has stopped; everything published was
      acknowledged; a subscription got as many messages as were asked for, or was
      ended with Ctrl-C.
   1  What was asked for failed: no node could be reached, a publish was refused
      or nobody knows whether it was stored, a node's disk failed, a directory or a
      backup is damaged.
   3  Interrupted before it was done; what was acknowledged until then is stored.
      Or a directory that was to be checked is in use by a node.
  64  The command itself is wrong: an unknown name, flag or setting, a topic or
      group that is not there, or is there in another form.

Errors are on standard error as "hermes: what happened; what to do".`
