package main

import (
	"time"

	"wirelab/cmd/internal/cli"
	"wirelab/hermes/api/intake"
	"wirelab/hermes/descriptors"
	"wirelab/wire/acceptloop"
)

const (
	// silenceLimit ends a connection on which nothing came. A client sends at once when it is connected.
	silenceLimit = 10 * time.Second
	// peersMost is on the connections of other nodes: far more than a cluster has nodes.
	peersMost = 256
	// connectionsLeast is below what a node is of any use.
	connectionsLeast = 8
)

// bounds are on the connections of a node's listeners.
type bounds struct{ peer, clients acceptloop.Limits }

// bounds divides the descriptors that the log leaves over. Other nodes get a quarter of them, at most
// peersMost; the two ports for clients share the rest. One address has half of a port: clients behind a
// proxy that does not multiplex come from one address, so it must not be a small part, and the other half is
// left to those who come another way.
func (c *config) bounds(limit int) (bounds, error) {
	if c.connections < connectionsLeast || c.perAddress < 0 {
		return bounds{}, cli.Usage("--connections is %d and --connections-per-address is %d: want at least %d, and 0 "+
			"or more",
			c.connections, c.perAddress, connectionsLeast)
	}
	if c.requests < intake.Least {
		return bounds{}, cli.Usage("--request-bytes is %d: want at least %d, so that the largest request can be served",
			c.requests, intake.Least)
	}
	log, err := c.forLog(limit)
	if err != nil {
		return bounds{}, err
	}
	room := descriptors.Room(limit, log)
	peers := min(peersMost, room/4)
	each := min(c.connections, (room-peers)/2)
	if each < connectionsLeast {
		return bounds{}, cli.Usage("this process may open %d files, of which %d are held back for the log: "+
			"raise its limit (ulimit -n, or LimitNOFILE of systemd)", limit, limit-room)
	}
	one := min(c.perAddress, each)
	if one == 0 {
		one = each / 2
	}
	return bounds{
		peer:    acceptloop.Limits{Total: peers, Vouched: true},
		clients: acceptloop.Limits{Total: each, PerAddress: one, Silence: silenceLimit},
	}, nil
}
