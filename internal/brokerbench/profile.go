package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime/pprof"
	"sync"
	"time"
)

// showing is a rival whose nodes show profiles, on sockets.
type showing interface{ Profiles() (sockets []string) }

// Profiles implements [showing].
func (r *hermesRival) Profiles() (sockets []string) {
	for _, n := range r.cluster.Nodes {
		sockets = append(sockets, filepath.Join(n.Dir, "profile.sock"))
	}
	return sockets
}

// profiled measures, in the first round with a profile of what goes on meanwhile, if one is wanted.
func (b *bench) profiled(ctx context.Context, r rival, s shape, round int, measure func() (outcome, error)) (one outcome, err error) {
	if b.profile == "" || round > 0 {
		return measure()
	}
	if err := os.MkdirAll(b.profile, 0o755); err != nil {
		return one, err
	}
	name := func(of string) string {
		return filepath.Join(b.profile, fmt.Sprintf("%s-%s-%s.pprof", s.name, r.Name(), of))
	}
	own, err := os.Create(name("driver"))
	if err != nil {
		return one, err
	}
	defer func() { err = errors.Join(err, own.Close()) }()
	if err := pprof.StartCPUProfile(own); err != nil {
		return one, err
	}
	defer pprof.StopCPUProfile()
	var nodes []string
	if r, ok := r.(showing); ok {
		nodes = r.Profiles()
	}
	failed := make([]error, len(nodes))
	var fetching sync.WaitGroup
	for i, socket := range nodes {
		fetching.Go(func() {
			failed[i] = fetch(ctx, socket, b.window.warm+b.window.length, name(fmt.Sprintf("node-%d", i+1)))
		})
	}
	one, err = measure()
	fetching.Wait()
	return one, errors.Join(err, errors.Join(failed...))
}

// fetch has a profile taken for a while, whole seconds, and stores it.
func fetch(ctx context.Context, socket string, took time.Duration, name string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, took+patience)
	defer cancel()
	asked, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://node/debug/pprof/profile?seconds=%d", max(1, int(took.Seconds()))), nil)
	if err != nil {
		return err
	}
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}
	defer transport.CloseIdleConnections()
	answer, err := (&http.Client{Transport: transport}).Do(asked)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }() // it was read
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", socket, answer.Status)
	}
	to, err := os.Create(name)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, answer.Body)
	return errors.Join(err, to.Close())
}
