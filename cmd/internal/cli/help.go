package cli

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"wirelab/internal/paragraph"
)

// helpAll shows a command's help with all flags and explanations. --help shows only the common ones.
const helpAll = "--help-all"

const (
	groupAnnotation   = "group"   // of a flag: its heading; none for a common flag
	detailsAnnotation = "details" // of a command: the text that only --help-all shows
)

// FlagGroup is a heading with its flags, which few users need.
type FlagGroup struct {
	Heading string
	Names   []string
}

// manyFlags is the number of flags from which on a command's help shows only the common ones.
const manyFlags = 15

// GroupFlags puts flags under headings that only --help-all shows, in a command and in all below it that have many
// flags. A flag without a group is common. A group may name flags that a command does not have.
func GroupFlags(c *cobra.Command, groups []FlagGroup) {
	for _, sub := range c.Commands() {
		GroupFlags(sub, groups)
	}
	count := 0
	c.LocalFlags().VisitAll(func(*pflag.Flag) { count++ })
	if count < manyFlags {
		return
	}
	for _, g := range groups {
		for _, name := range g.Names {
			if f := c.Flags().Lookup(name); f != nil && f.Annotations[groupAnnotation] == nil {
				if f.Annotations == nil {
					f.Annotations = map[string][]string{}
				}
				f.Annotations[groupAnnotation] = []string{g.Heading}
			}
		}
	}
}

// Common keeps flags of a command out of the groups, for a flag whose name is in a group because of another command.
func Common(flags *pflag.FlagSet, names ...string) {
	for _, name := range names {
		flags.Lookup(name).Annotations = map[string][]string{groupAnnotation: {}}
	}
}

// Explain adds a text to a command that only --help-all shows.
func Explain(c *cobra.Command, text string) {
	if c.Annotations == nil {
		c.Annotations = map[string]string{}
	}
	c.Annotations[detailsAnnotation] = text
}

// Details returns the text that [Explain] added to a command.
func Details(c *cobra.Command) string { return c.Annotations[detailsAnnotation] }

// wantsAll replaces --help-all by --help, which cobra handles before anything else.
func wantsAll(args []string) ([]string, bool) {
	end := slices.Index(args, "--")
	at := slices.Index(args, helpAll)
	if at < 0 || end >= 0 && end < at {
		return args, false
	}
	args = slices.Clone(args)
	args[at] = "--help"
	return args, true
}

// helpColumns returns the width of help: the usual one, or that of a narrower terminal.
func helpColumns(out io.Writer) int {
	f, ok := out.(*os.File)
	if !ok {
		return Columns
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil || size.Col == 0 {
		return Columns
	}
	return min(Columns, max(int(size.Col), 40))
}

// WriteHelp writes a command's help: its purpose, its usage, examples, subcommands and flags, with the most important
// first. No line is wider than columns, except for single words that are wider.
func WriteHelp(w io.Writer, c *cobra.Command, columns int, all bool) error {
	var b strings.Builder
	about := c.Long
	if about == "" {
		about = c.Short
	}
	if details := Details(c); all && details != "" {
		about += "\n\n" + details
	}
	b.WriteString(Refold(about, columns))
	if c.Runnable() || c.HasSubCommands() {
		writeUsage(&b, c, columns)
	}
	if c.Example != "" {
		b.WriteString("\nExamples:\n" + examples(c.Example, columns))
	}
	writeCommands(&b, c, columns)
	more := Details(c) != "" && !all
	if c.Runnable() || c.HasSubCommands() { // a page of help has no use for flags
		more = writeFlags(&b, c, columns, all) || more
	}
	if more {
		b.WriteString("\n" + strings.Join(paragraph.Wrap("All flags and explanations: "+c.CommandPath()+" "+helpAll,
			columns), "\n") + "\n")
	}
	if c.HasAvailableSubCommands() {
		b.WriteString("\n" + strings.Join(paragraph.Wrap("Help for a command: "+c.CommandPath()+" COMMAND --help",
			columns), "\n") + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writeUsage(b *strings.Builder, c *cobra.Command, columns int) {
	b.WriteString("\nUsage:\n")
	if c.HasAvailableSubCommands() {
		b.WriteString("  " + c.CommandPath() + " COMMAND\n")
		if c.Use == c.Name() { // it takes no arguments
			return
		}
	}
	b.WriteString(paragraph.Hang("  ", 2, c.UseLine(), columns))
}

// examples breaks long command lines in a form that a shell accepts.
func examples(text string, columns int) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \n")
		if width(line) <= columns {
			b.WriteString(line + "\n")
			continue
		}
		whole := glued(line)
		lines := paragraph.Wrap(whole, columns-len("      ")-len(" \\"))
		text := "  " + strings.Join(lines, " \\\n      ") + "\n"
		b.WriteString(strings.ReplaceAll(text, "\x00", " "))
	}
	return b.String()
}

// glued returns a command line in which parts that must stay together are one word: text in single quotes, and a flag
// with its value.
func glued(line string) string {
	var b strings.Builder
	quoted := false
	for i, r := range line {
		before, after := line[:i], line[i+1:]
		word := before[strings.LastIndexByte(before, ' ')+1:]
		switch {
		case r == '\'':
			quoted = !quoted
		case r == ' ' && (quoted ||
			strings.HasPrefix(word, "-") && after != "" && !strings.ContainsAny(after[:1], "- |<>")):
			r = '\x00'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// writeCommands lists the subcommands of a command, and its pages of help.
func writeCommands(b *strings.Builder, c *cobra.Command, columns int) {
	topics := func(sub *cobra.Command) bool { return sub.IsAdditionalHelpTopicCommand() }
	for _, part := range []struct {
		heading string
		in      func(*cobra.Command) bool
	}{{"Commands", func(sub *cobra.Command) bool { return sub.IsAvailableCommand() }}, {"Pages of help", topics}} {
		longest, found := 0, []*cobra.Command{}
		for _, sub := range c.Commands() {
			if part.in(sub) && !sub.Hidden {
				found, longest = append(found, sub), max(longest, width(sub.Name()))
			}
		}
		if len(found) == 0 {
			continue
		}
		fmt.Fprintf(b, "\n%s:\n", part.heading)
		for _, sub := range found {
			b.WriteString(paragraph.Hang("  "+sub.Name(), longest+4, sub.Short, columns))
		}
	}
}

// writeFlags lists flags under their headings and reports whether it left some out.
func writeFlags(b *strings.Builder, c *cobra.Command, columns int, all bool) (more bool) {
	own := map[string]*pflag.FlagSet{}
	var order []string
	grouped := false
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		heading := ""
		if of := f.Annotations[groupAnnotation]; len(of) > 0 {
			heading, grouped = of[0], true
		}
		if f.Hidden {
			return
		}
		if own[heading] == nil {
			own[heading] = pflag.NewFlagSet("", pflag.ContinueOnError)
			order = append(order, heading)
		}
		own[heading].AddFlag(f)
	})
	slices.Sort(order) // the common flags first, without a heading
	for _, heading := range order {
		if heading != "" && !all {
			more = true
			continue
		}
		title := "Flags"
		switch {
		case heading != "":
			title = heading
		case grouped:
			title = "Common flags"
		}
		fmt.Fprintf(b, "\n%s:\n%s", title, own[heading].FlagUsagesWrapped(columns))
	}
	if inherited := c.InheritedFlags(); inherited.HasAvailableFlags() {
		b.WriteString("\nFlags of every command:\n" + inherited.FlagUsagesWrapped(columns))
	}
	return more
}
