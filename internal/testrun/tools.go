package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// Files that keep packages from starting a server of the system's.
const (
	clusters = "/etc/postgresql-common/createcluster.conf"
	policy   = "/usr/sbin/policy-rc.d"
)

// tools says how to install that is missing; as root where there is apt-get it does so.
func tools(ctx context.Context, to io.Writer, lacking []lack) (err error) {
	names := packages(lacking)
	if len(names) == 0 {
		_, err := fmt.Fprintln(to, "All that the tests ask for is here.")
		return err
	}
	for _, l := range lacking {
		if len(l.Packages) > 0 {
			_, _ = fmt.Fprintf(to, "%-20s %s\n", l.Name, cut(l.err.Error(), widest-21))
		}
	}
	_, err = exec.LookPath("apt-get")
	if os.Geteuid() != 0 || err != nil {
		_, err := fmt.Fprintf(to, "\nInstall it as root, on Debian with:\n  %s\n", install(names))
		return err
	}
	_, _ = fmt.Fprintf(to, "\nRunning: %s\n", install(names))
	undo, err := quiet()
	defer func() { err = errors.Join(err, undo()) }()
	if err != nil {
		return err
	}
	if err := apt(ctx, to, names); err != nil {
		return err
	}
	if slices.Contains(names, "rabbitmq-server") {
		// It would start when the machine does. Without systemd there is nothing to forbid.
		_ = exec.CommandContext(ctx, "systemctl", "disable", "rabbitmq-server").Run()
	}
	if left := packages(find(ctx)); len(left) > 0 {
		return fmt.Errorf("installed, and still missing: %v", left)
	}
	_, err = fmt.Fprintln(to, "All that the tests ask for is here.")
	return err
}

// apt installs packages.
func apt(ctx context.Context, to io.Writer, names []string) error {
	// Some settings were written by us before the package that they belong to came.
	flags := []string{"install", "--yes", "--no-install-recommends", "-o", "Dpkg::Options::=--force-confold"}
	for _, args := range [][]string{{"update"}, append(flags, names...)} {
		command := exec.CommandContext(ctx, "apt-get", args...) //nolint:gosec // the names are ours
		command.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		command.Stdout, command.Stderr = to, to
		if err := command.Run(); err != nil {
			return fmt.Errorf("apt-get %s: %w", args[0], err)
		}
	}
	return nil
}

// quiet forbids packages to make and start servers of the system's: tests start
// their own. What was forbidden for the time of the installation is undone.
func quiet() (undo func() error, err error) {
	undo = func() error { return nil }
	if _, err := os.Stat(clusters); errors.Is(err, os.ErrNotExist) {
		text := "# By wirelab, whose tests need the programs only.\ncreate_main_cluster = false\n"
		if err := errors.Join(os.MkdirAll(filepath.Dir(clusters), 0o755), os.WriteFile(clusters, []byte(text),
			0o644)); err != nil { //nolint:gosec // others read it
			return undo, err
		}
	}
	if _, err := os.Stat(policy); errors.Is(err, os.ErrNotExist) {
		undo = func() error { return os.Remove(policy) }
		if err := os.WriteFile(policy, []byte("#!/bin/sh\nexit 101\n"),
			0o755); err != nil { //nolint:gosec // it is a script
			return undo, err
		}
	}
	return undo, nil
}
