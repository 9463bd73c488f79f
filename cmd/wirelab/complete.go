package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"wirelab/broker"
	"wirelab/broker/drivers"
	"wirelab/broker/workqueue"
	"wirelab/cmd/internal/cli"
	"wirelab/lab/databases"
	"wirelab/lab/factorial"
	"wirelab/lab/kind/kinds"
	"wirelab/lab/loads"
	"wirelab/lab/network"
	"wirelab/lab/plan"
	"wirelab/lab/presets"
	"wirelab/results/measure"
	"wirelab/results/report/forms"
	"wirelab/results/store"
	"wirelab/workload/catalog"
)

// complete sets up the words that a shell offers for commands and flags.
func (a *app) complete(root *cobra.Command) {
	words := func(all ...string) func() []string { return func() []string { return all } }
	metrics := func() []string {
		var ids []string
		for _, m := range kinds.Metrics() {
			ids = append(ids, m.ID)
		}
		return ids
	}
	completeFormats(root)
	cli.Complete(root, map[string]func() []string{
		"workload":  func() []string { return append(a.Operations(), catalog.Messaging) },
		"operation": a.OperationNames, "protocol": a.AllProtocols, "network": networkNames,
		"driver": words(plan.Drivers()...), "certificate": words(measure.CertificateWords()...),
		"pin": words("auto", "none"),
		"db":  words(databases.Kinds()...), "durability": words(broker.Durabilities()...),
		"broker":   func() []string { return append(drivers.Started(), "none") },
		"scenario": func() []string { return append(plan.Scenarios(), "all") }, "primary": metrics, "metric": metrics,
		"transport": func() []string { return factorial.Transports(a.Catalog) },
		"encoding":  func() []string { return factorial.Encodings(a.Catalog) },
		"arrivals":  words(plan.Poisson, plan.Constant, plan.LogNormal),
		"replay":    words(loads.ReplaySequential, loads.ReplaySampled),
		"queue":     words(string(workqueue.Quorum), string(workqueue.Classic), string(workqueue.Stream)),
		"name":      a.names,
	})
	for _, c := range root.Commands() {
		switch c.Name() {
		case "compare", "curve", "capacity":
			c.ValidArgsFunction = a.completeArms
		case "serve":
			c.ValidArgsFunction = a.completeServed
		case "run":
			c.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
				return presets.Names(), cobra.ShellCompDirectiveDefault // or a file of a plan
			}
		case "explain":
			c.ValidArgsFunction = func(c *cobra.Command, args []string,
				typed string,
			) ([]string, cobra.ShellCompDirective) {
				ids, _ := a.CompleteIDs(c, args, typed)
				return append(a.Operations(), ids...), cobra.ShellCompDirectiveNoFileComp
			}
		}
	}
}

// completeFormats offers the formats that a command writes.
func completeFormats(root *cobra.Command) {
	var exported, reported []string
	for _, f := range forms.Exports() {
		exported = append(exported, f.Name)
	}
	for _, f := range forms.Reports() {
		reported = append(reported, f.Name)
	}
	for at, names := range map[string][]string{
		"results export": exported, "report": reported,
		"explain": forms.ExplainFormats(),
	} {
		c, _, err := root.Find(strings.Fields(at))
		if err == nil {
			err = c.RegisterFlagCompletionFunc("format",
				cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
		}
		if err != nil {
			panic(err) // the command and its flag are in the source
		}
	}
}

func networkNames() []string {
	var names []string
	for _, p := range network.Presets() {
		names = append(names, p.Name)
	}
	return names
}

// completeArms offers the protocols of the workload if it is given, else all.
func (a *app) completeArms(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	names := a.AllProtocols()
	if f := c.Flags().Lookup("workload"); f != nil {
		workload, _, _ := strings.Cut(f.Value.String(), ".")
		if w, err := a.Work(workload); err == nil {
			names = catalog.ProtocolNames(w)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeServed offers a workload, and then its protocols.
func (a *app) completeServed(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var names []string
	switch len(args) {
	case 0:
		names = a.WorkloadNames()
	case 1:
		if w, err := a.Work(args[0]); err == nil {
			names = catalog.ProtocolNames(w)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completePatience is how long a completion waits for the store.
const completePatience = 2 * time.Second

// names returns the labels of results, and the presets.
func (a *app) names() []string {
	ctx, cancel := context.WithTimeout(context.Background(), completePatience)
	defer cancel()
	names := presets.Names()
	_ = a.WithStore(ctx, func(s store.Store) error { // without a store there are fewer words
		list, err := s.List(ctx, store.Filter{})
		for _, m := range list {
			if m.Label != "" && !slices.Contains(names, m.Label) {
				names = append(names, m.Label)
			}
		}
		return err
	})
	return names
}
