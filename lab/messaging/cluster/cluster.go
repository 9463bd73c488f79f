// Package cluster runs message brokers for experiments: it starts a cluster of one kind, accounts for its processes,
// injects faults into its nodes, and stops it. It sends the nodes nothing but the requests that find the leader.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"wirelab"
	"wirelab/broker"
	"wirelab/broker/drivers"
	"wirelab/broker/hermes"
	"wirelab/internal/affinity"
	"wirelab/internal/daemon"
	"wirelab/internal/process"
	"wirelab/lab/network/kernel"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/system/cluster"
)

// Options say what is started.
type Options struct {
	Kind       string // one of [drivers.Started]
	Nodes      int
	Durability broker.Durability
	Variant    string // of how topics are kept, for what an acknowledgement promises
	CPUs       []int  // that the nodes may run on; nil: any
	Programs
	// Small puts the nodes' data on a disk so small that it can be filled up, which
	// takes root.
	Small bool
	// Apart puts each node into a separate network namespace, so that it can be cut off from the others; this takes
	// root.
	Apart bool
	// Nothing starts what speaks the kind's protocol and does nothing, in the place of its
	// nodes: see package broker/null.
	Nothing bool

	hosts []affinity.Host // where the nodes are; nil: on the loopback
}

// Programs are what nodes are: see packages hermes/local and nats.
type Programs struct {
	Hermes string          // the program of Hermes
	NATS   string          // the program of a NATS server
	Null   process.Command // one that is the null of the kind that is its last argument
}

// Cluster is a running cluster.
type Cluster struct {
	options Options
	home    string   // removed at the end
	owned   *os.File // its lock, held until then
	dir     string   // in it, of all that nodes keep
	unmount func() error
	segment *kernel.Segment // nil: all nodes are on the loopback
	brokers *brokers
	nodes   []*cluster.Node

	mu    sync.Mutex // guards all below: one fault at a time
	stage *stage
}

// brokers are the nodes of one kind.
type brokers struct {
	*cluster.Cluster[cluster.Server]
	about string
	// leader is the node that leads a topic, by index.
	leader func(ctx context.Context, topic string) (int, error)
}

// Start starts a cluster, and returns when it can be used.
func Start(ctx context.Context, o Options) (_ *Cluster, err error) {
	s := &Cluster{options: o}
	if err := s.settle(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Stop(context.WithoutCancel(ctx)))
		}
	}()
	if o.Small {
		if s.unmount, err = mountSmall(s.dir); err != nil {
			return nil, err
		}
	}
	if o.Apart {
		if s.segment, err = kernel.NewSegment(ctx, o.Nodes); err != nil {
			return nil, fmt.Errorf("%w; or leave scenario "+plan.Partition+" out", err)
		}
		o.hosts = s.segment.Hosts
	}
	switch {
	case o.Nothing && slices.Contains(drivers.Started(), o.Kind):
		s.brokers, err = startNull(ctx, o, s.dir)
	case o.Kind == drivers.Hermes:
		s.brokers, err = startHermes(ctx, o, s.dir)
	case o.Kind == drivers.NATS:
		s.brokers, err = startNATS(ctx, o, s.dir)
	case o.Kind == drivers.RabbitMQ:
		s.brokers, err = startRabbitMQ(ctx, o, s.dir)
	default:
		err = wirelab.UnknownName("message broker", o.Kind, drivers.Started())
	}
	if err != nil {
		return nil, err
	}
	for i, n := range s.brokers.Nodes() {
		s.nodes = append(s.nodes, cluster.NewNode(fmt.Sprintf("node %d", i+1), n))
	}
	return s, nil
}

// About names the broker with its version.
func (s *Cluster) About() string { return s.brokers.about }

// Addresses are where clients reach the nodes.
func (s *Cluster) Addresses() []string { return s.brokers.URLs() }

// Guarantee is what an acknowledgement promises.
func (s *Cluster) Guarantee() *result.Guarantee { return guaranteeOf(s.options, s.About()) }

// syncsClassic begins the names of RabbitMQs that bring a message in a classic queue to
// the disk before they confirm it, as system calls of 3.10 show; since 4.0, whose queues
// have another form, they do not ("How are the messages stored", RabbitMQ's blog, 2025).
const syncsClassic = "RabbitMQ 3."

// guaranteeOf is what an acknowledgement of a broker of a name promises that is started so.
func guaranteeOf(o Options, about string) *result.Guarantee {
	h := &result.Guarantee{Confirms: true, Persistent: true, Sync: result.SyncFirst, Queue: o.Variant}
	switch o.Kind {
	case drivers.Hermes:
		h.Broker = "Hermes"
		if h.Queue == "" {
			h.Queue = hermes.Consistent
		}
		if h.Queue != hermes.Consistent {
			h.Sync, h.Persistent = result.SyncLater, h.Queue != hermes.Performance
		}
	case drivers.NATS:
		h.Broker, h.Queue = "NATS JetStream", "stream"
		if o.Durability == broker.VendorDefault {
			h.Sync = result.SyncLater
		}
	case drivers.RabbitMQ:
		h.Broker = "RabbitMQ"
		if h.Queue == "" {
			h.Queue = string(broker.Quorum)
		}
		if h.Queue == string(broker.Classic) {
			h.Alone = o.Nodes > 1
			if !strings.HasPrefix(about, syncsClassic) {
				h.Sync = result.SyncLater
			}
		}
	}
	return h
}

// Kill ends every node at once.
func (s *Cluster) Kill(ctx context.Context) { s.brokers.Kill(ctx) }

// Stop stops the nodes and removes what they kept.
func (s *Cluster) Stop(ctx context.Context) error {
	var all error
	s.mu.Lock()
	stage := s.stage
	s.stage = nil
	s.mu.Unlock()
	if stage != nil {
		all = stage.close(ctx)
	}
	if s.brokers != nil {
		all = errors.Join(all, s.brokers.Stop(ctx))
	}
	if s.unmount != nil {
		all = errors.Join(all, s.unmount())
	}
	if s.segment != nil {
		s.segment.Remove()
	}
	return errors.Join(all, os.RemoveAll(s.home), s.owned.Close())
}

// prefix begins the names of the clusters' directories. kept is the directory in each that holds the nodes' data: a
// separate disk may be mounted there.
const (
	prefix = "wirelab-cluster-"
	kept   = "nodes"
)

// settle makes the directory, and removes those of clusters that were killed. Nothing else removes them.
func (s *Cluster) settle() (err error) {
	for _, left := range daemon.Left(os.TempDir(), prefix, time.Now()) {
		daemon.Reclaim(left, func() bool { // its nodes died with it
			unmountLeft(filepath.Join(left, kept))
			return true
		})
	}
	if s.home, s.owned, err = daemon.Make(os.TempDir(), prefix, nil); err != nil {
		return err
	}
	s.dir = filepath.Join(s.home, kept)
	// A server that runs as another user must enter them.
	if err = os.Chmod(s.home, 0o755); err == nil {
		err = os.Mkdir(s.dir, 0o755)
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(s.home), s.owned.Close())
	}
	return nil
}

// readyLimit is how long a node that was started again may take until it can be used.
const readyLimit = 3 * time.Minute
