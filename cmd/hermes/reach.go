package main

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"syscall"
	"time"

	"wirelab/cmd/internal/cli"
	"wirelab/internal/fault"
	"wirelab/wire/status"
)

// Bounds on the search for a node.
const (
	refusalGrace = time.Second            // for how long nodes that begin may refuse
	refusalPause = 100 * time.Millisecond // between tries
)

// reach sees to it that something listens at one of the addresses at least. The client itself continues trying,
// since a cluster may be without a leader for a while; a person who named a wrong address, or has started no
// node yet, should learn that at once. Where --timeout is given it is tried for that long.
func (a *app) reach(ctx context.Context, f clientFlags, addresses []string) error {
	for _, address := range addresses {
		if _, _, err := net.SplitHostPort(address); err != nil {
			return cli.Usage("--server %.100q is not HOST:PORT, such as %s", address, defaultGRPC)
		}
	}
	patience := refusalGrace
	if f.flags != nil && f.flags.Changed("timeout") {
		patience = f.timeout
	}
	defer a.Waiting("a node at "+strings.Join(addresses, " or "), f.timeout)()
	for began := time.Now(); ; {
		err, certain := anyListens(ctx, addresses, f.timeout)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case time.Since(began) >= f.timeout, certain && time.Since(began) >= patience:
			return status.Errorf(status.Unavailable,
				"no node answers: %s; start one with hermes dev, or say with --server "+
					"where one is", fault.Text(err))
		}
		pause := time.NewTimer(min(refusalPause, patience))
		select {
		case <-ctx.Done():
			pause.Stop()
			return ctx.Err()
		case <-pause.C:
		}
	}
}

// anyListens tries all addresses at once. It is nil when one listens, and else says what they said; certain
// tells that none may yet answer: each refused, or is not there.
//
//nolint:revive // the error is the answer
func anyListens(ctx context.Context, addresses []string, within time.Duration) (err error, certain bool) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	said := make([]error, len(addresses))
	var all sync.WaitGroup
	for i, address := range addresses {
		all.Go(func() {
			conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
			if said[i] = err; err == nil {
				_ = conn.Close() // nothing was sent
				cancel()         // one is enough
			}
		})
	}
	all.Wait()
	certain = true
	var texts []string
	for _, err := range said {
		if err == nil {
			return nil, false
		}
		name := new(net.DNSError)
		certain = certain && (errors.Is(err, syscall.ECONNREFUSED) || errors.As(err, &name) && name.IsNotFound)
		texts = append(texts, fault.Text(err))
	}
	return errors.New(strings.Join(texts, ", ")), certain
}
