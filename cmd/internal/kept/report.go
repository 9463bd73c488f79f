package kept

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
	"wirelab/cmd/internal/desk"
	"wirelab/internal/wholefile"
	"wirelab/lab/result"
	"wirelab/results/outages"
	"wirelab/results/report/forms"
	"wirelab/results/report/jmh"
)

func newReportCommand(a *commands) *cobra.Command {
	var format, output string
	var open bool
	var names, chaosFiles []string
	for _, f := range forms.Reports() {
		names = append(names, f.Name)
	}
	c := &cobra.Command{
		Use:               "report RESULT...",
		Short:             "Write the report of a result as a page to open, share and print",
		Long:              desk.HelpText("report"),
		Example:           desk.HelpText("report.examples"),
		Args:              cli.Arguments(1, 1000, "ids or files of results"),
		ValidArgsFunction: a.CompleteIDs,
	}
	c.Flags().StringVar(&format, "format", "html", "format: "+strings.Join(names, ", "))
	c.Flags().StringVarP(&output, "output", "o", "",
		`file to write; an existing file is replaced; "-" is standard output`)
	c.Flags().BoolVar(&open, "open", false, "open the page in a browser")
	addChaosFiles(c, &chaosFiles)
	a.AddRefusedFlag(c.Flags())
	c.RunE = func(c *cobra.Command, args []string) error {
		i := slices.Index(names, format)
		if i < 0 {
			return wirelab.UnknownName("format", format, names)
		}
		if open && (format != "html" || output == "-") {
			return cli.Usage("--open shows a page that is in a file: it needs --format html, and no -o -")
		}
		outages, err := outages.Read(c.Context(), a.ReadFile, chaosFiles)
		if err != nil {
			return err
		}
		form, err := forms.WithOutages(forms.Reports()[i], outages, len(args))
		if err != nil {
			return err
		}
		if a.Refused {
			var can bool
			if form, can = forms.WithRefused(form, outages); !can {
				return a.CannotMark(form.Name, "html, markdown, csv and json have one")
			}
		}
		return a.report(c.Context(), args, form, output, open)
	}
	return c
}

// report writes the reports of results. It reads all results before it writes any report, so that a wrong name leaves
// nothing half done.
func (k *commands) report(ctx context.Context, names []string, f forms.Report, output string, open bool) error {
	results := make([]*result.Result, len(names))
	for i, name := range names {
		var err error
		if results[i], err = k.Find(ctx, name); err != nil {
			return err
		}
	}
	folder := strings.HasSuffix(output, "/") || wholefile.IsFolder(output)
	if len(results) > 1 && !folder && (output != "" || f.Name != "html") {
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
			name = filepath.Join(output, wholefile.Name(r.ID)+f.Ending)
		case output == "" && f.Name == "html":
			name = wholefile.Name(r.ID) + f.Ending
		case output == "":
			name = "-"
		}
		writing := k.Doing("writing the report of " + r.ID)
		if err := k.reportOne(r, f, name); err != nil {
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

// reportOne writes one report and prints its place.
func (k *commands) reportOne(r *result.Result, f forms.Report, name string) error {
	if f.Name == "jmh" {
		for _, line := range jmh.Refused(r) {
			k.Note("%s", line)
		}
	}
	if name == "-" {
		return f.Write(k.Stdout, r)
	}
	if err := wholefile.Write(name, func(w io.Writer) error { return f.Write(w, r) }); err != nil {
		return err
	}
	k.Note("%s: the report of %s", name, r.ID)
	return nil
}

// show opens a file with the desktop's program for pages.
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
