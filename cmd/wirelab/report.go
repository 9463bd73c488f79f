package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"wirelab"
	"wirelab/cmd/internal/cli"
	"wirelab/lab/result"
	"wirelab/results/report/html"
	"wirelab/results/report/jmh"
	"wirelab/results/report/markdown"
)

// reportFormats are the forms that "wirelab report" writes, in the order of its
// help, with the ending of a file of each.
func reportFormats() []reportFormat {
	return []reportFormat{
		{"html", ".html", html.Write},
		{"markdown", ".md", exporter("markdown")},
		{"csv", ".csv", exporter("csv")},
		{"json", ".json", exporter("json")},
		{"benchstat", ".txt", exporter("benchstat")},
		{"jmh", ".jmh.json", jmh.Write},
		{"svg", ".svg", html.WritePicture},
	}
}

// reportFormat is a form with its name and the ending of its files.
type reportFormat struct {
	name, ending string
	write        func(io.Writer, *result.Result) error
}

// exporter is how "results export" writes a form.
func exporter(name string) func(io.Writer, *result.Result) error {
	all := exportFormats()
	return all[slices.IndexFunc(all, func(f exportFormat) bool { return f.name == name })].write
}

func newReportCommand(a *app) *cobra.Command {
	var format, output string
	var open bool
	var names, chaosFiles []string
	for _, f := range reportFormats() {
		names = append(names, f.name)
	}
	c := &cobra.Command{
		Use:               "report RESULT...",
		Short:             "Write the report of a result as a page to open, share and print",
		Long:              helpText("report"),
		Example:           helpText("report.examples"),
		Args:              cli.Arguments(1, 1000, "ids or files of results"),
		ValidArgsFunction: a.completeIDs,
	}
	c.Flags().StringVar(&format, "format", "html", "format: "+strings.Join(names, ", "))
	c.Flags().StringVarP(&output, "output", "o", "", `file to write; an existing file is replaced; "-" is standard output`)
	c.Flags().BoolVar(&open, "open", false, "open the page in a browser")
	addChaosFiles(c, &chaosFiles)
	a.addRefusedFlag(c.Flags())
	c.RunE = func(c *cobra.Command, args []string) error {
		i := slices.Index(names, format)
		if i < 0 {
			return wirelab.UnknownName("format", format, names)
		}
		if open && (format != "html" || output == "-") {
			return cli.Usage("--open shows a page that is in a file: it needs --format html, and no -o -")
		}
		form, err := a.withChaos(c.Context(), reportFormats()[i], chaosFiles, len(args))
		if err == nil && a.refused {
			form, err = a.withRefused(c.Context(), form, chaosFiles)
		}
		if err != nil {
			return err
		}
		return a.report(c.Context(), args, form, output, open)
	}
	return c
}

// withRefused lets a form of "wirelab report" begin with the values that checks refused.
func (a *app) withRefused(ctx context.Context, f reportFormat, chaosFiles []string) (reportFormat, error) {
	outages, err := a.readOutages(ctx, chaosFiles)
	if err != nil {
		return f, err
	}
	switch f.name {
	case "html":
		f.write = func(w io.Writer, r *result.Result) error { return html.WriteRefused(w, r, outages) }
	case "markdown":
		f.write = func(w io.Writer, r *result.Result) error { return markdown.WriteRefused(w, r, outages) }
	case formatJSON, formatCSV: // always, in a member and a column of their own
	default:
		return f, a.cannotMark(f.name, "html, markdown, csv and json have one")
	}
	return f, nil
}

// report writes the reports of results. All are read before any is written, so
// that a name that is wrong leaves nothing half done.
func (a *app) report(ctx context.Context, names []string, f reportFormat, output string, open bool) error {
	results := make([]*result.Result, len(names))
	for i, name := range names {
		var err error
		if results[i], err = a.Find(ctx, name); err != nil {
			return err
		}
	}
	folder := strings.HasSuffix(output, "/") || isFolder(output)
	if len(results) > 1 && !folder && (output != "" || f.name != "html") {
		return cli.Usage("-o must be a folder for %d results, such as -o site/", len(results))
	}
	if folder {
		if err := os.MkdirAll(output, 0o755); err != nil {
			return cli.Usage("-o: %v", err)
		}
	}
	for _, r := range results {
		name := output
		switch {
		case folder:
			name = filepath.Join(output, fileName(r.ID)+f.ending)
		case output == "" && f.name == "html":
			name = fileName(r.ID) + f.ending
		case output == "":
			name = "-"
		}
		writing := a.Doing("writing the report of " + r.ID)
		if err := a.reportOne(r, f, name); err != nil {
			return err
		}
		writing.Done()
		if open {
			if err := show(ctx, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// reportOne writes one report and says where.
func (a *app) reportOne(r *result.Result, f reportFormat, name string) error {
	if f.name == "jmh" {
		for _, line := range jmh.Refused(r) {
			a.Note("%s", line)
		}
	}
	if name == "-" {
		return f.write(a.Stdout, r)
	}
	if err := writeWhole(name, func(w io.Writer) error { return f.write(w, r) }); err != nil {
		return err
	}
	a.Note("%s: the report of %s", name, r.ID)
	return nil
}

// fileName makes an id, which may come from a file that somebody wrote, one
// word without a path.
func fileName(id string) string {
	name := strings.Trim(strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' {
			return c
		}
		return '-'
	}, id), "-")
	if name == "" {
		return "report"
	}
	return name
}

func isFolder(name string) bool {
	info, err := os.Stat(name)
	return name != "" && err == nil && info.IsDir()
}

// show opens a file in whatever the desktop opens pages with.
func show(ctx context.Context, name string) error {
	opener := "xdg-open"
	if runtime.GOOS == "darwin" {
		opener = "open"
	}
	path, err := exec.LookPath(opener)
	if err != nil {
		return fmt.Errorf("--open: there is no %s here; open %s in a browser yourself", opener, name)
	}
	if out, err := exec.CommandContext(ctx, path, name).CombinedOutput(); err != nil {
		return errors.New("--open: " + opener + ": " + strings.TrimSpace(err.Error()+" "+string(out)))
	}
	return nil
}
