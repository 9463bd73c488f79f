// Command relabel counts how often the method claims a difference where there is none, in the result of an A/A
// experiment: see [selftest.Relabel]. It reads the output of "wirelab results export --format json".
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"text/tabwriter"

	"wirelab/cmd/internal/selftest"
	"wirelab/lab/result"
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "relabel:", err)
		os.Exit(1)
	}
}

func run(args []string, stdin io.Reader, stdout io.Writer) error {
	flags := flag.NewFlagSet("relabel", flag.ContinueOnError)
	comparisons := flags.Int("comparisons", 200, "how many to make")
	rounds := flags.Int("rounds", 10, "rounds in each")
	seed := flags.Uint64("seed", 1, "of the choices and the coin")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var exported struct {
		Result *result.Result `json:"result"`
	}
	if err := json.NewDecoder(stdin).Decode(&exported); err != nil {
		return fmt.Errorf("result on standard input: %w", err)
	}
	if exported.Result == nil || len(exported.Result.Arms) != 2 {
		return errors.New("want the result of an A/A experiment: two equal arms")
	}
	all, err := selftest.Relabel(exported.Result, 0, 1, *comparisons, *rounds, rand.New(rand.NewPCG(*seed, 0)))
	if err != nil {
		return err
	}
	return report(stdout, all, *comparisons, *rounds)
}

func report(w io.Writer, all []*selftest.Tally, comparisons, rounds int) error {
	fmt.Fprintf(w, "%d comparisons of %d rounds each, of two equal arms\n", comparisons, rounds)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "load\tmetric\tjudged\tclaimed different\tp < 0.05\tequivalent\t")
	share := func(n, of int) string { return fmt.Sprintf("%.1f %%", 100*float64(n)/float64(max(of, 1))) }
	for _, t := range all {
		fmt.Fprintf(table, "%s\t%s\t%d\t%s\t%s\t%s\t\n", t.Load, t.Metric, t.Made,
			share(t.Claimed, t.Made), share(t.Suspect, t.Made), share(t.Equivalent, t.Made))
	}
	return table.Flush()
}
