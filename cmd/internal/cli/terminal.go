package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"wirelab/internal/fault"
	"wirelab/internal/paragraph"
)

// Terminal is where a program reads and writes.
type Terminal struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Indented prints JSON with line breaks, for people. Otherwise each value is one line, as programs that read
	// several values want it.
	Indented bool

	// Clock is nil except in tests.
	Clock Clock

	started bool  // a command runs: flags and arguments were right
	busy    *busy // the activities of the running command; nil: not shown
}

// Main runs a program with the input and output of its process, and returns its exit code. The first Ctrl-C tells it
// to end, and a second one ends the process at once.
func Main(run func(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer,
	getenv func(string) string) int,
) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv)
}

// Ending says how to handle a program's error.
type Ending struct {
	Code     func(error) int    // nil: [Code]
	Describe func(error) string // nil: [Describe]
	Last     func() error       // called when the command has returned; may be nil
}

// Execute runs the command that args name and returns the program's exit code. It prints an error as a line on
// standard error.
func (t *Terminal) Execute(ctx context.Context, root *cobra.Command, args []string, e Ending) int {
	args, all := wantsAll(args)
	var unwritten error // cobra ignores the error of writing help
	root.SetHelpFunc(func(c *cobra.Command, _ []string) {
		out := c.OutOrStdout()
		unwritten = WriteHelp(out, c, helpColumns(out), all)
	})
	root.SetIn(t.Stdin)
	root.SetOut(t.Stdout)
	root.SetErr(t.Stderr)
	root.InitDefaultCompletionCmd(args...) // now, so that our words replace the library's in its errors too
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			Group(c)
		}
	}
	t.watch(root)
	root.SetArgs(append([]string{}, args...)) // nil would mean the arguments of the process
	command, err := root.ExecuteContextC(ctx)
	if e.Last != nil {
		ended := t.tell(context.Background(), "stopping what the command started")
		err = fault.Both(err, e.Last())
		ended()
	}
	if err == nil && unwritten != nil {
		t.started, err = true, unwritten
	}
	if err == nil {
		return OK
	}
	if e.Code == nil {
		e.Code = Code
	}
	if e.Describe == nil {
		e.Describe = Describe
	}
	code, text := e.Code(err), e.Describe(err)
	unwritable := new(fs.PathError)                 // of standard output, as for --version
	if !t.started && !errors.As(err, &unwritable) { // cobra found the flags or arguments wrong
		code = WrongUsage
		if help := command.CommandPath() + " --help"; !strings.Contains(text, help) {
			text += "; see " + help
		}
	}
	var said *Exit
	if errors.As(err, &said) && said.Err == nil {
		return code
	}
	// The error is one line, except where it shows a place in a file.
	t.Note("%s: %s", root.Name(), strings.TrimSpace(text))
	return code
}

// watch makes every command check its flags before the library does, and record that it has started. This
// distinguishes a mistake on the command line from a failure of the command.
func (t *Terminal) watch(c *cobra.Command) {
	right := c.Args
	c.Args = func(c *cobra.Command, args []string) error {
		if right != nil {
			if err := right(c, args); err != nil {
				return err
			}
		}
		return checkFlags(c)
	}
	if do := c.RunE; do != nil {
		c.RunE = func(c *cobra.Command, args []string) error {
			t.started = true
			return t.telling(c, args, do)
		}
	}
	for _, sub := range c.Commands() {
		t.watch(sub)
	}
}

// Printf writes to standard output.
func (t *Terminal) Printf(format string, args ...any) error {
	_, err := fmt.Fprintf(t.Stdout, format, args...)
	return err
}

// Note writes a line to standard error, for the user and not for the pipe. Errors among args are written in plain
// words. An error of writing the note is ignored, since there is no place left to report it.
func (t *Terminal) Note(format string, args ...any) {
	plain := slices.Clone(args)
	for i, arg := range plain {
		if err, is := arg.(error); is && err != nil {
			plain[i] = fault.Text(err)
		}
	}
	_, _ = fmt.Fprintln(t.Stderr, shown(fmt.Sprintf(format, plain...)))
}

// shown makes a text safe for a terminal: the name of a file in it may contain control characters.
func shown(text string) string {
	if !strings.ContainsFunc(text, obeyed) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if obeyed(r) {
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// obeyed reports whether a terminal would interpret a character, or a reader could not see it.
func obeyed(r rune) bool { return r != '\n' && r != '\t' && !strconv.IsGraphic(r) }

// PrintJSON writes a value as JSON.
func (t *Terminal) PrintJSON(value any) error {
	encoder := json.NewEncoder(t.Stdout)
	encoder.SetEscapeHTML(false)
	if t.Indented {
		encoder.SetIndent("", "  ")
	}
	return encoder.Encode(value)
}

// PrintTable writes rows in columns. The first row is the head.
func (t *Terminal) PrintTable(rows [][]string) error {
	w := tabwriter.NewWriter(t.Stdout, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		// Without a tab after the last cell, so that lines have no trailing space.
		if _, err := fmt.Fprintln(w, strings.Join(row, "\t")); err != nil {
			return err
		}
	}
	return w.Flush()
}

// PrintFit writes rows in columns of a given total width. The first row is the head; see [paragraph.Table].
func (t *Terminal) PrintFit(rows [][]string, columns int) error {
	_, err := io.WriteString(t.Stdout, paragraph.Table(rows, columns))
	return err
}
