package main

import (
	"github.com/spf13/cobra"

	"wirelab/cmd/internal/cli"
	"wirelab/results/recheck"
	"wirelab/results/report/verify"
)

func newVerifyCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "verify RESULT...",
		Short: "Check whether a result was edited: compute all of it again",
		Long: `Verify computes every estimate, interval, p-value, verdict, sentence and table of a
result again from its raw data (all counts and histograms). It also checks the
digest of the raw data, whether counts and histograms fit together, and whether
the slices ran in the order that the seed gives. If something differs, it prints
what is there and what should be there.

RESULT is an id, "latest", or a file that "results export" or --json wrote. The
store has only raw data and its digest; everything else is computed each time. A
file of an earlier wirelab may lack parts; verify says what it could not check.

Verify proves that the printed numbers follow from the data. It does not prove that
the data was measured; for that, see wirelab replay.

Exit code 0: everything that could be checked holds; 1: something does not.`,
		Example: `  wirelab verify latest
  wirelab verify ./result.json
  wirelab verify r-20261121-140512-7f3a ./theirs.json --json`,
		Args:              cli.Arguments(1, 1000, "ids or files"),
		ValidArgsFunction: a.completeIDs,
	}
	asJSON := cli.JSONFlag(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		all := make([]*verify.Verification, 0, len(args))
		holds := true
		for _, name := range args {
			v, err := recheck.Verify(c.Context(), &a.Measurer, name)
			if err != nil {
				return err
			}
			all = append(all, v)
			holds = holds && v.Holds()
			if *asJSON {
				continue
			}
			if err := a.Printf("%s", recheck.Text(name, v)); err != nil {
				return err
			}
		}
		if *asJSON {
			if err := a.PrintJSON(all); err != nil {
				return err
			}
		}
		if !holds {
			return cli.With(exitFailed, nil)
		}
		return nil
	}
	return c
}
