// Package gate checks a result against thresholds, and writes the outcome to files that CI systems read. It knows
// thresholds and the formats of reports. It must not know where a result comes from.
package gate

import (
	"bytes"
	"io"
	"os"

	"wirelab"
	"wirelab/internal/fault"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/threshold"
	"wirelab/results/report/junit"
	"wirelab/results/report/markdown"
)

// Files are the files to check a result with, and those to write.
type Files struct {
	Markdown, Junit string // names of files; "-" is standard output
	thresholds      []threshold.Threshold
}

// Prepare reads the thresholds and checks that they fit the plan, before anything runs.
func (g *Files) Prepare(p plan.Plan, failIf []string, asJSON bool) error {
	onOutput := 0
	for _, taken := range []bool{asJSON, g.Markdown == "-", g.Junit == "-"} {
		if taken {
			onOutput++
		}
	}
	switch {
	case onOutput > 1:
		return wirelab.Errorf(wirelab.InvalidArgument,
			"only one of --json, --markdown - and --junit - can have standard output")
	case g.Junit != "" && len(failIf) == 0:
		return wirelab.Errorf(wirelab.InvalidArgument, "--junit tells how thresholds stand; give one with --fail-if")
	}
	g.thresholds = nil
	for _, text := range failIf {
		t, err := threshold.ParseThreshold(text)
		if err != nil {
			return err
		}
		if err := t.Check(p); err != nil {
			return err
		}
		g.thresholds = append(g.thresholds, t)
	}
	return nil
}

// Judge compares a result with the thresholds. It returns nil without thresholds.
func (g *Files) Judge(r *result.Result, a *claim.Analysis) *threshold.Judgement {
	if len(g.thresholds) == 0 {
		return nil
	}
	j := threshold.Judge(r, a, g.thresholds)
	return &j
}

// OwnsOutput reports whether the gate writes to standard output, so that nothing else may be written there.
func (g *Files) OwnsOutput() bool { return g.Markdown == "-" || g.Junit == "-" }

// Write writes the files that were asked for.
func (g *Files) Write(stdout io.Writer, r *result.Result, analysis *claim.Analysis, j *threshold.Judgement) error {
	for _, file := range []struct {
		name  string
		write func(io.Writer) error
	}{
		{g.Markdown, func(w io.Writer) error { return markdown.WriteComment(w, r, analysis, j) }},
		{g.Junit, func(w io.Writer) error { return junit.Write(w, r, j) }},
	} {
		var err error
		switch file.name {
		case "":
		case "-":
			err = file.write(stdout)
		default:
			err = overwrite(file.name, file.write)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// overwrite writes a file as a shell's redirection does. It does not replace the file, which may be a device, or a
// file that a CI system made and holds open.
func overwrite(name string, write func(io.Writer) error) error {
	var text bytes.Buffer
	if err := write(&text); err != nil {
		return err
	}
	if err := os.WriteFile(name, text.Bytes(), 0o644); err != nil {
		return fault.Write(name, err)
	}
	return nil
}
