package agent

import (
	"context"
	"net"
	"slices"
	"sync/atomic"
	"time"
)

// reachTime limits how long one address of a host may take to accept a connection.
const reachTime = 2 * time.Second

// lookup returns the IP addresses of a host.
type lookup func(ctx context.Context, host string) ([]string, error)

// inTurn returns a function that gives each new connection the next address of a host with several addresses. It uses
// only addresses that accept connections, and the seed chooses the first. It returns nil if fewer than two servers
// accept. Without it all connections would go to the first address: only one replica would be measured, and the result
// would not show it.
func inTurn(ctx context.Context, find lookup, address string, seed uint64) func() string {
	host, port, err := net.SplitHostPort(address)
	if err != nil || net.ParseIP(host) != nil {
		return nil
	}
	all, err := find(ctx, host)
	if err != nil || len(all) < 2 {
		return nil // dialling reports the error
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

// reached reports whether an address accepts a connection.
func reached(ctx context.Context, address string) bool {
	dialer := net.Dialer{Timeout: reachTime}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return false
	}
	_ = conn.Close() // nothing was sent
	return true
}

// sameMachine reports whether the addresses are the loopback addresses of this machine, at most one of each IP version.
// A server that listens on both is one server, not two replicas.
func sameMachine(all []string) bool {
	four := false
	for _, at := range all {
		host, _, _ := net.SplitHostPort(at) // JoinHostPort made it, so that it cannot fail
		ip := net.ParseIP(host)
		if !ip.IsLoopback() {
			return false
		}
		if ip.To4() != nil {
			if four {
				return false // two addresses of one IP version are two servers
			}
			four = true
		}
	}
	return true
}
