package cli

import (
	"path"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Complete lets a shell complete the words that flags take, by the flag's name, in a command and all below
// it. A flag without words completes nothing but where its help says that it takes a file or directory,
// and so does a command whose arguments are no files: a shell's own guess is the names of files.
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
		// The error is of a flag that is not there, or done already: neither can be here.
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

// Listed are words for a flag; where it takes a list, after what is typed of it.
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

// filed reports whether a flag takes a file or a directory, as its help says.
func filed(f *pflag.Flag) bool {
	name, _ := pflag.UnquoteUsage(f)
	matched, _ := path.Match("*file*", strings.ToLower(name+" "+f.Usage))
	return name == "file" || name == "directory" || matched
}
