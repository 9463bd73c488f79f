// Command relabel measures how often the method claims a difference that is
// not there. It takes the result of an A/A experiment, two arms that are the
// same, and makes many comparisons of it: each takes some of the rounds and in
// each round swaps the arms' names or not, by a coin. Every difference found
// is then a false one. It reads a result as "wirelab results export --format
// json" writes it, and knows only what a report knows.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"text/tabwriter"

	"wirelab/result"
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
		Result result.Result `json:"result"`
	}
	if err := json.NewDecoder(stdin).Decode(&exported); err != nil {
		return fmt.Errorf("result on standard input: %w", err)
	}
	r := exported.Result
	if len(r.Arms) != 2 || r.Arms[0].Protocol != r.Arms[1].Protocol {
		return errors.New("want the result of an A/A experiment: two equal arms")
	}
	if len(r.Rounds) < 2**rounds {
		return fmt.Errorf("%d rounds allow no varied choice of %d: want twice as many", len(r.Rounds), *rounds)
	}
	return report(stdout, count(r, *comparisons, *rounds, rand.New(rand.NewPCG(*seed, 0))), *comparisons, *rounds)
}

// tally is what became of the comparisons of one metric under one load.
type tally struct {
	load, metric string
	// made had a difference to judge; claimed were called better or worse,
	// p05 had p < 0.05 before the correction for many comparisons.
	made, claimed, p05, equivalent int
}

// count makes the comparisons.
func count(r result.Result, comparisons, rounds int, random *rand.Rand) []*tally {
	var all []*tally
	of := map[[2]string]*tally{}
	for range comparisons {
		c := r
		c.Rounds = nil
		for _, i := range random.Perm(len(r.Rounds))[:rounds] {
			c.Rounds = append(c.Rounds, relabelled(r.Rounds[i], random.IntN(2) == 1))
		}
		for _, load := range result.Analyse(&c).Loads {
			for _, row := range load.Rows {
				d := row.Cells[1].Difference
				if d == nil || !d.Known {
					continue
				}
				key := [2]string{load.Name, row.Metric}
				if of[key] == nil {
					of[key] = &tally{load: load.Name, metric: row.Metric}
					all = append(all, of[key])
				}
				t := of[key]
				t.made++
				if d.P < 0.05 && !d.Exact {
					t.p05++
				}
				switch d.Verdict {
				case result.Better, result.Worse:
					t.claimed++
				case result.Equivalent:
					t.equivalent++
				default: // undecided
				}
			}
		}
	}
	return all
}

// relabelled returns the round with the two arms' names swapped, if swap.
func relabelled(round result.Round, swap bool) result.Round {
	if !swap {
		return round
	}
	round.Trials = slices.Clone(round.Trials)
	for i := range round.Trials {
		round.Trials[i].Arm = 1 - round.Trials[i].Arm
	}
	round.Failures = slices.Clone(round.Failures)
	for i := range round.Failures {
		round.Failures[i].Arm = 1 - round.Failures[i].Arm
	}
	return round
}

func report(w io.Writer, all []*tally, comparisons, rounds int) error {
	fmt.Fprintf(w, "%d comparisons of %d rounds each, of two equal arms\n", comparisons, rounds)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "load\tmetric\tjudged\tclaimed different\tp < 0.05\tequivalent\t")
	share := func(n, of int) string { return fmt.Sprintf("%.1f %%", 100*float64(n)/float64(max(of, 1))) }
	for _, t := range all {
		fmt.Fprintf(table, "%s\t%s\t%d\t%s\t%s\t%s\t\n", t.load, t.metric, t.made,
			share(t.claimed, t.made), share(t.p05, t.made), share(t.equivalent, t.made))
	}
	return table.Flush()
}
