package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"wirelab/cmd/internal/cli"
	"wirelab/hermes/backup"
	"wirelab/hermes/broker"
	"wirelab/wire/status"
)

const restoreText = `Restore writes the topics of a backup into a running cluster: their settings, their
messages with the old offsets and times, and their groups with their positions.
First it reads and checks the whole file. If the cluster has one of the topics
already, that is an error, and nothing is written.

A topic is closed to publishers and subscribers until it is whole. After an
interruption, run the same command again; it continues. To give up a topic, delete
it.

Messages keep their old times. So a message that is older than the retention of its
topic disappears soon. Times must not be ahead of the cluster's clock. Dead letters
(topic hermes.dlq) can be restored only if the cluster never had one; otherwise
name the other topics with --only.

With a policy, the caller needs the rights admin and publish on the topics. All
nodes must be of this version or later.`

const restoreExample = `  hermes restore --from hermes.backup --dry-run
  hermes restore --from hermes.backup
  hermes restore --from hermes.backup --only orders,invoices`

func newRestoreCommand(a *app) *cobra.Command {
	var f clientFlags
	var from string
	var only []string
	c := &cobra.Command{
		Use: "restore --from FILE", Short: "Restore the topics of a backup into a cluster",
		Long: restoreText, Example: restoreExample,
		Args: cli.Arguments(0, 0, "no arguments: name the file with --from"),
	}
	f.register(c)
	c.Flags().StringVar(&from, "from", "", "`file` that hermes backup wrote")
	c.Flags().StringSliceVar(&only, "only", nil, "`topics` to restore, separated by commas (default all)")
	dry := c.Flags().Bool("dry-run", false, "check the file and the cluster, show what would be done, and do nothing")
	asJSON := cli.JSONFlag(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		if from == "" {
			return cli.Usage("say what to restore, with --from FILE")
		}
		return a.restore(c.Context(), f, from, only, *dry, *asJSON)
	}
	return c
}

// restoreShown is "restore --json".
type restoreShown struct {
	backupShown

	DryRun   bool   `json:"dry_run"`
	Restored int    `json:"topics_restored"`
	Before   int    `json:"topics_restored_before"`
	Written  uint64 `json:"messages_of_plan"`
}

func (a *app) restore(ctx context.Context, f clientFlags, from string, only []string, dry, asJSON bool) error {
	file, contents, size, err := a.readBackup(ctx, from)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // it was only read
	c, err := a.dial(ctx, f)
	if err != nil {
		return err
	}
	defer c.Close() //nolint:errcheck // nothing is under way
	plan, err := backup.Plan(ctx, c, contents, only)
	shown := restoreShown{backupShown: shownOfBackup(from, contents.Totals, size), DryRun: dry}
	for _, p := range plan {
		if p.State == broker.RestoreDone {
			shown.Before++
		} else {
			shown.Restored++
			shown.Written += p.Messages
		}
		shown.All = append(shown.All,
			heldShown{p.Name, p.First, p.Next, p.Messages, p.Size, p.Groups, stateNames[p.State]})
	}
	switch {
	case ctx.Err() != nil:
		return cli.With(exitInterrupted, status.Errorf(status.Canceled, "interrupted before anything was restored"))
	case err != nil && (!dry || status.CodeOf(err) != status.Conflict):
		return err
	case dry:
		if told := a.showPlan(shown, asJSON); told != nil {
			return told
		}
		return err
	}
	if err := file.Rewind(); err != nil {
		return cli.Usage("--from %s is read twice, which a pipe cannot be: save it as a file", from)
	}
	restoring := a.Doing("restoring")
	defer restoring.Done()
	err = backup.Restore(ctx, c, contents, plan, file, func(t backup.Totals) {
		restoring.Far(fmt.Sprintf("%d of %d messages read, %d of %d topics", t.Messages, contents.Messages, t.Topics,
			contents.Topics))
	})
	switch {
	case err != nil && ctx.Err() != nil:
		return cli.With(exitInterrupted,
			status.Errorf(status.Canceled, "interrupted: run the same command again, and it "+
				"continues where it was; deleting the topic that is half restored gives it up"))
	case err != nil:
		return err
	}
	if asJSON {
		return a.PrintJSON(shown)
	}
	text := fmt.Sprintf("%s: %d topics are restored, %d messages", from, shown.Restored, shown.Written)
	if shown.Before > 0 {
		text += fmt.Sprintf("; %d were before, and are as they are", shown.Before)
	}
	return a.Printf("%s\n", text)
}

// showPlan is what a restore would do.
func (a *app) showPlan(shown restoreShown, asJSON bool) error {
	if asJSON {
		return a.PrintJSON(shown)
	}
	if err := a.showHeld(shown.All); err != nil {
		return err
	}
	return a.Printf("%d topics would be restored, %d messages; nothing was changed\n", shown.Restored, shown.Written)
}
