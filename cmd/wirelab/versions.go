package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"wirelab/cmd/internal/cli"
	"wirelab/lab/plan"
	"wirelab/workload/catalog"
	"wirelab/workload/external"
)

// externalFlags say which service that is not ours is the work, and which versions of it.
type externalFlags struct {
	operation, base, head, start, build, mayLoad string
}

func registerExternal(f *externalFlags, flags *pflag.FlagSet) {
	flags.StringVar(&f.operation, "operation", "", "of an external service: the `operation` to call (default: the only one)")
	flags.StringVar(&f.start, "start", "", "of an external service: the `command` that starts it, with $PORT; in place of its description's")
	flags.StringVar(&f.mayLoad, "i-may-load", "", "of an external service: its `host`, where that is not this machine and you may load it")
}

// registerVersions registers what compares versions of one service.
func registerVersions(f *externalFlags, flags *pflag.FlagSet) {
	flags.StringVar(&f.base, "base", "", "of an external service: the `version` to compare with: git:REF, or a folder")
	flags.StringVar(&f.head, "head", "", "of an external service: the `version` that is compared with --base: git:REF, or a folder")
	flags.StringVar(&f.build, "build", "", "of --base and --head: the `command` that builds the service, in the folder of each")
}

// versionsDiffer is the smallest difference that is called one between versions. Two copies of one program differed by
// 0.8 to 1.5 % of server CPU, always to the same side, and one program under two names by 0.1 %: it matters where in memory
// its file lies.
const versionsDiffer = 0.02

// work sets what the plan's work is: a workload of ours, or external services that arms name, as shop.yaml:rest. It
// returns the arms as plans know them.
func (f *externalFlags) work(ctx context.Context, a *app, p *plan.Plan, workload string, args []string) ([]string, error) {
	programs, args := programsOf(args)
	arms, of, owners, err := externalArms(args)
	if err != nil {
		return nil, err
	}
	if len(of) == 0 {
		if f.operation != "" || f.base != "" || f.head != "" || f.start != "" || len(programs) > 0 {
			return nil, cli.Usage("--operation, --start, --base and --head are of external services: name the arm as FILE:WIRE, such as shop.yaml:rest")
		}
		if workload == "" {
			return nil, cli.Usage("--workload is missing; write for example -w routeguide.GetFeature, or name an arm as shop.yaml:rest")
		}
		var ok bool
		if p.Workload, p.Operation, ok = strings.Cut(workload, "."); !ok && p.Workload == catalog.Messaging {
			p.Operation = "Publish"
		} else if !ok {
			return nil, noOperation(workload)
		}
		return arms, nil
	}
	if workload != "" {
		return nil, cli.Usage("--workload is of our workloads; of %s write --operation %s", of[0].File, workload)
	}
	services := len(of)
	if of, arms, err = f.versions(of, arms, programs); err != nil {
		return nil, err
	}
	if len(of) > services && p.Practical == 0 {
		p.Practical = versionsDiffer
	}
	for i := range of {
		if f.start != "" {
			of[i].Start = f.start
		}
	}
	p.External, p.Workload, p.Operation = of, "services", f.operation
	if *p, err = a.foreignWork(ctx, *p); err != nil {
		return nil, err
	}
	p.Workload = a.foreign.service.Service
	for i := range arms {
		if services > 1 { // of several, a wire is named with its service
			arms[i] = a.foreign.names[owners[i]] + "-" + arms[i]
		}
	}
	if err := f.chooseOperation(a, p, arms); err != nil {
		return nil, err
	}
	a.mayLoad = f.mayLoad
	return arms, a.permitted(a.mayLoad)
}

// chooseOperation takes the only operation that there is, where none is named.
func (f *externalFlags) chooseOperation(a *app, p *plan.Plan, arms []string) error {
	if p.Operation != "" {
		return nil
	}
	var names []string
	for _, o := range a.foreign.service.Operations {
		names = append(names, o.Name)
	}
	if len(names) > 1 {
		return cli.Usage("--operation is missing; %s has %s", strings.Join(arms, " and "), strings.Join(names, ", "))
	}
	p.Operation = names[0]
	return nil
}

// versions makes services of versions, where those are compared.
func (f *externalFlags) versions(of []plan.External, arms, programs []string) ([]plan.External, []string, error) {
	if f.base == "" && f.head == "" && len(programs) == 0 {
		if f.build != "" {
			return nil, nil, cli.Usage("--build builds versions: give --base and --head too, such as --base git:main --head git:HEAD")
		}
		return of, arms, nil
	}
	switch {
	case len(of) != 1 || len(arms) != 1:
		return nil, nil, cli.Usage("versions are compared over one wire: name one arm, such as shop.yaml:rest")
	case len(programs) == 0 && (f.base == "" || f.head == ""):
		return nil, nil, cli.Usage("give both --base and --head, such as --base git:main --head git:HEAD")
	case len(programs) > 0 && (f.base != "" || f.head != "" || f.build != ""):
		return nil, nil, cli.Usage("give either programs to compare, or --base and --head")
	}
	var all []plan.External
	var named []string
	add := func(as string, e plan.External) {
		e.File, e.As = of[0].File, as
		all, named = append(all, e), append(named, as+"-"+arms[0])
	}
	if len(programs) == 0 {
		add("base", plan.External{From: f.base, Build: f.build})
		add("head", plan.External{From: f.head, Build: f.build})
		return all, named, nil
	}
	for i, program := range programs {
		as := external.NameOf(filepath.Base(program), "at")
		if slices.ContainsFunc(all, func(e plan.External) bool { return e.As == as }) {
			as += "-" + string(rune('a'+i))
		}
		add(as, plan.External{Program: program})
	}
	return all, named, nil
}

// programsOf splits off the arguments that are programs.
func programsOf(args []string) (programs, rest []string) {
	for _, arg := range args {
		if info, err := os.Stat(arg); err == nil && strings.Contains(arg, "/") && info.Mode().IsRegular() && !described(arg) {
			if _, err := exec.LookPath(arg); err == nil {
				programs = append(programs, arg)
				continue
			}
		}
		rest = append(rest, arg)
	}
	return programs, rest
}

// permitted refuses hosts that are not this machine, but the one that the user says may be loaded.
func (a *app) permitted(mayLoad string) error {
	for _, w := range a.foreign.service.Wires {
		if _, started := a.foreign.starts[w.Name]; started || loopback(w.Address) || w.MayLoad == hostOf(w.Address) {
			continue
		}
		if host := hostOf(w.Address); mayLoad != host {
			return notHere(host)
		}
	}
	return nil
}

// notHere refuses a host that nobody has said may be loaded.
func notHere(host string) error {
	return cli.Usage("%s is not this machine: if you may load it, say so with --i-may-load %s, or with may_load in its description", host, host)
}

// hostOf is the host of an address.
func hostOf(address string) string {
	return strings.Trim(address[:max(strings.LastIndex(address, ":"), 0)], "[]")
}

// foreignArms gives arms of external services their addresses, and one driver: raw where it can carry all of them.
func (a *app) foreignArms(p plan.Plan) (arms []plan.Arm, said string) {
	if len(p.External) == 0 {
		return p.Arms, ""
	}
	why := ""
	for _, arm := range p.Arms {
		if w := a.foreign.service.RawWhy(p.Operation, arm.Protocol); w != "" && why == "" {
			why = arm.Protocol + ": " + w
		}
	}
	for _, arm := range p.Arms {
		if arm.Driver == "" && arm.Client == "" {
			arm.Name = arm.String()
			arm.Driver = plan.DriverClient
			if why == "" {
				arm.Driver = plan.DriverRaw
			}
		}
		arms = append(arms, a.reached(arm))
	}
	if why != "" {
		return arms, "the client library, since raw cannot call " + why
	}
	return arms, "raw"
}

// foreignPlan is a plan whose work, if it is an external service, can be found, and whose arms say where that is.
func (a *app) foreignPlan(ctx context.Context, p plan.Plan) (plan.Plan, error) {
	p, err := a.foreignWork(ctx, p)
	if err != nil || len(p.External) == 0 {
		return p, err
	}
	arms := slices.Clone(p.Arms)
	for i := range arms {
		arms[i] = a.reached(arms[i])
	}
	p.Arms = arms
	return p, a.permitted(a.mayLoad)
}

// startOf says how an external service is started; nil if it runs already.
func startOf(e plan.External, d external.Description) *external.Start {
	start := d.Start
	switch {
	case e.Start != "" && start == nil:
		start = &external.Start{}
	case start == nil:
		return nil
	}
	own := *start
	if e.Start != "" {
		own.Run, own.Command = nil, e.Start
	}
	return &own
}
