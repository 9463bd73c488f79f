package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
)

// doesAnnotation holds what a command does while one waits for it.
const doesAnnotation = "wirelab_does"

// Lasts says of commands what they do while one waits for them, by their words after the program's name:
// "results list": "reading the list of results". It is shown once that takes longer than two seconds, unless the
// command says more exactly what it does.
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

// Words are the words that call a command, without the program's name.
func Words(c *cobra.Command) string {
	_, words, _ := strings.Cut(c.CommandPath(), " ")
	return words
}

// telling runs a command, and says meanwhile what it does.
func (t *Terminal) telling(c *cobra.Command, args []string, do func(*cobra.Command, []string) error) error {
	what := c.Annotations[doesAnnotation]
	for _, flag := range []string{"quiet", "controlled"} { // controlled: what calls it is a program that measures it
		if set, err := c.Flags().GetBool(flag); err == nil && set {
			what = ""
		}
	}
	defer t.tell(c.Context(), what)()
	return do(c, args)
}

// tell says what is done until the function that it returns is called; of "" nothing.
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
