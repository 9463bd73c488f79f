package cli

import (
	"path"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Complete lets a shell complete the values of flags, by the flag's name, in a command and all below it. A flag
// without words completes nothing, unless its help says that it takes a file or directory. The same holds for a
// command whose arguments are not files, since a shell would offer the names of files.
func Complete(c *cobra.Command, words map[string]func() []string) {
	for _, sub := range c.Commands() {
		Complete(sub, words)
	}
	if c.ValidArgsFunction == nil && !takesFiles(c.Use) {
		c.ValidArgsFunction = cobra.NoFileCompletions
	}
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Value.Type() == "bool" {
			return
		}
		if _, known := c.GetFlagCompletionFunc(f.Name); known {
			return
		}
		of := words[f.Name]
		if of == nil && filed(f) {
			return
		}
		// The errors are an unknown flag and a repeated registration. Neither can happen here.
		_ = c.RegisterFlagCompletionFunc(f.Name,
			func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
				if of == nil {
					return nil, cobra.ShellCompDirectiveNoFileComp
				}
				directive := cobra.ShellCompDirectiveNoFileComp
				if filed(f) {
					directive = cobra.ShellCompDirectiveDefault // a word, or a file
				}
				return Listed(of(), typed, f.Value.Type()), directive
			})
	})
}

// Listed returns the words for a flag. If the flag takes a list, they follow the items already typed.
func Listed(words []string, typed, kind string) []string {
	at := strings.LastIndexByte(typed, ',') + 1
	if kind != "stringSlice" || at == 0 {
		return words
	}
	all := make([]string, len(words))
	for i, word := range words {
		all[i] = typed[:at] + word
	}
	return all
}

func takesFiles(use string) bool { return strings.Contains(use, "FILE") }

// filed reports whether a flag takes a file or a directory, according to its help.
func filed(f *pflag.Flag) bool {
	name, _ := pflag.UnquoteUsage(f)
	matched, _ := path.Match("*file*", strings.ToLower(name+" "+f.Usage))
	return name == "file" || name == "directory" || matched
}
