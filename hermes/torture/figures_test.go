package torture

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"
	"text/tabwriter"
	"time"
)

// found is what the tests of this process found. It is printed as a table when they are over,
// and kept in a file as they go on.
var found = &figures{Began: time.Now().UTC(), Cores: runtime.NumCPU()}

type figures struct {
	Began       time.Time       `json:"began"`
	Took        string          `json:"took"`
	Cores       int             `json:"cores"`
	Seed        uint64          `json:"seed"`
	Interrupted bool            `json:"interrupted"`
	Faults      []*fault        `json:"faults"`
	Accounts    []*count        `json:"accounts"`
	Rates       []rated         `json:"rates,omitempty"`
	NotRun      []absent        `json:"not_run,omitempty"`
	Worlds      json.RawMessage `json:"worlds,omitempty"` // what hermes/sim wrote

	mu sync.Mutex // guards all
}

// fault is one kind of what was done, with the times without service that it cost.
type fault struct {
	What   string  `json:"what"`
	Test   string  `json:"test"`
	Times  int     `json:"times"`
	Median float64 `json:"median_ms"`
	P95    float64 `json:"p95_ms"`
	Worst  float64 `json:"worst_ms"`
	// Of a killed leader: until a node noticed, from there until one led, and from there until
	// a publish was accepted; medians and the worst of each.
	Parts []part    `json:"parts,omitempty"`
	All   []float64 `json:"all_ms"` // in the order in which they came

	wanted int
	parts  []phases
}

type part struct {
	What   string  `json:"what"`
	Median float64 `json:"median_ms"`
	Worst  float64 `json:"worst_ms"`
}

// count is an account, by id.
type count struct {
	Test         string `json:"test"`
	Sent         int    `json:"sent"`
	Acknowledged int    `json:"acknowledged"`
	Failed       int    `json:"failed"`
	Stored       int    `json:"stored"`
	Trimmed      int    `json:"trimmed"` // acknowledged, and given up by retention since
	Delivered    int    `json:"delivered"`
	Missing      int    `json:"missing"`
	Undelivered  int    `json:"undelivered"`
	Doubled      int    `json:"doubled"`
	Again        int    `json:"delivered_again"`
	Moved        int    `json:"moved"`
	Reordered    int    `json:"reordered"`
	Corrupted    int    `json:"corrupted"`
}

func (c *count) even() bool {
	return c.Missing+c.Undelivered+c.Doubled+c.Moved+c.Reordered+c.Corrupted == 0
}

type rated struct {
	What      string  `json:"what"`
	PerSecond float64 `json:"per_second"`
	OfHealthy float64 `json:"of_healthy"`
}

type absent struct {
	Test string `json:"test"`
	Why  string `json:"why"`
}

// does begins a kind of fault.
func (f *figures) does(t *testing.T, what string, wanted int) *fault {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	one := &fault{What: what, Test: t.Name(), wanted: wanted}
	f.Faults = append(f.Faults, one)
	return one
}

// cost notes what the fault cost this time, and tells how far it is.
func (f *fault) cost(t *testing.T, took time.Duration, in ...phases) {
	t.Helper()
	found.mu.Lock()
	defer found.mu.Unlock()
	f.All = append(f.All, milliseconds(took))
	f.parts = append(f.parts, in...)
	f.sum()
	if every := max(1, f.wanted/20); f.Times%every == 0 || f.Times == f.wanted {
		t.Logf("%s: %d of %d; accepted again after %.0f ms, by the median %.0f, at worst %.0f", f.What, f.Times,
			f.wanted,
			milliseconds(took), f.Median, f.Worst)
		found.keep()
	}
}

func (f *fault) sum() {
	f.Times = len(f.All)
	f.Median, f.P95, f.Worst = quantile(f.All, 0.5), quantile(f.All, 0.95), quantile(f.All, 1)
	if len(f.parts) == 0 {
		return
	}
	f.Parts = nil
	for i, what := range []string{"noticed", "elected", "accepted"} {
		var all []float64
		for _, p := range f.parts {
			all = append(all, milliseconds(p[i]))
		}
		f.Parts = append(f.Parts, part{what, quantile(all, 0.5), quantile(all, 1)})
	}
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// quantile is the smallest of all that as large a part as q is not above.
func quantile(all []float64, q float64) float64 {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	at := int(q*float64(len(sorted)) + 0.999999)
	return sorted[min(max(at, 1), len(sorted))-1]
}

func (f *figures) accounts(c *count) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.Accounts = append(f.Accounts, c)
	f.keep()
}

func (f *figures) rate(what string, perSecond, healthy float64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.Rates = append(f.Rates, rated{what, perSecond, perSecond / healthy})
}

func (f *figures) lacks(test, why string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.NotRun = append(f.NotRun, absent{test, why})
}

// keep writes the file, if one was named; mu is held. What cannot be written is notified when all is over.
func (f *figures) keep() {
	f.Took = time.Since(f.Began).Round(time.Second).String()
	f.Interrupted = interrupted.Err() != nil
	if *keepIn == "" {
		return
	}
	text, err := json.MarshalIndent(f, "", "  ")
	if err == nil {
		err = os.WriteFile(*keepIn, append(text, '\n'), 0o600)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "keep the figures:", err)
	}
}

// print writes the table.
func (f *figures) print(out io.Writer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if *worlds != "" {
		if text, err := os.ReadFile(*worlds); err == nil && json.Valid(text) {
			f.Worlds = text
		}
	}
	f.keep()
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "times\tlost\tdoubled\tmedian\tp95\tworst\t  publishes accepted again, ms, after: \n")
	for _, one := range f.Faults {
		lost, doubled := "?", "?" // its account was not settled
		if i := slices.IndexFunc(f.Accounts, func(c *count) bool { return c.Test == one.Test }); i >= 0 {
			lost, doubled = fmt.Sprint(f.Accounts[i].Missing), fmt.Sprint(f.Accounts[i].Doubled)
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%.0f\t%.0f\t%.0f\t  %s\n", one.Times, lost, doubled, one.Median, one.P95, one.Worst,
			one.What)
		for _, p := range one.Parts {
			fmt.Fprintf(w, "\t\t\t%.0f\t\t%.0f\t    of that until %s\n", p.Median, p.Worst, p.What)
		}
	}
	fmt.Fprint(w, "\nsent\tacknowledged\tfailed\tstored\tdelivered\tmissing\t"+
		"undelivered\tdoubled\tagain\tmoved\treordered\tcorrupted\t \n")
	for _, c := range f.Accounts {
		fmt.Fprintf(w, "%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t  %s\n", c.Sent, c.Acknowledged, c.Failed,
			c.Stored,
			c.Delivered,
			c.Missing, c.Undelivered, c.Doubled, c.Again, c.Moved, c.Reordered, c.Corrupted, c.Test)
	}
	_ = w.Flush() // it is our own output
	for _, r := range f.Rates {
		fmt.Fprintf(out, "%.0f messages a second, %.0f %% of healthy: %s\n", r.PerSecond, 100*r.OfHealthy, r.What)
	}
	f.printWorlds(out)
	for _, a := range f.NotRun {
		fmt.Fprintf(out, "NOT RUN: %s: %s\n", a.Test, a.Why)
	}
	fmt.Fprintf(out, "seed %d, %s%s\n", f.Seed, f.Took, map[bool]string{true: "; interrupted: not all that was asked " +
		"for was done"}[f.Interrupted])
}

func (f *figures) printWorlds(out io.Writer) {
	var w struct {
		Wanted, Run int
		First       uint64
		Failed      []uint64
	}
	if len(f.Worlds) > 0 && json.Unmarshal(f.Worlds, &w) == nil {
		fmt.Fprintf(out, "%d of %d simulated worlds, seeds from %d on; failed: %d %v\n", w.Run, w.Wanted, w.First,
			len(w.Failed), w.Failed)
	}
}
