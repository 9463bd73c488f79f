package http3

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"time"

	"github.com/quic-go/quic-go"
)

// headStart is how long an address has to answer before the next one is tried as well (RFC 8305, 8: 250 ms).
const headStart = 250 * time.Millisecond

// peersMost is how many addresses of a name are tried.
const peersMost = 8

// resolve returns the addresses of a host and port, at least one and at most [peersMost].
func resolve(ctx context.Context, address string) ([]*net.UDPAddr, error) {
	host, service, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	port, err := net.DefaultResolver.LookupPort(ctx, "udp", service)
	if err != nil {
		return nil, err
	}
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, err
	}
	var peers []*net.UDPAddr
	for _, ip := range found[:min(len(found), peersMost)] {
		peers = append(peers, net.UDPAddrFromAddrPort(netip.AddrPortFrom(ip.Unmap(),
			uint16(port)))) //nolint:gosec // a port
	}
	return peers, nil
}

// first connects to one of several addresses: the one that answers first. Nothing says that no one listens at a
// UDP port, so that a name whose first address has no server would otherwise time out. Each address gets a head
// start on the next.
func first(
	ctx context.Context, peers []*net.UDPAddr, dial func(context.Context, *net.UDPAddr) (*quic.Conn, error),
) (*quic.Conn, error) {
	if len(peers) == 1 {
		return dial(ctx, peers[0])
	}
	type tried struct {
		conn *quic.Conn
		err  error
	}
	results := make(chan tried)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var won *quic.Conn
	var failed error
	begun, ended := 0, 0
	timer := time.NewTimer(headStart)
	defer timer.Stop()
	next := func() {
		if won != nil || begun == len(peers) {
			return
		}
		peer := peers[begun]
		begun++
		timer.Reset(headStart)
		go func() {
			conn, err := dial(ctx, peer)
			results <- tried{conn, err}
		}()
	}
	next()
	for ended < begun {
		select {
		case <-timer.C:
			next()
		case r := <-results:
			ended++
			switch {
			case r.err != nil:
				failed = errors.Join(failed, r.err)
				next()
			case won == nil:
				won = r.conn
				stop() // the others end, and are waited for
			default:
				_ = r.conn.CloseWithError(0, "") // it came too late
			}
		}
	}
	if won != nil {
		return won, nil
	}
	return nil, failed
}
