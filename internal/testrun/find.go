package main

import (
	"context"
	"os"
	"slices"
	"strings"

	"wirelab/internal/prereq"
	"wirelab/system/postgres"
	"wirelab/system/rabbitmq"
)

// lack is something that is not here.
type lack struct {
	prereq.Thing
	err error
}

// find finds what is missing of all that tests ask for.
func find(ctx context.Context) (lacking []lack) {
	check := func(x prereq.Thing, err error) {
		if err != nil {
			lacking = append(lacking, lack{x, err})
		}
	}
	tool := func(names ...string) (err error) {
		for _, n := range names {
			if _, err = prereq.FindTool(n); err != nil {
				return err
			}
		}
		return nil
	}
	_, err := postgres.Find(ctx, os.Getenv)
	check(prereq.PostgreSQL, err)
	_, err = rabbitmq.Find(ctx, os.Getenv)
	check(prereq.RabbitMQ, err)
	_, err = prereq.FindChromium()
	check(prereq.Chromium, err)
	check(prereq.Python, prereq.FindPython())
	check(prereq.Node, prereq.FindNode())
	check(prereq.Curl, tool("curl"))
	check(prereq.Strace, tool("strace"))
	check(prereq.Loop, tool("mount", "mkfs.ext4"))
	check(prereq.Namespaces, tool("ip"))
	check(prereq.Root, prereq.FindRoot())
	return lacking
}

// packages are those of Debian that bring the missing things.
func packages(lacking []lack) (all []string) {
	for _, l := range lacking {
		all = append(all, l.Packages...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// install is the one command that installs them.
func install(names []string) string {
	return "apt-get update && apt-get install --yes --no-install-recommends " + strings.Join(names, " ")
}

// remedy says what to do about what is missing.
func remedy(lacking []lack) string {
	said := ""
	if names := packages(lacking); len(names) > 0 {
		said = "make tools says how to install " + strings.Join(names, " ") + ". As root on Debian it installs them."
	}
	if slices.ContainsFunc(lacking, func(l lack) bool { return l.Name == prereq.Root.Name }) {
		said = strings.TrimSpace(said + " As root, run what needs root.")
	}
	return said
}
