package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"wirelab"
	"wirelab/cmd/internal/cli"
	"wirelab/internal/fault"
	"wirelab/results/measure"
	"wirelab/results/store"
)

func newPushCommand(a *app) *cobra.Command {
	return a.newTransferCommand(&cobra.Command{
		Use:   "push [ID...]",
		Short: "Copy results to another store, such as that of a team",
		Long:  "Push copies results from your store to another one.\n\n" + transferText,
		Example: `  wirelab results push --to postgres://me@lab-db/results --all
  wirelab results push --to postgres://me@lab-db/results --since 24h --name quick
  wirelab results push --to backup.db r-20261121-140512-7f3a`,
	}, "to", "the store to copy to: postgres://… or a `file`")
}

func newPullCommand(a *app) *cobra.Command {
	return a.newTransferCommand(&cobra.Command{
		Use:   "pull [ID...]",
		Short: "Copy results from another store into yours",
		Long:  "Pull copies results from another store into yours.\n\n" + transferText,
		Example: `  wirelab results pull --from postgres://me@lab-db/results --workload ledger --since 168h
  wirelab results pull --from postgres://me@lab-db/results r-20261121-140512-7f3a`,
	}, "from", "the store to copy from: postgres://… or a `file`")
}

const transferText = `Your store is that of --results, else of $WIRELAB_STORE. Name the results
("latest" is one), or give --all or filters. The latest is copied first.

A result that is already there is not changed. So after an interruption, run the
command again; it continues. If another result has the same id, neither is
changed, and the exit code is 1. Keep a password in ~/.pgpass or PGPASSWORD
rather than on the command line, which others can read.

Exit code 0: all results are there now; 1: some are not; 3: interrupted.`

// transfer is what push and pull are told.
type transfer struct {
	other string // the place of the other store
	all   bool
	json  bool
	list  listFlags
}

func (a *app) newTransferCommand(c *cobra.Command, direction, about string) *cobra.Command {
	var t transfer
	c.Args = cli.Arguments(0, 1000, "at most 1000 ids")
	c.ValidArgsFunction = a.completeIDs
	flags := c.Flags()
	flags.StringVar(&t.other, direction, "", about+" (required)")
	flags.BoolVar(&t.all, "all", false, "all results")
	flags.BoolVar(&t.json, "json", false, "print JSON, for programs")
	t.list.register(flags)
	if err := c.MarkFlagRequired(direction); err != nil {
		panic(err) // the flag is defined above
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		f, err := t.list.filter(a.Now())
		if err != nil {
			return err
		}
		filtered := f != (store.Filter{})
		switch {
		case len(args) > 0 && (t.all || filtered):
			return cli.Usage("name ids, or say --all or filters, not both")
		case t.all && filtered:
			return cli.Usage("--all is all; leave the filters out")
		case len(args) == 0 && !t.all && !filtered:
			return cli.Usage("which results? name ids, or say --all, or filters such as --since 24h")
		}
		own, err := a.StorePlace()
		if err != nil {
			return err
		}
		from, to := own, t.other
		if direction == "from" {
			from, to = to, from
		}
		return a.transfer(c.Context(), from, to, args, f, t.json)
	}
	return c
}

// transferred is the outcome of a push or pull, as JSON.
type transferred struct {
	From string `json:"from"`
	To   string `json:"to"`
	// Selected is how many results there were to copy.
	Selected int `json:"selected"`
	// Copied are the ids of those that were; Present of those that were there.
	Copied  []string `json:"copied"`
	Present []string `json:"present"`
	// Failed are those that could not be, and why; conflicts among them.
	Failed      []notCopied `json:"failed"`
	Interrupted bool        `json:"interrupted"`
}

type notCopied struct {
	ID       string `json:"id"`
	Conflict bool   `json:"conflict"`
	Why      string `json:"why"`
}

// transfer copies from one place to another, and says how it went.
func (a *app) transfer(ctx context.Context, from, to string, ids []string, f store.Filter, asJSON bool) (err error) {
	if from == to {
		return cli.Usage("%s is the own store, too: give --results or $WIRELAB_STORE another one", measure.ShownPlace(to))
	}
	if !measure.IsDatabase(from) {
		// Opening would make one, and find nothing in it.
		if _, err := os.Stat(from); err != nil {
			return fault.Read("no store to copy from", from, err)
		}
	}
	source, err := measure.OpenStoreAt(ctx, from)
	if err != nil {
		return err
	}
	defer func() { err = cli.Both(err, source.Close()) }()
	target, err := measure.OpenStoreAt(ctx, to)
	if err != nil {
		return err
	}
	defer func() { err = cli.Both(err, target.Close()) }()
	done := &transferred{
		From: measure.ShownPlace(from), To: measure.ShownPlace(to), Selected: len(ids), Copied: []string{}, Present: []string{}, Failed: []notCopied{},
	}
	stopped := a.copyAll(ctx, source, target, ids, f, done)
	done.Interrupted = ctx.Err() != nil
	if asJSON {
		if err := a.PrintJSON(done); err != nil {
			return err
		}
	} else if err := a.printTransferred(done); err != nil {
		return err
	}
	switch {
	case done.Interrupted:
		return cli.With(exitNoWord, errors.New("interrupted; what was copied stays, and the same command goes on from there"))
	case stopped != nil:
		return stopped
	case len(done.Failed) > 0:
		return cli.With(exitFailed, fmt.Errorf("%d of %d results are not copied", len(done.Failed), done.Selected))
	}
	return nil
}

// copyAll copies ids, or what a filter selects. An error means that the rest
// cannot be copied either.
func (a *app) copyAll(ctx context.Context, from, to store.Store, ids []string, f store.Filter, done *transferred) error {
	copying := a.Doing("copying results")
	defer copying.Done()
	each := func(id string) error {
		whole, copied, err := store.Copy(ctx, from, to, id)
		switch {
		case err == nil && copied:
			done.Copied = append(done.Copied, whole)
		case err == nil:
			done.Present = append(done.Present, whole)
		case ctx.Err() != nil || !ofOneResult(err):
			return err
		default:
			done.Failed = append(done.Failed, notCopied{whole, wirelab.CodeOf(err) == wirelab.Conflict, describe(err)})
		}
		copying.Far(fmt.Sprintf("%d of %d", len(done.Copied)+len(done.Present)+len(done.Failed), done.Selected))
		return nil
	}
	if len(ids) > 0 {
		for _, name := range ids {
			id, err := measure.Latest(ctx, from, name)
			if err == nil {
				err = each(id)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	total, err := from.Total(ctx, f)
	if err != nil {
		return err
	}
	most := total.Results
	if f.Limit > 0 {
		most = min(most, f.Limit)
	}
	done.Selected = most
	for f.Limit = min(most, transferPage); f.Limit > 0; f.Limit = min(most, transferPage) {
		list, err := from.List(ctx, f)
		if err != nil || len(list) == 0 {
			return err
		}
		for _, m := range list {
			if err := each(m.ID); err != nil {
				return err
			}
		}
		most -= len(list)
		f.After = list[len(list)-1].Cursor()
	}
	return nil
}

// transferPage is how many results are listed at once.
const transferPage = 500

// ofOneResult reports whether an error is of one result alone, so that the
// others may well be copied. A store that is full or away takes none of them.
func ofOneResult(err error) bool {
	switch wirelab.CodeOf(err) {
	case wirelab.Conflict, wirelab.NotFound, wirelab.InvalidArgument, wirelab.Internal, wirelab.Unimplemented:
		return true
	}
	return false
}

func (a *app) printTransferred(done *transferred) error {
	for _, f := range done.Failed {
		a.Note("%s: %s", f.ID, f.Why)
	}
	if err := a.Printf("%d copied from %s to %s", len(done.Copied), done.From, done.To); err != nil {
		return err
	}
	if n := len(done.Present); n > 0 {
		if err := a.Printf(", %d there already", n); err != nil {
			return err
		}
	}
	if n := len(done.Failed); n > 0 {
		if err := a.Printf(", %d not copied", n); err != nil {
			return err
		}
	}
	return a.Printf("\n")
}
