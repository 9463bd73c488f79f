package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"wirelab/cmd/internal/cli"
	"wirelab/hermes/broker"
	"wirelab/hermes/node"
	"wirelab/hermes/vfs"
	"wirelab/wire/status"
)

func newCheckCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "check DIR",
		Short: "Check the data directory of a node that does not run",
		Long: `Check reads a whole data directory and changes nothing. It checks

  - checksum and order of every frame of every segment
  - the index files, compared with the segments
  - each snapshot, compared with the state that the log gives
  - the list of members, compared with the log

While it runs, it holds the lock of the directory. Exit codes:

   0  The directory is whole. Unsynced data at the end, from a power cut or an
      interruption, is no damage; the next start removes it.
   1  The directory is damaged. Standard output says where and how, and what to
      do.
   3  A node uses the directory, or check was interrupted and says how far it
      got.`,
		Example: "  hermes check /var/lib/hermes\n  hermes check --json data",
		Args:    cli.Arguments(1, 1, "a data directory"),
	}
	asJSON := cli.JSONFlag(c)
	c.RunE = func(c *cobra.Command, args []string) error { return a.check(c.Context(), args[0], *asJSON) }
	return c
}

// checkShown is "check --json".
type checkShown struct {
	Directory string          `json:"directory"`
	Whole     bool            `json:"whole"`
	Complete  bool            `json:"complete"` // false: it was interrupted
	Cluster   string          `json:"cluster,omitempty"`
	Node      uint64          `json:"node,omitempty"`
	Bytes     int64           `json:"bytes"`
	Total     int64           `json:"bytes_total"`
	Segments  int             `json:"segments"`
	Sealed    int             `json:"segments_sealed"`
	Cleaned   int             `json:"segments_cleaned"`
	Frames    uint64          `json:"frames"`
	First     uint64          `json:"entry_first"`
	Last      uint64          `json:"entry_last"`
	Committed uint64          `json:"entry_committed"`
	Applied   uint64          `json:"entry_replayed"`
	Term      uint64          `json:"term"`
	Topics    int             `json:"topics"`
	Runs      uint64          `json:"runs"`
	Messages  uint64          `json:"messages"`
	Gone      uint64          `json:"messages_cleaned"`
	Snapshots int             `json:"snapshots_compared"`
	Leftovers int             `json:"leftover_files"`
	Tail      int64           `json:"unsynced_bytes"`
	Damages   []damageShown   `json:"damages"`
	Skipped   []string        `json:"skipped,omitempty"`
	Todo      string          `json:"todo,omitempty"`
	From      []memberAddress `json:"rebuild_from,omitempty"`
}

type damageShown struct {
	File   string `json:"file"`
	Offset int64  `json:"offset"`
	Kind   string `json:"kind"`
	Why    string `json:"why"`
}

type memberAddress struct {
	ID   uint64 `json:"id"`
	Name string `json:"name,omitempty"`
	Peer string `json:"peer,omitempty"`
}

// check reads a directory and tells what it found.
func (a *app) check(ctx context.Context, dir string, asJSON bool) error {
	reading := a.Doing("checking " + dir)
	defer reading.Done()
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return cli.Usage("%s is a file: name a node's data directory", dir)
	}
	found, err := node.Check(ctx, vfs.OS{}, dir, func(done, total int64) {
		reading.Far(bytesOf(done) + " of " + bytesOf(total))
	})
	switch {
	case errors.Is(err, vfs.ErrLocked):
		return cli.With(exitInterrupted,
			status.Errorf(status.Conflict, "a node runs on %s: stop it first, or check a copy",
				dir))
	case err != nil && ctx.Err() == nil:
		return err
	}
	shown := shownOf(dir, found, err == nil)
	if asJSON {
		if err := a.PrintJSON(shown); err != nil {
			return err
		}
	} else if err := a.showCheck(shown); err != nil {
		return err
	}
	switch {
	case !shown.Complete:
		return cli.With(exitInterrupted,
			status.Errorf(status.Canceled, "interrupted after %s of %s", bytesOf(shown.Bytes),
				bytesOf(shown.Total)))
	case !shown.Whole:
		return cli.With(exitFailed, nil)
	}
	return nil
}

// bytesOf is a number of bytes for people.
func bytesOf(n int64) string {
	for i := len(units) - 1; i >= 0; i-- {
		if u := units[i]; n >= 1<<u.shift {
			return strconv.FormatFloat(float64(n)/float64(int64(1)<<u.shift), 'f', 1, 64) + " " + u.name
		}
	}
	return strconv.FormatInt(n, 10) + " B"
}

func shownOf(dir string, c node.Checked, complete bool) checkShown {
	s := checkShown{
		Directory: dir, Whole: complete && len(c.Findings) == 0, Complete: complete, Cluster: c.Cluster, Node: c.Node,
		Bytes: c.Bytes, Total: c.Total, Segments: c.Segments, Sealed: c.Sealed, Cleaned: c.Cleaned, Frames: c.Frames,
		First: c.First, Last: c.Last, Committed: c.Commit, Applied: c.Applied, Term: c.Term, Topics: c.Topics,
		Runs: c.Runs, Messages: c.Messages, Gone: c.Gone, Snapshots: c.Snapshots, Leftovers: c.Leftovers, Tail: c.Tail,
		Damages: []damageShown{}, Skipped: c.Skipped,
	}
	for _, f := range c.Findings {
		s.Damages = append(s.Damages, damageShown{f.File, f.At, string(f.Kind), f.Why})
	}
	if len(c.Findings) > 0 {
		s.Todo = todo(c)
		for _, m := range c.Others {
			s.From = append(s.From, memberAddress{m.ID, m.Name, m.Peer})
		}
	}
	return s
}

// todo is what to do about damage.
func todo(c node.Checked) string {
	if len(c.Others) == 0 {
		return "The membership file names no other node to have the data from again: keep a copy of the " +
			"directory, and " +
			"restore a " +
			"backup into a new one (hermes restore)."
	}
	var from []string
	for _, m := range c.Others {
		from = append(from, fmt.Sprintf("%s at %s", nameOf(m), cmp.Or(m.Peer, "an address unknown")))
	}
	return fmt.Sprintf("Have node %d's data from %s again, once most of the other nodes are whole: remove node "+
		"%d from "+
		"the cluster, take the directory away, and let a node join in its place (hermes server --id N --join %s), "+
		"with a "+
		"number that was not used before.",
		c.Node, strings.Join(from, " or "), c.Node, cmp.Or(c.Others[0].Peer, "PEER"))
}

func nameOf(m broker.Member) string { return cmp.Or(m.Name, fmt.Sprintf("node %d", m.ID)) }

func (a *app) showCheck(s checkShown) error {
	verdict := "whole"
	switch {
	case len(s.Damages) > 0:
		verdict = "damaged"
	case !s.Complete:
		verdict = "whole as far as it was read"
	}
	if err := a.Printf("%s is %s\n", s.Directory, verdict); err != nil {
		return err
	}
	number := func(n uint64) string { return strconv.FormatUint(n, 10) }
	rows := [][]string{
		{"WHAT", "SEEN"},
		{"node", fmt.Sprintf("%d of cluster %s", s.Node, cmp.Or(s.Cluster, "unknown"))},
		{"read", bytesOf(s.Bytes) + " of " + bytesOf(s.Total)},
		{"segments", fmt.Sprintf("%d, %d sealed, %d of them cleaned", s.Segments, s.Sealed, s.Cleaned)},
		{"frames", number(s.Frames)},
		{"entries", fmt.Sprintf("%d to %d, %d committed, replayed to %d", s.First, s.Last, s.Committed, s.Applied)},
		{"term", number(s.Term)},
		{"topics", strconv.Itoa(s.Topics)},
		{"messages", fmt.Sprintf("%d in %d runs; %d cleaned away", s.Messages, s.Runs, s.Gone)},
		{"snapshots", fmt.Sprintf("%d as the entries make them", s.Snapshots)},
		{"leftovers", fmt.Sprintf("%d files, %d unsynced bytes: the next start removes them", s.Leftovers, s.Tail)},
	}
	if err := a.PrintTable(rows); err != nil || len(s.Damages) == 0 {
		return err
	}
	rows = [][]string{{"KIND", "FILE", "OFFSET", "WHY"}}
	for _, d := range s.Damages {
		rows = append(rows, []string{d.Kind, d.File, strconv.FormatInt(d.Offset, 10), d.Why})
	}
	if err := a.Printf("\n"); err != nil {
		return err
	}
	if err := a.PrintTable(rows); err != nil {
		return err
	}
	for _, file := range s.Skipped {
		if err := a.Printf("not checked, for damage before it: %s\n", file); err != nil {
			return err
		}
	}
	return a.Printf("%s\n", s.Todo)
}
