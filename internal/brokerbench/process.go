package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"wirelab/hermes/client"
	"wirelab/hermes/local"
)

// startHermes starts a cluster in a temporary directory, and waits for a leader. Profiles:
// its nodes show them.
func startHermes(ctx context.Context, program string, profiles bool) (*hermesRival, error) {
	if _, err := os.Stat(program); err != nil {
		return nil, fmt.Errorf("build it first, with make build: %w", err)
	}
	directory, err := os.MkdirTemp("", "brokerbench-hermes-")
	if err != nil {
		return nil, err
	}
	args := []string{"--log-level=warn"}
	if profiles {
		args = append(args, "--profile")
	}
	r := &hermesRival{directory: directory, slow: -1}
	r.cluster, err = local.Start(ctx, local.Options{Program: program, Nodes: nodes, Dir: directory, Args: args, Wrap: r.wrap})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(directory))
	}
	if err := r.lead(ctx); err != nil {
		return nil, errors.Join(err, r.Stop(context.WithoutCancel(ctx)))
	}
	return r, nil
}

// lead waits for a leader.
func (r *hermesRival) lead(ctx context.Context) error {
	c, err := client.New(client.Options{Addresses: r.cluster.GRPC(), RetryFor: patience})
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }() // nothing is under way
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		if s, err := c.Status(ctx); err == nil && s.Leader != 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("no leader within %v; see the logs in %s", patience, r.directory)
		case <-again.C:
		}
	}
}

// Stop stops the nodes and removes their directory.
func (r *hermesRival) Stop(ctx context.Context) error {
	return errors.Join(r.cluster.Stop(ctx), os.RemoveAll(r.directory))
}
