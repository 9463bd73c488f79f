package cli

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"wirelab/wire/status"
)

// Root makes a command that is a whole program. The program prints errors itself, as one line, since a page of usage
// after an error hides the error. about is the output of --version, without the line's end.
func Root(c *cobra.Command, about string) *cobra.Command {
	c.SilenceErrors = true
	c.SilenceUsage = true
	c.SetFlagErrorFunc(flagError)
	c.Version = about
	c.SetVersionTemplate("{{.Version}}\n")
	c.Flags().BoolP("version", "V", false, "show the version")
	c.SetHelpCommand(helpCommand())
	return Group(c)
}

// helpCommand is the library's help command, except that an unknown page is an error.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Help about a command or a topic",
		ValidArgsFunction: func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			at, _, err := c.Root().Find(args)
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return pages(at), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(c *cobra.Command, args []string) error {
			at, rest, err := c.Root().Find(args)
			if err != nil {
				return err
			}
			if len(rest) > 0 {
				if at.HasSubCommands() {
					return status.UnknownName("page of help", rest[0], pages(at), at.CommandPath()+" --help")
				}
				return Usage("%s has no page %.100q; see %s --help", at.CommandPath(), rest[0], at.CommandPath())
			}
			at.InitDefaultHelpFlag() // so that the page lists it
			at.InitDefaultVersionFlag()
			return at.Help()
		},
	}
}

// pages returns the commands and topics below a command.
func pages(c *cobra.Command) []string {
	var names []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() || sub.IsAdditionalHelpTopicCommand() {
			names = append(names, sub.Name())
		}
	}
	return names
}

// Group makes a command that only contains others. Alone it shows its help. An unknown word after it is an error that
// lists the known ones.
func Group(c *cobra.Command) *cobra.Command {
	c.Args = cobra.ArbitraryArgs
	if c.Annotations == nil {
		c.Annotations = map[string]string{}
	}
	c.Annotations[holdsAnnotation] = "yes"
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return c.Help()
		}
		return Unknown(c, args[0])
	}
	return c
}

// holdsAnnotation marks the commands that [Group] made.
const holdsAnnotation = "wirelab_holds"

// IsGroup reports whether a command only contains others.
func IsGroup(c *cobra.Command) bool { return c.Annotations[holdsAnnotation] != "" }

// Unknown returns the error for a word that is no subcommand.
func Unknown(c *cobra.Command, word string) error {
	var known []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			known = append(known, sub.Name())
		}
	}
	what := "command"
	if c.HasParent() {
		what = "command of " + c.CommandPath()
	}
	return status.UnknownName(what, word, known, c.CommandPath()+" --help")
}

// flagError describes an error of a flag in our words. It knows the library's error types, and returns other errors
// unchanged.
func flagError(c *cobra.Command, err error) error {
	if unknown := new(pflag.NotExistError); errors.As(err, &unknown) {
		dashed := "--" + unknown.GetSpecifiedName()
		if unknown.GetSpecifiedShortnames() != "" {
			dashed = "-" + unknown.GetSpecifiedName()
		}
		var known []string
		add := func(f *pflag.Flag) {
			if !f.Hidden {
				known = append(known, "--"+f.Name)
			}
		}
		c.InheritedFlags().VisitAll(add)
		c.LocalFlags().VisitAll(add)
		return Usage("%s has no flag %.100s%s", c.CommandPath(), dashed,
			status.Known(dashed, known, c.CommandPath()+" --help"))
	}
	if lone := new(pflag.ValueRequiredError); errors.As(err, &lone) {
		name, _ := pflag.UnquoteUsage(lone.GetFlag())
		return Usage("--%s needs a value: --%s %s", lone.GetFlag().Name, lone.GetFlag().Name, strings.ToUpper(name))
	}
	if wrong := new(pflag.InvalidValueError); errors.As(err, &wrong) {
		if form := wanted(wrong.GetFlag().Value.Type()); form != "" {
			return Usage("--%s: %.100q is not %s", wrong.GetFlag().Name, wrong.GetValue(), form)
		}
		// The value has one of our types, whose errors are sentences.
		return Usage("--%s %.100q: %s", wrong.GetFlag().Name, wrong.GetValue(), Bare(wrong.Unwrap()))
	}
	if form := new(pflag.InvalidSyntaxError); errors.As(err, &form) {
		return Usage("%.100q is not a flag; flags are written as --name value or --name=value", form.GetSpecifiedFlag())
	}
	return err
}

// wanted describes the values of flags of one of the library's types; "" for other types.
func wanted(kind string) string {
	switch kind {
	case "duration":
		return "a time; write it with its unit, such as 500ms, 30s, 5m or 1h30m"
	case "int", "int64", "int32":
		return "a whole number, such as 10"
	case "uint", "uint16", "uint32", "uint64":
		return "a whole number from 0, such as 10"
	case "float64", "float32":
		return "a number, such as 0.5"
	case "bool":
		return "true or false"
	case "intSlice":
		return "a whole number, or several with commas between them, such as 1,50"
	}
	return ""
}

// checkFlags checks what the library would check after the arguments and describe in its own words: required flags,
// and flags that exclude each other.
func checkFlags(c *cobra.Command) error {
	var missing []string
	groups := map[string][]string{} // the names of the flags that were given, by group
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if needed := f.Annotations[cobra.BashCompOneRequiredFlag]; len(needed) > 0 && needed[0] == "true" &&
			!f.Changed {
			missing = append(missing, example(f))
		}
		for _, group := range f.Annotations[exclusive] {
			if f.Changed {
				groups[group] = append(groups[group], "--"+f.Name)
			}
		}
	})
	if len(missing) > 0 {
		return Usage("%s needs %s", c.CommandPath(), strings.Join(missing, " and "))
	}
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		switch given := groups[group]; len(given) {
		case 0, 1:
		case 2:
			return Usage("give %s or %s, not both", given[0], given[1])
		default:
			return Usage("give one of %s, not %d of them", strings.Join(given, ", "), len(given))
		}
	}
	return nil
}

// exclusive is the library's annotation of flags that exclude each other.
const exclusive = "cobra_annotation_mutually_exclusive"

// example returns a flag and its value: "--workload WORKLOAD.OPERATION".
func example(f *pflag.Flag) string {
	name, _ := pflag.UnquoteUsage(f)
	if name == "" {
		return "--" + f.Name
	}
	return "--" + f.Name + " " + strings.ToUpper(name)
}

// Arguments checks the number of arguments. what describes them. A negative most means no limit.
func Arguments(least, most int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return Usage("%s needs %s", c.CommandPath(), what)
		case most >= 0 && len(args) > most:
			return Usage("%s takes %s, not also %s", c.CommandPath(), what, strings.Join(args[most:], " "))
		}
		return nil
	}
}

// JSONFlag adds the flag that every command with an answer has.
func JSONFlag(c *cobra.Command) *bool {
	return c.Flags().Bool("json", false, "print JSON, for programs")
}

// Topic makes a page of help: a command that runs nothing.
func Topic(name, short, text string) *cobra.Command {
	return &cobra.Command{Use: name, Short: short, Long: text}
}
