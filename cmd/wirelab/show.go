package main

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"wirelab"
	"wirelab/cmd/internal/cli"
	"wirelab/internal/fault"
	"wirelab/lab/result"
	"wirelab/results/report"
	"wirelab/results/report/benchfmt"
	"wirelab/results/report/csv"
	"wirelab/results/report/json"
	"wirelab/results/report/markdown"
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

// exportFormat is a form that a result is exported in.
type exportFormat struct {
	name  string
	write func(io.Writer, *result.Result) error
}

// exportFormats are the forms, in the order of the help.
func exportFormats() []exportFormat {
	return []exportFormat{
		{"json", json.Write},
		{"csv", csv.Write},
		{"markdown", markdown.Write},
		{"benchstat", benchfmt.Write},
	}
}

func newExportCommand(a *app) *cobra.Command {
	var format, output string
	var names []string
	for _, f := range exportFormats() {
		names = append(names, f.name)
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
		for _, f := range exportFormats() {
			if f.name != format {
				continue
			}
			r, err := a.Result(c.Context(), args)
			if err != nil {
				return err
			}
			if output == "" {
				return f.write(a.Stdout, r)
			}
			return writeWhole(output, func(w io.Writer) error { return f.write(w, r) })
		}
		return wirelab.UnknownName("format", format, names)
	}
	return c
}

// writeWhole writes a file so that a reader sees the old one or all of the new one.
func writeWhole(name string, write func(io.Writer) error) error {
	info, err := os.Stat(name)
	if err == nil && info.IsDir() {
		return fault.Write(name, syscall.EISDIR)
	}
	// A device or a pipe is written to, and not replaced by a file.
	if err == nil && !info.Mode().IsRegular() {
		var text bytes.Buffer
		if err := write(&text); err != nil {
			return err
		}
		if err := os.WriteFile(name, text.Bytes(), 0o644); err != nil {
			return fault.Write(name, err)
		}
		return nil
	}
	temporary, err := os.CreateTemp(filepath.Dir(name), ".wirelab-*")
	if err != nil {
		return fault.Write(name, err)
	}
	// Not by way of memory: a report may be larger than the result that it is of.
	out := bufio.NewWriterSize(temporary, 256<<10)
	made := write(out)
	err = cli.Both(out.Flush(), cli.Both(temporary.Chmod(0o644), temporary.Close()))
	if made == nil && err == nil {
		err = os.Rename(temporary.Name(), name)
	}
	switch {
	case err != nil: // what could not be made may be so because of it
		return cli.Both(fault.Write(name, err), os.Remove(temporary.Name()))
	case made != nil:
		return cli.Both(made, os.Remove(temporary.Name()))
	}
	return nil
}
