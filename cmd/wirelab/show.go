package main

import (
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"wirelab"
	"wirelab/cmd/internal/cli"
	"wirelab/internal/wholefile"
	"wirelab/lab/result"
	"wirelab/results/report"
	"wirelab/results/report/forms"
	"wirelab/results/report/json"
	"wirelab/results/report/terminal"
)

// width is how many columns the terminal has; 0 if there is none or it does
// not tell. COLUMNS comes first, for those who want another.
func (a *app) width() int {
	if n, err := strconv.Atoi(a.Getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	f, ok := cli.FileOf(a.Stdout)
	if !ok {
		return 0
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Col)
}

// show writes a result's report for people.
func (a *app) show(r *result.Result) error {
	if r.SelfTest != nil { // its form is one table
		return terminal.Write(a.Stdout, r, a.style())
	}
	analysis := result.Analyse(r)
	return a.printResult(r, &analysis, nil, false)
}

func newShowCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:               "show [ID]",
		Short:             "Show a result; the latest without an id",
		Long:              helpText("show"),
		Example:           "  wirelab results show\n  wirelab results show r-20261121-14",
		Args:              cli.Arguments(0, 1, "at most one id"),
		ValidArgsFunction: a.completeIDs,
	}
	a.addRefusedFlag(c.Flags())
	asJSON := cli.JSONFlag(c)
	a.addFullFlag(c.Flags())
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
		if a.full && report.Factorial(r) {
			a.Note("which part of the differences is whose: wirelab explain %s", r.ID)
		}
		return nil
	}
	return c
}

func newExportCommand(a *app) *cobra.Command {
	var format, output string
	var names []string
	for _, f := range forms.Exports() {
		names = append(names, f.Name)
	}
	c := &cobra.Command{
		Use:   "export [ID]",
		Short: "Write a result in a form for other programs; the latest without an id",
		Long:  helpText("export"),
		Example: `  wirelab results export --format markdown
  wirelab results export r-20261121-140512-7f3a --format json -o result.json`,
		Args:              cli.Arguments(0, 1, "at most one id"),
		ValidArgsFunction: a.completeIDs,
	}
	c.Flags().StringVar(&format, "format", "json", "format: "+strings.Join(names, ", "))
	c.Flags().StringVarP(&output, "output", "o", "", "file to write; an existing file is replaced (default: standard output)")
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
