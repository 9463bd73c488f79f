package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
)

// doesAnnotation has what a command does while the user waits for it.
const doesAnnotation = "wirelab_does"

// Lasts says what commands do while the user waits for them, by their words after the program's name: "results list":
// "reading the list of results". The text is shown after two seconds, unless the command reports something more
// precise.
func Lasts(root *cobra.Command, does map[string]string) {
	for _, c := range root.Commands() {
		Lasts(c, does)
	}
	if what := does[Words(root)]; what != "" {
		if root.Annotations == nil {
			root.Annotations = map[string]string{}
		}
		root.Annotations[doesAnnotation] = what
	}
}

// Words returns the words that call a command, without the program's name.
func Words(c *cobra.Command) string {
	_, words, _ := strings.Cut(c.CommandPath(), " ")
	return words
}

// telling runs a command, and shows its activity while it runs.
func (t *Terminal) telling(c *cobra.Command, args []string, do func(*cobra.Command, []string) error) error {
	what := c.Annotations[doesAnnotation]
	for _, flag := range []string{"quiet", "controlled"} { // controlled: by a program that measures it
		if set, err := c.Flags().GetBool(flag); err == nil && set {
			what = ""
		}
	}
	defer t.tell(c.Context(), what)()
	return do(c, args)
}

// tell shows an activity until the returned function is called; nothing for "".
func (t *Terminal) tell(ctx context.Context, what string) (end func()) {
	if what == "" {
		return func() {}
	}
	stdout, stderr := t.Stdout, t.Stderr
	b := t.newBusy()
	t.busy, t.Stdout, t.Stderr = b, &heard{stdout, b, true}, &heard{stderr, b, false}
	t.Doing(what)
	stop := context.AfterFunc(ctx, func() { b.interrupt("interrupted; ending: ") })
	return func() {
		stop()
		b.end()
		t.busy, t.Stdout, t.Stderr = nil, stdout, stderr
	}
}
