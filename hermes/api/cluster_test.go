package api_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wirelab/hermes/access"
	"wirelab/hermes/api/graphql"
	"wirelab/hermes/api/grpc"
	"wirelab/hermes/api/register"
	"wirelab/hermes/api/rest"
	"wirelab/hermes/broker"
	"wirelab/hermes/node"
	"wirelab/hermes/vfs"
	"wirelab/hermes/wal"
	"wirelab/wire/endpoint"
)

// patience is how long a test waits for what must come, on a machine that has much to do.
const patience = 5 * time.Minute

// Who calls: root may do everything, reader only read news.*, few may publish
// one message a second, and small may have two groups and two producers.
const policyText = `principals:
  - name: root
    tokens: [%s]
    publish: ["*"]
    subscribe: ["*"]
    admin: ["*"]
    cluster: true
  - name: reader
    tokens: [%s]
    subscribe: ["news.*"]
  - name: few
    tokens: [%s]
    publish: ["*"]
    quota:
      messages_per_second: 1
  - name: small
    tokens: [%s]
    publish: ["*"]
    subscribe: ["*"]
    quota:
      groups: 2
      producers: 2
`

// cluster is three nodes with all their APIs in this process, over TCP on the loopback.
type cluster struct {
	*testing.T
	policy  string            // the file; each node reads it for itself, as quotas are a node's
	tokens  map[string]string // by principal
	members []broker.Member
	nodes   []*served // by id, from 1; nil: stopped
}

// served is one node and its APIs.
type served struct {
	node *node.Node
	stop context.CancelFunc
	ends []chan error
}

// newCluster starts three nodes and waits until all know one leader.
func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{T: t, tokens: map[string]string{}, nodes: make([]*served, 4)}
	var hashes []any
	for _, name := range []string{"root", "reader", "few", "small"} {
		token, hash := access.NewToken()
		c.tokens[name] = token
		hashes = append(hashes, hash)
	}
	file := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, policyText, hashes...), 0o600); err != nil {
		t.Fatal(err)
	}
	c.policy = file
	var err error
	var listeners [][3]net.Listener
	for id := range uint64(3) {
		var l [3]net.Listener
		for i := range l {
			if l[i], err = new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0"); err != nil {
				t.Fatal(err)
			}
		}
		listeners = append(listeners, l)
		c.members = append(c.members, broker.Member{
			ID: id + 1, Name: fmt.Sprint("node-", id+1), Peer: l[0].Addr().String(), GRPC: l[1].Addr().String(),
			HTTP: l[2].Addr().String(),
		})
	}
	t.Cleanup(func() {
		for id := range c.nodes {
			c.halt(uint64(id))
		}
	})
	for i, l := range listeners {
		c.begin(uint64(i+1), l)
	}
	c.leader()
	return c
}

// begin starts a node and opens its APIs, as cmd/hermes does.
func (c *cluster) begin(id uint64, l [3]net.Listener) {
	c.Helper()
	n, err := node.Open(c.Context(), node.Options{
		Self: c.members[id-1], Members: c.members, Listener: l[0], FS: vfs.NewMemory(), Dir: "/hermes",
		Tick: 20 * time.Millisecond, SyncLimit: 10 * time.Second, Maintenance: 50 * time.Millisecond, FreeBytes: 1,
		Log: wal.Options{SegmentBytes: 8 << 20}, RecentLogBytes: 64 << 10,
	})
	if err != nil {
		c.Fatalf("node %d: %v", id, err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(c.Context()))
	s := &served{node: n, stop: stop}
	c.nodes[id] = s
	policy, err := access.Load(c.Context(), c.policy)
	if err != nil {
		c.Fatal(err)
	}
	b := access.Wrap(n, policy)
	open := register.New(0)
	mounts, err := graphql.Handlers(graphql.Config{Broker: b, Register: open})
	if err != nil {
		c.Fatal(err)
	}
	front, err := rest.New(rest.Config{
		Broker: b, Access: policy, Register: open, Mounts: mounts,
		Heartbeat: 50 * time.Millisecond,
	})
	if err != nil {
		c.Fatal(err)
	}
	for _, serve := range []func() error{
		func() error {
			return grpc.Serve(ctx, endpoint.Endpoint{Listener: l[1]}, b, grpc.Options{Access: policy})
		},
		func() error { return front.Serve(ctx, endpoint.Endpoint{Listener: l[2]}, false) },
	} {
		end := make(chan error, 1)
		s.ends = append(s.ends, end)
		go func() { end <- serve() }()
	}
}

// halt stops a node as a graceful stop does: APIs first.
func (c *cluster) halt(id uint64) {
	c.Helper()
	s := c.nodes[id]
	if s == nil {
		return
	}
	c.nodes[id] = nil
	s.stop()
	for _, end := range s.ends {
		if err := <-end; err != nil {
			c.Errorf("a door of node %d: %v", id, err)
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Context()), patience)
	defer cancel()
	if err := s.node.Close(ctx); err != nil {
		c.Errorf("node %d: %v", id, err)
	}
}

// leader waits until all nodes know the same leader, and returns it and the others.
func (c *cluster) leader() (leader uint64, others []uint64) {
	c.Helper()
	until(c.T, "one leader", func() bool {
		leader, others = 0, nil
		for id, s := range c.nodes {
			if s == nil {
				continue
			}
			m, ok := s.node.Leader()
			if !ok || leader != 0 && m.ID != leader {
				return false
			}
			if leader = m.ID; uint64(id) != leader {
				others = append(others, uint64(id))
			}
		}
		return c.nodes[leader] != nil && c.nodes[leader].node.Ready(c.Context()) == nil
	})
	return leader, others
}

// until waits for a condition.
func until(t *testing.T, what string, true func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); !true(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("%s did not come about in %v", what, patience)
		}
	}
}

// caller is a client at one API of one node.
type caller interface {
	// as is the same as another principal.
	as(principal string) caller
	// ask does one of the unary calls: a want's name with its arguments. It returns the part that is common to the
	// APIs' replies, as text, and the hint at the leader.
	ask(want want) (reply, hint string, err error)
	// subscribe begins a subscription; its refusal may come with the first message.
	subscribe(s start) stream
}

// want is a unary call. Which fields count its name says.
type want struct {
	// Publish, batch, producer, topic, topics, create, configure, delete, group, groups, makeGroup, seek,
	// deleteGroup, cluster, promote.
	call        string
	topic       string
	group, from string
	runs        []run
	age         time.Duration
	attempts    int
	id          uint64
}

// run is one topic's part of a publish.
type run struct {
	topic, mode string
	payloads    [][]byte
	producer    uint64
	sequence    uint64
	key         string
	headers     [][2]string // of each message
}

// headersOf are the headers as objects.
func (r *run) headersOf(name, value string) []object {
	all := []object{}
	for _, h := range r.headers {
		all = append(all, object{name: h[0], value: h[1]})
	}
	return all
}

// start is where a subscription begins: tail, oldest, an offset, a time, or a group.
type start struct {
	topic, from, group string
	inFlight           int
	auto               bool
}

// got is a message.
type got struct {
	offset  uint64
	attempt uint32
	payload string
	headers map[string]string
	gap     broker.Range // before it
}

// stream is a subscription. It ends with its test.
type stream interface {
	next() (got, error)
	ack(back bool, offsets ...uint64) error
	leave()
}

// api is one that is tried.
type api struct {
	name string
	at   func(c *cluster, m broker.Member, principal string) caller
}

var apis = []api{
	{"grpc", func(c *cluster, m broker.Member, p string) caller { return newGRPC(c, m, p) }},
	{"rest", func(c *cluster, m broker.Member, p string) caller { return &restCaller{c, m, p} }},
	{"graphql", func(c *cluster, m broker.Member, p string) caller { return &graphqlCaller{c, m, p} }},
}

// everywhere runs a test at each API, on the leader and on a follower. name is another for each, to be used in
// topics' names.
func (c *cluster) everywhere(t *testing.T, test func(t *testing.T, at caller, name string)) {
	t.Helper()
	leader, others := c.leader()
	for _, d := range apis {
		for _, place := range []struct {
			name string
			id   uint64
		}{{"leader", leader}, {"follower", others[0]}} {
			t.Run(d.name+" at the "+place.name, func(t *testing.T) {
				own := *c
				own.T = t
				test(t, d.at(&own, c.members[place.id-1], "root"),
					strings.ReplaceAll(t.Name()[strings.IndexByte(t.Name(), '/')+1:],
						"/", "."))
			})
		}
	}
}
