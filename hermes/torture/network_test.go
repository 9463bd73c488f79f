package torture

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"wirelab/hermes/local"
)

// bridgePrefix and the process id are the bridge's name: a link's has 15 bytes at most.
const bridgePrefix = "hmt"

// network is a bridge with a namespace for each node. The test itself is at the bridge, so
// that a client reaches every node that is not unplugged.
type network struct {
	spaces, links, hosts []string
}

// plug makes a network. Its addresses are of 198.18.0.0/15, which is for tests.
func plug(t *testing.T, nodes int) *network {
	t.Helper()
	pid := os.Getpid()
	bridge := fmt.Sprintf("%s%d", bridgePrefix, pid)
	net := fmt.Sprintf("198.18.%d.", pid%256)
	must(t, "ip", "link", "add", bridge, "type", "bridge")
	t.Cleanup(func() {
		if err := tool("ip", "link", "del", bridge); err != nil {
			t.Error(err)
		}
	})
	must(t, "ip", "addr", "add", net+"254/24", "dev", bridge)
	must(t, "ip", "link", "set", bridge, "up")
	n := &network{}
	for i := range nodes {
		space, link := fmt.Sprintf("%s%d-%d", own, pid, i+1), fmt.Sprintf("v%d-%d", pid, i+1)
		must(t, "ip", "netns", "add", space)
		t.Cleanup(func() {
			_ = tool("ip", "link", "del", link) // else it goes when the kernel gets to it
			if err := tool("ip", "netns", "del", space); err != nil {
				t.Error(err)
			}
		})
		host := fmt.Sprint(net, i+1)
		must(t, "ip", "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", space)
		must(t, "ip", "link", "set", link, "master", bridge, "up")
		must(t, "ip", "-n", space, "addr", "add", host+"/24", "dev", "eth0")
		must(t, "ip", "-n", space, "link", "set", "eth0", "up")
		must(t, "ip", "-n", space, "link", "set", "lo", "up")
		n.spaces, n.links, n.hosts = append(n.spaces, space), append(n.links, link), append(n.hosts, host)
	}
	return n
}

// options run a cluster in it; no other process is there to read along.
func (n *network) options() local.Options {
	return local.Options{Hosts: n.hosts, Args: []string{"--insecure"}, Wrap: func(id int) []string {
		return []string{"ip", "netns", "exec", n.spaces[id-1]}
	}}
}

// unplug takes a node off the network, clients and all: neither side learns of it.
func (n *network) unplug(t *testing.T, id int, off bool) {
	t.Helper()
	state := "up"
	if off {
		state = "down"
	}
	must(t, "ip", "link", "set", n.links[id-1], state)
}

// mute lets nothing that a node sends to other nodes get out, while it hears them and
// clients reach it.
func (n *network) mute(t *testing.T, id int, off bool) {
	t.Helper()
	for i := range n.hosts {
		if i+1 != id {
			n.hole(t, id, i+1, off)
		}
	}
}

// deafen lets nothing that other nodes send to a node get there, while they hear it.
func (n *network) deafen(t *testing.T, id int, off bool) {
	t.Helper()
	for i := range n.hosts {
		if i+1 != id {
			n.hole(t, i+1, id, off)
		}
	}
}

// part cuts a node off the other nodes, both ways, while clients reach all of them.
func (n *network) part(t *testing.T, id int, off bool) {
	t.Helper()
	n.mute(t, id, off)
	n.deafen(t, id, off)
}

// hole makes all packets from one node to another vanish.
func (n *network) hole(t *testing.T, from, to int, off bool) {
	t.Helper()
	does := "del"
	if off {
		does = "add"
	}
	must(t, "ip", "-n", n.spaces[from-1], "route", does, "blackhole", n.hosts[to-1]+"/32")
}

// The network is cut in all ways that three nodes have, under load. Nothing acknowledged is lost; a majority
// continues; a node that was cut off comes back by itself.
func TestPartition(t *testing.T) {
	needs(t, netns)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute+time.Duration(*rounds)*time.Minute)
	defer cancel()
	n := plug(t, 3)
	_, c := begin(ctx, t, n.options())
	cuts := []struct {
		fault *fault
		cut   func(t *testing.T, id int, off bool)
	}{
		{found.does(t, "leader unplugged", *rounds), n.unplug},
		{found.does(t, "leader cut off from the nodes, not from clients", *rounds), n.part},
		{found.does(t, "leader hears the nodes and is not heard", *rounds), n.mute},
		{found.does(t, "leader is heard by the nodes and hears none", *rounds), n.deafen},
	}
	follower := found.does(t, "follower unplugged", *rounds)
	whileLoaded(ctx, t, c, "partitions", func(a *account) {
		for i := 0; more(i, *rounds); i++ {
			for _, how := range cuts {
				was := int(leader(ctx, t, c))
				at := time.Now()
				how.cut(t, was, true)
				how.fault.cost(t, untilBack(ctx, t, a, at))
				how.cut(t, was, false)
				caughtUp(ctx, t, c)
			}
			other := int(leader(ctx, t, c))%3 + 1
			n.unplug(t, other, true)
			follower.cost(t, goesOn(ctx, t, a))
			pause(ctx, time.Second) // it would stand for election in the meantime
			goesOn(ctx, t, a)
			n.unplug(t, other, false)
			caughtUp(ctx, t, c)
		}
	})
}

// Links go down and up again, any of them at any time.
func TestFlapping(t *testing.T) {
	needs(t, netns)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute+time.Duration(*rounds)*time.Minute)
	defer cancel()
	n := plug(t, 3)
	_, c := begin(ctx, t, n.options())
	r, gap := random(t), found.does(t, "links that flap (the longest gap)", 1)
	whileLoaded(ctx, t, c, "flapping", func(a *account) {
		for i := 0; more(i, 6**rounds); i++ {
			id := 1 + r.IntN(3)
			n.unplug(t, id, true)
			pause(ctx, time.Duration(r.IntN(500))*time.Millisecond)
			n.unplug(t, id, false)
			pause(ctx, time.Duration(r.IntN(200))*time.Millisecond)
		}
		caughtUp(ctx, t, c)
		goesOn(ctx, t, a)
		gap.cost(t, a.gap())
	})
}
