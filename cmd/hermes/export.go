package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"wirelab/cmd/internal/cli"
	"wirelab/hermes/backup"
	"wirelab/hermes/node"
	"wirelab/hermes/vfs"
	"wirelab/wire/status"
)

const exportText = `Export reads the data directory of a node that does not run into a backup file, the
same as that of hermes backup: hermes backup --verify and hermes restore read it. Use it
when the cluster cannot make a backup any more, for example because most of its nodes
are lost. It changes nothing in the directory, and holds its lock while it runs.

The file contains what this node knows to be committed (on a majority of nodes). Its
log can have more entries after that. Some of these may have been acknowledged, others
may not: the command prints how many there are, and --include-uncommitted takes them
too. What the other nodes acknowledged without this node is not in its directory.

The backup is written to FILE.part, and renamed to FILE when it is whole and on disk. Exit
codes:

   0  The backup is made.
   1  The directory is damaged, or FILE could not be written.
   3  A node uses the directory, or export was interrupted. FILE is as it was.`

const exportExample = `  hermes export /var/lib/hermes --to hermes.backup
  hermes export data --to hermes.backup --include-uncommitted
  hermes export data --to orders.backup --only orders,invoices`

func newExportCommand(a *app) *cobra.Command {
	var to string
	var only []string
	var beyond bool
	c := &cobra.Command{
		Use: "export DIR --to FILE", Short: "Write a backup of the data directory of a node that does not run",
		Long: exportText, Example: exportExample, Args: cli.Arguments(1, 1, "a data directory"),
	}
	c.Flags().StringVar(&to, "to", "", "`file` to write")
	c.Flags().StringSliceVar(&only, "only", nil, "`topics` to export, separated by commas (default all)")
	c.Flags().BoolVar(&beyond, "include-uncommitted", false, "also the entries of the log that are not known to be "+
		"committed")
	asJSON := cli.JSONFlag(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		if to == "" {
			return cli.Usage("say where to write, with --to FILE")
		}
		return a.export(c.Context(), args[0], to, only, beyond, *asJSON)
	}
	return c
}

// exportShown is "export --json".
type exportShown struct {
	backupShown

	Directory   string `json:"directory"`
	Cluster     string `json:"cluster,omitempty"`
	Node        uint64 `json:"node,omitempty"`
	Committed   uint64 `json:"entry_committed"` // the last one known to be
	Last        uint64 `json:"entry_last"`
	Uncommitted uint64 `json:"entries_uncommitted"` // behind the last one known to be committed
	Included    bool   `json:"uncommitted_included"`
}

func (a *app) export(ctx context.Context, dir, to string, only []string, beyond, asJSON bool) (err error) {
	exporting := a.Doing("exporting " + dir)
	defer exporting.Done()
	c, err := openCopy(ctx, dir, beyond)
	if err != nil {
		if ctx.Err() != nil {
			return notMade(ctx, to, err)
		}
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	var totals backup.Totals
	survey := c.Survey()
	size, err := replaceFile(to, func(w io.Writer) error {
		totals, err = backup.Save(ctx, c, only, w, func(t backup.Totals) {
			exporting.Far(fmt.Sprintf("%d of %d messages, %s", t.Messages, survey.Messages, bytesOf(int64(t.Bytes))))
		})
		return err
	})
	if err != nil {
		return notMade(ctx, to, err)
	}
	shown := exportShown{
		backupShown: shownOfBackup(to, totals, size), Directory: dir, Cluster: survey.Cluster, Node: survey.Node,
		Committed: survey.Committed, Last: survey.Last, Uncommitted: survey.Last - survey.Committed, Included: beyond,
	}
	if asJSON {
		return a.PrintJSON(shown)
	}
	if err := a.Printf("%s: %v\n", to, shown.backupShown); err != nil || shown.Uncommitted == 0 {
		return err
	}
	if beyond {
		return a.Printf("%s are in it, which node %d does not know to be committed\n", entriesBehind(survey),
			survey.Node)
	}
	return a.Printf("%s are not in it, since node %d does not know them to be committed; --include-uncommitted takes "+
		"them too\n", entriesBehind(survey), survey.Node)
}

// entriesBehind names the entries that are not known to be committed.
func entriesBehind(s node.Survey) string {
	return fmt.Sprintf("%d entries of the log, %d to %d,", s.Last-s.Committed, s.Committed+1, s.Last)
}

// openCopy opens the directory of a stopped node to read it.
func openCopy(ctx context.Context, dir string, beyond bool) (*node.Copy, error) {
	if err := isDirectory(dir); err != nil {
		return nil, err
	}
	c, err := node.OpenCopy(ctx, vfs.OS{}, dir, beyond)
	return c, inUse(dir, err)
}

func isDirectory(dir string) error {
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return cli.Usage("%s is a file: name a node's data directory", dir)
	}
	return nil
}

// inUse tells a directory in use from other errors.
func inUse(dir string, err error) error {
	if errors.Is(err, vfs.ErrLocked) {
		return cli.With(exitInterrupted, status.Errorf(status.Conflict, "a node runs on %s: stop it first", dir))
	}
	return err
}
