package agent

import (
	"context"
	"net"
	"slices"
	"sync/atomic"
	"time"
)

// reachTime is how long an address of several may take to take a connection.
const reachTime = 2 * time.Second

// lookup finds the addresses of a host.
type lookup func(ctx context.Context, host string) ([]string, error)

// inTurn returns what gives each connection the next address of a host that has several, of
// those that take connections, from one on that the seed draws; nil if there are not several.
// Else all connections would go to the first: one replica would be measured, and nobody told.
func inTurn(ctx context.Context, find lookup, address string, seed uint64) func() string {
	host, port, err := net.SplitHostPort(address)
	if err != nil || net.ParseIP(host) != nil {
		return nil
	}
	all, err := find(ctx, host)
	if err != nil || len(all) < 2 {
		return nil // who dials says why
	}
	slices.Sort(all)
	var open []string
	for _, ip := range slices.Compact(all) {
		if at := net.JoinHostPort(ip, port); reached(ctx, at) {
			open = append(open, at)
		}
	}
	if len(open) < 2 || sameMachine(open) {
		return nil
	}
	var next atomic.Uint64
	next.Store(seed % uint64(len(open)))
	return func() string { return open[(next.Add(1)-1)%uint64(len(open))] }
}

// reached reports whether an address takes a connection.
func reached(ctx context.Context, address string) bool {
	dialer := net.Dialer{Timeout: reachTime}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return false
	}
	_ = conn.Close() // nothing was sent
	return true
}

// sameMachine reports whether addresses are this machine's own in both families: a server
// that listens on all of them is one.
func sameMachine(all []string) bool {
	four := false
	for _, at := range all {
		host, _, _ := net.SplitHostPort(at) // JoinHostPort made it
		ip := net.ParseIP(host)
		if !ip.IsLoopback() {
			return false
		}
		if ip.To4() != nil {
			if four {
				return false // two of one family are two servers
			}
			four = true
		}
	}
	return true
}
