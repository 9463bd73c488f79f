package kept

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"wirelab/cmd/internal/cli"
	"wirelab/cmd/internal/desk"
	"wirelab/results/store"
	"wirelab/results/transfer"
)

func newPushCommand(a *commands) *cobra.Command {
	return a.newTransferCommand(&cobra.Command{
		Use:     "push [ID...]",
		Short:   "Copy results to another store, such as that of a team",
		Long:    "Push copies results from your store to another one.\n\n" + desk.HelpText("transfer"),
		Example: desk.HelpText("push.examples"),
	}, "to", "the store to copy to: postgres://… or a `file`")
}

func newPullCommand(a *commands) *cobra.Command {
	return a.newTransferCommand(&cobra.Command{
		Use:   "pull [ID...]",
		Short: "Copy results from another store into yours",
		Long:  "Pull copies results from another store into yours.\n\n" + desk.HelpText("transfer"),
		Example: `  wirelab results pull --from postgres://me@lab-db/results --workload ledger --since 168h
  wirelab results pull --from postgres://me@lab-db/results r-20261121-140512-7f3a`,
	}, "from", "the store to copy from: postgres://… or a `file`")
}

// transferFlags are the flags of push and pull.
type transferFlags struct {
	other string // the place of the other store
	all   bool
	json  bool
	list  listFlags
}

func (k *commands) newTransferCommand(c *cobra.Command, direction, about string) *cobra.Command {
	var t transferFlags
	c.Args = cli.Arguments(0, 1000, "at most 1000 ids")
	c.ValidArgsFunction = k.CompleteIDs
	flags := c.Flags()
	flags.StringVar(&t.other, direction, "", about+" (required)")
	flags.BoolVar(&t.all, "all", false, "all results")
	flags.BoolVar(&t.json, "json", false, "print JSON, for programs")
	t.list.register(flags)
	if err := c.MarkFlagRequired(direction); err != nil {
		panic(err) // the flag is defined above
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		f, err := t.list.filter(k.Now())
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
		own, err := k.StorePlace()
		if err != nil {
			return err
		}
		from, to := own, t.other
		if direction == "from" {
			from, to = to, from
		}
		return k.transfer(c.Context(), from, to, args, f, t.json)
	}
	return c
}

// transfer copies results from one store to another, and reports the outcome.
func (k *commands) transfer(ctx context.Context, from, to string, ids []string, f store.Filter, asJSON bool) error {
	done, stopped, err := transfer.Copy(ctx, from, to, ids, f, func() (far func(string), done func()) {
		copying := k.Doing("copying results")
		return copying.Far, copying.Done
	})
	if err != nil {
		return err
	}
	if asJSON {
		if err := k.PrintJSON(done); err != nil {
			return err
		}
	} else if err := k.printTransferred(done); err != nil {
		return err
	}
	switch {
	case done.Interrupted:
		return cli.With(desk.ExitNoWord,
			errors.New("interrupted; the copied results stay, and the same command continues from there"))
	case stopped != nil:
		return stopped
	case len(done.Failed) > 0:
		return cli.With(desk.ExitFailed, fmt.Errorf("%d of %d results are not copied", len(done.Failed), done.Selected))
	}
	return nil
}

func (k *commands) printTransferred(done *transfer.Done) error {
	for _, f := range done.Failed {
		k.Note("%s: %s", f.ID, f.Why)
	}
	if err := k.Printf("%d copied from %s to %s", len(done.Copied), done.From, done.To); err != nil {
		return err
	}
	if n := len(done.Present); n > 0 {
		if err := k.Printf(", %d there already", n); err != nil {
			return err
		}
	}
	if n := len(done.Failed); n > 0 {
		if err := k.Printf(", %d not copied", n); err != nil {
			return err
		}
	}
	return k.Printf("\n")
}
