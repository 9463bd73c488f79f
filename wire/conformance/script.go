package conformance

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wirelab"
)

// update makes the reference write what scripts expect. It is a flag of the
// tests that link this package; read the difference before committing it.
var update = flag.Bool("update", false, "write the scripts' expected replies from the reference")

// scriptSeparator stands between a script's request and its reply.
const scriptSeparator = "----"

// step is one call of a script.
type step struct {
	comment   []string // lines before it, "#" or blank, kept by an update
	line      int
	operation string
	request   string // JSON, may span lines
	want      []string
}

// parseScript reads steps of the form
//
//	# why this matters
//	Operation {"JSON": "request"}
//	----
//	reply item, one a line, or: error code: message
//
// each ended by a blank line.
func parseScript(text string) ([]step, error) {
	var steps []step
	var comment []string
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for at := 0; at < len(lines); at++ {
		if lines[at] == "" || strings.HasPrefix(lines[at], "#") {
			comment = append(comment, lines[at])
			continue
		}
		s := step{comment: comment, line: at + 1}
		comment = nil
		end := slices.Index(lines[at:], scriptSeparator)
		if end < 0 {
			return nil, fmt.Errorf("line %d: no %s after the request", at+1, scriptSeparator)
		}
		s.operation, s.request, _ = strings.Cut(strings.Join(lines[at:at+end], "\n"), " ")
		for at += end + 1; at < len(lines) && lines[at] != ""; at++ {
			s.want = append(s.want, lines[at])
		}
		at-- // the blank line belongs to the next step's comment
		steps = append(steps, s)
	}
	return steps, nil
}

// script is a parsed file.
type script struct {
	path  string
	steps []step
}

func readScripts(folder string) ([]script, error) {
	if folder == "" {
		return nil, nil
	}
	paths, err := filepath.Glob(filepath.Join(folder, "*.txt"))
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("no script in %s", folder)
	}
	var all []script
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		steps, err := parseScript(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, script{path, steps})
	}
	return all, nil
}

// lines is a reply as a script shows it.
func (a answer) lines() []string {
	if a.err != nil {
		return []string{a.String()}
	}
	return a.items
}

// stepExchange makes the exchange of a step.
func stepExchange[S any](w wirelab.Workload[S], s step) (wirelab.Exchange[S], error) {
	o, err := operation(w, s.operation)
	if err != nil {
		return wirelab.Exchange[S]{}, err
	}
	return o.Parse([]byte(s.request))
}

// referenceScripts runs the scripts against the reference, or with -update
// writes them from it.
func referenceScripts[S any](t *testing.T, w wirelab.Workload[S], suite Suite[S]) {
	t.Helper()
	all, err := readScripts(suite.Scripts)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range all {
		service := w.New()
		var b strings.Builder
		for _, s := range file.steps {
			e, err := stepExchange(w, s)
			if err != nil {
				t.Fatalf("%s:%d: %v", file.path, s.line, err)
			}
			got := ask(t.Context(), e, service).lines()
			if !*update && !slices.Equal(got, s.want) {
				t.Errorf("%s:%d: %s answers\n%s\nwant\n%s", file.path, s.line, s.operation,
					strings.Join(got, "\n"), strings.Join(s.want, "\n"))
			}
			for _, line := range s.comment {
				fmt.Fprintln(&b, line)
			}
			fmt.Fprintf(&b, "%s %s\n%s\n", s.operation, s.request, scriptSeparator)
			for _, line := range got {
				fmt.Fprintln(&b, line)
			}
		}
		if *update {
			if err := os.WriteFile(file.path, []byte(b.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// scripts runs the scripts against the cell. A hole's steps are left out on
// both sides: what follows is compared with a reference that did not see them.
func (c *cell[S]) scripts(r reporter) {
	all, err := readScripts(c.suite.Scripts)
	if err != nil {
		r.Errorf("scripts: %v", err)
		return
	}
	for _, file := range all {
		c.script(r, file)
	}
}

func (c *cell[S]) script(r reporter, file script) {
	g := c.raise(r, c.workload.New(), setup{})
	if g == nil {
		return
	}
	defer g.lower(r)
	oracle := c.workload.New()
	for _, s := range file.steps {
		if c.hole(s.operation) {
			continue
		}
		e, err := stepExchange(c.workload, s)
		if err != nil {
			r.Errorf("%s:%d: %v", file.path, s.line, err)
			continue
		}
		if fault := differ(g.ask(e), ask(context.Background(), e, oracle)); fault != "" {
			r.Errorf("%s:%d: %s %s: %s", file.path, s.line, s.operation, short(s.request), fault)
		}
	}
}
