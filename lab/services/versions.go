package services

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"wirelab"
	"wirelab/lab/plan"
	"wirelab/workload/catalog"
	"wirelab/workload/external"
)

// noOperation is the error for a text that is not WORKLOAD.OPERATION.
func noOperation(text string) error {
	return &wirelab.Error{
		Code: wirelab.InvalidArgument, Unknown: text,
		Message: fmt.Sprintf("--workload: unknown operation %.100q; want WORKLOAD.OPERATION, such as "+
			"routeguide.GetFeature; wirelab matrix lists them", text),
	}
}

// Choice says which external service is the work, and which versions of it are compared.
type Choice struct {
	Operation, Base, Head, Start, Build, MayLoad string
}

// versionsDiffer is the smallest difference between versions that counts as one. Two copies of one program differed
// by 0.8 to 1.5 % of server CPU, always in the same direction, and one program under two names by 0.1 %: the place of
// its file in memory matters.
const versionsDiffer = 0.02

// Work sets the plan's work: a workload of ours, or the external services that arms name, such as shop.yaml:rest. It
// returns the arms under the names that plans use.
func (f *Choice) Work(ctx context.Context, s *Services, p *plan.Plan, workload string,
	args []string,
) ([]string, error) {
	programs, args := programsOf(args)
	arms, of, owners, err := externalArms(args)
	if err != nil {
		return nil, err
	}
	if len(of) == 0 {
		if f.Operation != "" || f.Base != "" || f.Head != "" || f.Start != "" || len(programs) > 0 {
			return nil, wirelab.Errorf(wirelab.InvalidArgument,
				"--operation, --start, --base and --head are for external services: name the arm as FILE:WIRE, such as "+
					"shop.yaml:rest")
		}
		if workload == "" {
			return nil, wirelab.Errorf(wirelab.InvalidArgument,
				"--workload is missing; write for example -w routeguide.GetFeature, or name an arm as shop.yaml:rest")
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
		return nil, wirelab.Errorf(wirelab.InvalidArgument,
			"--workload is for wirelab's own workloads; for %s write --operation %s", of[0].File, workload)
	}
	services := len(of)
	if of, arms, err = f.versions(of, arms, programs); err != nil {
		return nil, err
	}
	if len(of) > services && p.Practical == 0 {
		p.Practical = versionsDiffer
	}
	for i := range of {
		if f.Start != "" {
			of[i].Start = f.Start
		}
	}
	p.External, p.Workload, p.Operation = of, "services", f.Operation
	if *p, err = s.MakeWork(ctx, *p); err != nil {
		return nil, err
	}
	p.Workload = s.Made.Service.Service
	for i := range arms {
		if services > 1 { // with several services, a wire is named with its service
			arms[i] = s.Made.names[owners[i]] + "-" + arms[i]
		}
	}
	if err := f.chooseOperation(s, p, arms); err != nil {
		return nil, err
	}
	s.MayLoad = f.MayLoad
	return arms, s.Permitted(s.MayLoad)
}

// chooseOperation chooses the only operation if none is named.
func (f *Choice) chooseOperation(s *Services, p *plan.Plan, arms []string) error {
	if p.Operation != "" {
		return nil
	}
	var names []string
	for _, o := range s.Made.Service.Operations {
		names = append(names, o.Name)
	}
	if len(names) > 1 {
		return wirelab.Errorf(wirelab.InvalidArgument, "--operation is missing; %s has %s", strings.Join(arms, " and "),
			strings.Join(names, ", "))
	}
	p.Operation = names[0]
	return nil
}

// versions turns versions to compare into services.
func (f *Choice) versions(of []plan.External, arms, programs []string) ([]plan.External, []string, error) {
	if f.Base == "" && f.Head == "" && len(programs) == 0 {
		if f.Build != "" {
			return nil, nil, wirelab.Errorf(wirelab.InvalidArgument,
				"--build builds versions: give --base and --head too, such as --base git:main --head git:HEAD")
		}
		return of, arms, nil
	}
	switch {
	case len(of) != 1 || len(arms) != 1:
		return nil, nil, wirelab.Errorf(wirelab.InvalidArgument,
			"versions are compared over one wire: name one arm, such as shop.yaml:rest")
	case len(programs) == 0 && (f.Base == "" || f.Head == ""):
		return nil, nil, wirelab.Errorf(wirelab.InvalidArgument,
			"give both --base and --head, such as --base git:main --head git:HEAD")
	case len(programs) > 0 && (f.Base != "" || f.Head != "" || f.Build != ""):
		return nil, nil, wirelab.Errorf(wirelab.InvalidArgument,
			"give either programs to compare, or --base and --head")
	}
	var all []plan.External
	var named []string
	add := func(as string, e plan.External) {
		e.File, e.As = of[0].File, as
		all, named = append(all, e), append(named, as+"-"+arms[0])
	}
	if len(programs) == 0 {
		add("base", plan.External{From: f.Base, Build: f.Build})
		add("head", plan.External{From: f.Head, Build: f.Build})
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

// programsOf separates the arguments that are programs.
func programsOf(args []string) (programs, rest []string) {
	for _, arg := range args {
		if info, err := os.Stat(arg); err == nil && strings.Contains(arg, "/") && info.Mode().IsRegular() &&
			!Described(arg) {
			if _, err := exec.LookPath(arg); err == nil {
				programs = append(programs, arg)
				continue
			}
		}
		rest = append(rest, arg)
	}
	return programs, rest
}
