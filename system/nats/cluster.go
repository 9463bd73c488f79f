package nats

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"wirelab"
	"wirelab/internal/affinity"
	"wirelab/internal/daemon"
	"wirelab/internal/process"
	"wirelab/system/cluster"
)

// ClusterName is that of all clusters of ours; none meets another.
const ClusterName = "wirelab"

// MemberName is the name of a cluster's server, the first being 0.
func MemberName(i int) string { return fmt.Sprintf("wirelab-%d", i+1) }

// StartCluster starts so many servers, each in a child process, at its own of [Options.Hosts] if there are, and
// waits until they have a leader for their streams. Each has its own directory, so [Options.Directory] and
// [Options.Port] must be empty.
func StartCluster(
	ctx context.Context, command process.Command, o Options, size int,
) (*cluster.Cluster[*Server], error) {
	if size < 1 || o.Directory != "" || o.Port != 0 {
		return nil, wirelab.Errorf(wirelab.InvalidArgument,
			"a NATS cluster of %d with directory %q and port %d; the last "+
				"two are each server's own", size, o.Directory, o.Port)
	}
	if o.Password == "" {
		o.Password = password()
	}
	hosts := o.Hosts
	if hosts == nil {
		hosts = slices.Repeat([]affinity.Host{{Address: localhost}}, size)
	}
	if len(hosts) != size {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "a NATS cluster of %d at %d hosts", size, len(hosts))
	}
	all := make([]string, size)
	for i, host := range hosts {
		port, err := daemon.FreePort()
		if err != nil {
			return nil, err
		}
		all[i] = net.JoinHostPort(host.Address, strconv.Itoa(port))
	}
	c := cluster.New[*Server](cluster.LastFirst)
	for i, host := range hosts {
		o.Member = &Member{Name: MemberName(i), At: all[i], All: all}
		o.Host, command.Namespace = host.Address, host.Namespace
		s, err := Start(ctx, command, o)
		if err != nil {
			return nil, errors.Join(err, c.Stop(context.WithoutCancel(ctx)))
		}
		c.Add(s)
	}
	if err := await(ctx, c); err != nil {
		return nil, errors.Join(fmt.Errorf("a NATS cluster of %d: %w", size, err), c.Stop(context.WithoutCancel(ctx)))
	}
	return c, nil
}

// await waits until a stream with a copy on each member can be made, which is
// when all have met and there is a leader.
func await(ctx context.Context, c *cluster.Cluster[*Server]) error {
	ctx, cancel := context.WithTimeout(ctx, StartLimit)
	defer cancel()
	conn, err := client.Connect(strings.Join(c.URLs(), ","), client.MaxReconnects(-1))
	if err != nil {
		return err
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	const probe = "wirelab-probe"
	for {
		asking, done := context.WithTimeout(ctx, 2*time.Second)
		_, err = js.CreateStream(asking, jetstream.StreamConfig{
			Name: probe, Subjects: []string{probe},
			Replicas: len(c.Nodes()),
		})
		done()
		if err == nil {
			return js.DeleteStream(ctx, probe)
		}
		select {
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		case <-again.C:
		}
	}
}
