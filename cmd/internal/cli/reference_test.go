package cli_test

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"wirelab/cmd/internal/cli"
)

// A page of reference has every command and flag that users see, and none that
// they do not.
func TestReference(t *testing.T) {
	t.Parallel()
	root := cli.Root(&cobra.Command{Use: "tool", Short: "A tool", Long: "Tool does things."}, "tool v1")
	root.PersistentFlags().String("store", "", "where things `are` kept")
	nothing := func(*cobra.Command, []string) error { return nil }
	sub := &cobra.Command{Use: "make THING", Short: "Make a|b", Example: "  tool make x\n    --fast", RunE: nothing}
	sub.Flags().BoolP("fast", "f", false, "be fast")
	sub.Flags().Int("times", 3, "how often")
	sub.Flags().Bool("secret", false, "not for users")
	if err := sub.Flags().MarkHidden("secret"); err != nil {
		t.Fatal(err)
	}
	root.AddCommand(sub, &cobra.Command{Use: "child", Hidden: true, RunE: nothing},
		cli.Topic("codes", "What codes mean", "0 is good."))
	page := cli.Reference(root)
	for _, want := range []string{
		"# tool: commands", "Tool does things.", "| [`tool make`](#tool-make) | Make a\\|b |", "## tool make\n",
		"Usage: `tool make THING [flags]`",
		"```console\ntool make x\n  --fast\n```", "| `-f, --fast` | be fast |  |",
		"| `--times int` | how often | `3` |", "| `--store are` | where things are kept |  |",
		"It also takes `--store`", "## tool codes\n\n```text\n0 is good.\n```",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
	for _, hidden := range []string{"secret", "child", "--help` |"} {
		if strings.Contains(page, hidden) {
			t.Errorf("the page has %q:\n%s", hidden, page)
		}
	}
}
