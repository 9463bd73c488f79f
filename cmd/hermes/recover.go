package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"wirelab/cmd/internal/cli"
	"wirelab/hermes/node"
	"wirelab/hermes/vfs"
	"wirelab/internal/input"
	"wirelab/wire/status"
)

const recoverText = `Recover makes a new cluster of one node from the data directory of a node that does
not run. It is for when a majority of the nodes is lost for ever: then no leader can be
elected, and the nodes that are left only wait. Use the directory of the node that has
the most entries (hermes check says so). While a majority is left, do not use it: remove
the lost node (hermes cluster remove), and let a new one join.

All topics, messages, offsets, groups and producers stay as they are. What other nodes
acknowledged without this one is lost. Entries at the end of the log that this node does
not know to be committed are kept, because some of them may have been acknowledged.

Before it changes anything, the command prints what may be missing, and asks. In a script,
give --yes. An interruption leaves either the old state, or one that the next start
completes.

Afterwards start the node with hermes server as before, and let new nodes join with
hermes server --join. Nodes of the old cluster are refused: take their directories away
first. Do not start a majority of them either: they would continue as the old cluster.

Exit codes:

   0  The directory is a new cluster's.
   1  The directory is damaged, or could not be written.
   3  A node uses the directory, or the answer was no. Nothing was changed.
  64  There is nothing to recover, or there is no terminal to ask at and no --yes.`

const recoverExample = `  hermes recover /var/lib/hermes
  hermes recover data --yes --json`

func newRecoverCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "recover DIR", Short: "Make a new cluster of one surviving data directory",
		Long: recoverText, Example: recoverExample, Args: cli.Arguments(1, 1, "a data directory"),
	}
	yes := c.Flags().Bool("yes", false, "do not ask")
	asJSON := cli.JSONFlag(c)
	c.RunE = func(c *cobra.Command, args []string) error { return a.recover(c.Context(), args[0], *yes, *asJSON) }
	return c
}

// recoverShown is "recover --json".
type recoverShown struct {
	Directory   string          `json:"directory"`
	Cluster     string          `json:"cluster"`
	Lineage     uint64          `json:"lineage"` // of the new cluster
	Node        uint64          `json:"node"`
	Term        uint64          `json:"term"`
	Committed   uint64          `json:"entry_committed"` // the last one known to be
	Last        uint64          `json:"entry_last"`
	Uncommitted uint64          `json:"entries_uncommitted"` // behind the last one known to be committed; they are kept
	Newest      time.Time       `json:"newest"`              // the stamp of the newest entry
	Topics      int             `json:"topics"`
	Messages    uint64          `json:"messages"`
	Former      []memberAddress `json:"former_members"`
}

func (a *app) recover(ctx context.Context, dir string, yes, asJSON bool) error {
	if err := isDirectory(dir); err != nil {
		return err
	}
	reading := a.Doing("recovering " + dir)
	defer reading.Done()
	done, err := node.Recover(ctx, vfs.OS{}, dir, func(s node.Survey) error {
		for _, line := range toldOf(dir, s) {
			a.Note("%s", line)
		}
		if yes {
			return ctx.Err()
		}
		return a.agreed(ctx)
	})
	switch {
	case err != nil && ctx.Err() != nil:
		return cli.With(exitInterrupted, status.Errorf(status.Canceled, "interrupted: %s is as it was", dir))
	case err != nil:
		return inUse(dir, err)
	}
	if !asJSON {
		return a.Printf("%s is a new cluster of one node, %d, with %d messages of %d topics at their offsets; "+
			"start it "+
			"with hermes server, and let others join\n",
			dir, done.Node, done.Messages, done.Topics)
	}
	shown := recoverShown{
		Directory: dir, Cluster: done.Cluster, Lineage: done.Lineage, Node: done.Node, Term: done.Term,
		Committed: done.Committed,
		Last:      done.Last, Uncommitted: done.Last - done.Committed, Newest: time.Unix(0, done.Time).UTC(),
		Topics: done.Topics, Messages: done.Messages, Former: []memberAddress{},
	}
	for _, m := range done.Others {
		shown.Former = append(shown.Former, memberAddress{m.ID, m.Name, m.Peer})
	}
	return a.PrintJSON(shown)
}

// toldOf says what a directory has, and what may be missing.
func toldOf(dir string, s node.Survey) []string {
	var former []string
	for _, m := range s.Others {
		former = append(former, nameOf(m))
	}
	lines := []string{fmt.Sprintf("%s is of node %d of cluster %s, with %d messages of %d topics; its newest entry is "+
		"of %s, in term %d",
		dir, s.Node, s.Cluster, s.Messages, s.Topics, time.Unix(0, s.Time).UTC().Format(time.RFC3339), s.Term)}
	if s.Last > s.Committed {
		lines = append(lines, fmt.Sprintf("known to be committed are the entries to %d; %s are kept too: some of "+
			"them may "+
			"have been acknowledged",
			s.Committed, entriesBehind(s)))
	} else {
		lines = append(lines, fmt.Sprintf("all its entries, to %d, are known to be committed", s.Last))
	}
	return append(lines, fmt.Sprintf("what %s acknowledged after that without node %d is not here, and will be lost; "+
		"their directories cannot be used in the new cluster",
		strings.Join(former, " and "), s.Node))
}

// agreed asks the user at the terminal.
func (a *app) agreed(ctx context.Context) error {
	f, ok := a.Stdin.(*os.File)
	if !ok || !isatty.IsTerminal(f.Fd()) {
		return cli.Usage("nothing was changed, for there is no terminal to ask at: run it at a terminal, or give --yes")
	}
	defer a.Doing("").Done() // nothing is drawn into the typed text
	if _, err := fmt.Fprint(a.Stderr, "Make a new cluster of it? Type yes: "); err != nil {
		return err
	}
	from, release, err := input.Ending(ctx, f)
	if err != nil {
		return err
	}
	defer release()
	said := bufio.NewScanner(from) // a line that is too long is no yes
	said.Scan()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case strings.TrimSpace(said.Text()) == "yes":
		return nil
	}
	return cli.With(exitInterrupted, status.Errorf(status.Canceled, "the answer was not yes: nothing was changed"))
}
