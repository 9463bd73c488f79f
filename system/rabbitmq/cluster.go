package rabbitmq

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	randv2 "math/rand/v2"

	"wirelab"
	"wirelab/internal/affinity"
	"wirelab/internal/daemon"
	"wirelab/system/cluster"
)

// StartCluster starts so many servers, one after the other, each at its own of
// [Options.Hosts] if there are, and joins them. Quorum
// queues have a copy on each of up to five of them. It takes some ten seconds a
// server.
func StartCluster(ctx context.Context, o Options, size int) (*cluster.Cluster[*Server], error) {
	if size < 1 || size > 9 {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "a RabbitMQ cluster of %d; 1 to 9 are possible", size)
	}
	port, err := daemon.FreePort()
	if err != nil {
		return nil, err
	}
	hosts := o.Hosts
	if hosts == nil {
		hosts = loopback(size)
	}
	if len(hosts) != size {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "a RabbitMQ cluster of %d at %d hosts", size, len(hosts))
	}
	var all []string
	for _, host := range hosts {
		all = append(all, host.Address)
	}
	c := cluster.New[*Server](cluster.LastFirst)
	cookie, password := rand.Text(), rand.Text()
	for _, host := range hosts {
		s, err := start(ctx, o, &Server{
			node:   node{host: host.Address, port: port, all: all, namespace: host.Namespace},
			cookie: cookie, password: password,
		})
		if err != nil {
			return nil, errors.Join(err, c.Stop(context.WithoutCancel(ctx)))
		}
		c.Add(s)
	}
	return c, nil
}

// loopback returns hosts of a network of the loopback, which on Linux is all of
// 127.0.0.0/8. It is drawn, so that two clusters do not meet.
func loopback(size int) (hosts []affinity.Host) {
	network := fmt.Sprintf("127.%d.%d", 1+randv2.IntN(254), 1+randv2.IntN(254))
	for i := range size {
		hosts = append(hosts, affinity.Host{Address: fmt.Sprintf("%s.%d", network, i+1)})
	}
	return hosts
}
