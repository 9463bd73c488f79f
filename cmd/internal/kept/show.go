package kept

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"wirelab"
	"wirelab/cmd/internal/cli"
	"wirelab/cmd/internal/desk"
	"wirelab/internal/wholefile"
	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/results/recheck"
	"wirelab/results/report"
	"wirelab/results/report/forms"
	"wirelab/results/report/json"
	"wirelab/results/report/terminal"
	"wirelab/results/report/verify"
)

// show prints a result's report.
func (k *commands) show(r *result.Result) error {
	if r.SelfTest != nil { // a self-test has only one table
		return terminal.Write(k.Stdout, r, k.Style())
	}
	analysis := analyse.Result(r)
	return k.PrintResult(r, &analysis, nil, false)
}

func newShowCommand(a *commands) *cobra.Command {
	c := &cobra.Command{
		Use:               "show [ID]",
		Short:             "Show a result; the latest without an id",
		Long:              desk.HelpText("show"),
		Example:           "  wirelab results show\n  wirelab results show r-20261121-14",
		Args:              cli.Arguments(0, 1, "at most one id"),
		ValidArgsFunction: a.CompleteIDs,
	}
	a.AddRefusedFlag(c.Flags())
	asJSON := cli.JSONFlag(c)
	a.AddFullFlag(c.Flags())
	c.RunE = func(c *cobra.Command, args []string) error {
		r, err := a.Result(c.Context(), args)
		if err != nil {
			return err
		}
		if *asJSON {
			return json.Write(a.Stdout, r)
		}
		if err := a.show(r); err != nil {
			return err
		}
		if a.Full && report.Factorial(r) {
			a.Note("which factor costs what: wirelab explain %s", r.ID)
		}
		return nil
	}
	return c
}

func newExportCommand(a *commands) *cobra.Command {
	var format, output string
	var names []string
	for _, f := range forms.Exports() {
		names = append(names, f.Name)
	}
	c := &cobra.Command{
		Use:   "export [ID]",
		Short: "Write a result in a form for other programs; the latest without an id",
		Long:  desk.HelpText("export"),
		Example: `  wirelab results export --format markdown
  wirelab results export r-20261121-140512-7f3a --format json -o result.json`,
		Args:              cli.Arguments(0, 1, "at most one id"),
		ValidArgsFunction: a.CompleteIDs,
	}
	c.Flags().StringVar(&format, "format", "json", "format: "+strings.Join(names, ", "))
	c.Flags().StringVarP(&output, "output", "o", "",
		"file to write; an existing file is replaced (default: standard output)")
	c.RunE = func(c *cobra.Command, args []string) error {
		for _, f := range forms.Exports() {
			if f.Name != format {
				continue
			}
			r, err := a.Result(c.Context(), args)
			if err != nil {
				return err
			}
			if output == "" {
				return f.Write(a.Stdout, r)
			}
			return wholefile.Write(output, func(w io.Writer) error { return f.Write(w, r) })
		}
		return wirelab.UnknownName("format", format, names)
	}
	return c
}

func newVerifyCommand(a *commands) *cobra.Command {
	c := &cobra.Command{
		Use:               "verify RESULT...",
		Short:             "Check whether a result was edited: compute all of it again",
		Long:              desk.HelpText("verify"),
		Example:           desk.HelpText("verify.examples"),
		Args:              cli.Arguments(1, 1000, "ids or files"),
		ValidArgsFunction: a.CompleteIDs,
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
			return cli.With(desk.ExitFailed, nil)
		}
		return nil
	}
	return c
}
