package client

import (
	"context"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"

	"wirelab/hermes/frame"
	pb "wirelab/hermes/gen"
	wiregrpc "wirelab/wire/grpc"
	"wirelab/wire/status"
)

const (
	learntLimit = 64               // addresses of other nodes that nodes sent
	hintRest    = 10 * time.Second // how long a leader's address that did not answer is left alone
	pauseFirst  = 5 * time.Millisecond
	pauseMost   = 250 * time.Millisecond
	leaderHint  = "x-leader-hint"
)

// nodes are the nodes that the client knows, and its connections to them.
type nodes struct {
	options *Options

	mu      sync.Mutex                  // guards all below
	given   []string                    // by the user
	learnt  []string                    // by nodes; they may mean nothing from here (hb-M25)
	leader  string                      // as last told; "": not known
	resting map[string]time.Time        // until when an address is not followed as a hint
	conns   map[string]*grpc.ClientConn // by address
	pulses  map[string]*pulse           // by address; as many as conns
	closed  bool
}

func newNodes(o *Options) *nodes {
	return &nodes{
		options: o, given: slices.Clone(o.Addresses),
		resting: map[string]time.Time{}, conns: map[string]*grpc.ClientConn{}, pulses: map[string]*pulse{},
	}
}

// conn is the connection to an address, which may not stand yet.
func (n *nodes) conn(address string) (*grpc.ClientConn, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return nil, errClosed
	}
	if c := n.conns[address]; c != nil {
		return c, nil
	}
	trust := insecure.NewCredentials()
	if n.options.TLS != nil {
		trust = credentials.NewTLS(n.options.TLS)
	}
	connect := n.options.Connect
	if connect == nil {
		connect = func(ctx context.Context, address string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", address)
		}
	}
	var show grpc.DialOption = grpc.EmptyDialOption{}
	if n.options.Token != "" {
		show = grpc.WithPerRPCCredentials(bearer(n.options.Token))
	}
	c, err := grpc.NewClient("passthrough:///"+address,
		show,
		grpc.WithContextDialer(connect),
		grpc.WithTransportCredentials(trust),
		grpc.WithDisableRetry(), // this package knows better what may be tried again
		grpc.WithDisableServiceConfig(),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.Config{
				BaseDelay: 50 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2,
				MaxDelay: time.Second,
			},
			MinConnectTimeout: 2 * time.Second,
		}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, Timeout: 5 * time.Second}),
		grpc.WithDefaultCallOptions(
			grpc.ForceCodecV2(frame.Codec{}), grpc.MaxCallRecvMsgSize(frame.Limit),
			grpc.MaxCallSendMsgSize(frame.Limit),
		),
	)
	if err != nil {
		return nil, status.Errorf(status.InvalidArgument, "address %q: %v", address, err)
	}
	n.conns[address] = c
	return c, nil
}

// bearer is a token as grpc-go shows it.
type bearer string

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(b)}, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials: whether there is TLS
// the user has decided.
func (b bearer) RequireTransportSecurity() bool { return false }

// order is the addresses to try: the leader, if it is wanted and known; the user's, from a
// random one on; those that were learnt; and last those that did not answer lately.
func (n *nodes) order(leader bool) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var all []string
	if leader && n.leader != "" && !n.rests(n.leader) {
		all = append(all, n.leader)
	}
	from := rand.IntN(len(n.given))
	for _, list := range [][]string{n.given[from:], n.given[:from], n.learnt} {
		for _, a := range list {
			if !slices.Contains(all, a) {
				all = append(all, a)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b string) int {
		switch x, y := n.rests(a), n.rests(b); {
		case x == y:
			return 0
		case x:
			return 1
		}
		return -1
	})
	return all
}

// hinted notes who leads, as a node said. It returns the address if it is worth going there from at.
func (n *nodes) hinted(at, leader string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if leader == "" || n.rests(leader) {
		return ""
	}
	n.leader = leader
	if leader == at {
		return ""
	}
	return leader
}

// reaches asks a node that another one named for a sign of life. If it gives none it is left alone
// for a while: its address may mean nothing from here. (hb-M25)
func (n *nodes) reaches(ctx context.Context, address string) bool {
	conn, err := n.conn(address)
	if err != nil {
		return false
	}
	limited, cancel := context.WithTimeout(ctx, n.options.Patience/pulsePart)
	defer cancel()
	if _, err := pb.NewAdminClient(conn).GetCluster(limited, &pb.GetClusterRequest{}); err != nil {
		if ctx.Err() == nil {
			n.rest(address)
		}
		return false
	}
	return true
}

func (n *nodes) rests(address string) bool {
	until, ok := n.resting[address]
	return ok && time.Now().Before(until)
}

// rest leaves an address that does not answer alone for a while. The user's own are tried anyway.
func (n *nodes) rest(address string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.leader == address {
		n.leader = ""
	}
	if !slices.Contains(n.given, address) && len(n.resting) < learntLimit {
		n.resting[address] = time.Now().Add(hintRest)
	}
}

// lost forgets a leader that failed, so that the next try goes to another node first.
func (n *nodes) lost(address string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.leader == address {
		n.leader = ""
	}
}

// learn asks a node for the others.
func (n *nodes) learn(ctx context.Context, conn *grpc.ClientConn) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	cluster, err := pb.NewAdminClient(conn).GetCluster(ctx, &pb.GetClusterRequest{})
	if err != nil {
		return // it is only a help
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	var learnt []string
	for _, m := range cluster.GetMembers() {
		if a := m.GetGrpc(); a != "" && len(learnt) < learntLimit {
			learnt = append(learnt, a)
		}
	}
	n.learnt = learnt
}

func (n *nodes) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
	for _, c := range n.conns {
		_ = c.Close()
	}
	n.conns = nil
}

// pause is the wait between tries: none at first, then longer, by chance up to its limit.
type pause struct{ next time.Duration }

func (p *pause) reset() { p.next = 0 }

// wait returns false when ctx ends.
func (p *pause) wait(ctx context.Context) bool {
	d := p.next
	p.next = min(max(2*d, pauseFirst), pauseMost)
	if d == 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d/2 + rand.N(d))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// open opens a stream at some node: at the leader, if it is wanted. Each address is tried
// for a short time first, since one that hangs would keep the others waiting; those that
// said nothing are tried once more for as long as Patience is. The error is the last one's.
func (c *Client) open(
	ctx context.Context, desc *grpc.StreamDesc, path string, leader bool, asked *tried,
) (grpc.ClientStream, string, error) {
	var last error
	most := c.options.Patience
	short := most / pulsePart
	again := c.nodes.order(leader)
	for _, within := range []time.Duration{short, most} {
		addresses := again
		again = nil
		for _, address := range addresses {
			stream, hint, err := c.openAt(ctx, address, desc, path, within)
			if err != nil {
				c.nodes.lost(address)
				last = err
				if err == errSilent { //nolint:errorlint // it is this one
					last = status.Errorf(status.Unavailable, "%s did not answer", address)
					again = append(again, address)
				}
				if ctx.Err() == nil { // else it had no time
					asked.note(address, last)
				}
				continue
			}
			if hint == "" && leader {
				hint = address // else an older hint would stand, and all that asks for the leader go there
			}
			if to := c.nodes.hinted(address, hint); to != "" && leader {
				better, _, err := c.openAt(ctx, to, desc, path, short)
				if err == nil {
					closeStream(stream)
					return better, to, nil
				}
				c.nodes.rest(to)
			}
			return stream, address, nil
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, "", status.Public(err)
	}
	return nil, "", last
}

var errSilent = status.Errorf(status.Unavailable, "the node did not answer")

// openAt opens a stream at a node and waits for its header, which says who leads. The
// stream's context is one that closeStream ends.
func (c *Client) openAt(
	ctx context.Context, address string, desc *grpc.StreamDesc, path string, within time.Duration,
) (grpc.ClientStream, string, error) {
	conn, err := c.nodes.conn(address)
	if err != nil {
		return nil, "", err
	}
	ctx, cancel := context.WithCancel(ctx)
	impatient := time.AfterFunc(within, cancel)
	defer impatient.Stop()
	stream, err := conn.NewStream(ctx, desc, path)
	if err == nil {
		header, failed := stream.Header()
		if failed == nil && header == nil {
			failed = ended(stream) // it ended before it began
		}
		if failed == nil {
			return &held{stream, cancel}, hintOf(header), nil
		}
		err = failed
	}
	cancel()
	c.options.Logger.DebugContext(ctx, "no stream", "address", address, "error", err)
	err = wiregrpc.Decode(err)
	if status.CodeOf(err) == status.Canceled {
		err = errSilent
	}
	return nil, "", err
}

// hintOf is who leads, as an answer's header says; "": its node leads, or none does.
func hintOf(header metadata.MD) string {
	if said := header.Get(leaderHint); len(said) > 0 {
		return said[0]
	}
	return ""
}

// held is a stream that can be ended.
type held struct {
	grpc.ClientStream
	cancel context.CancelFunc
}

func closeStream(s grpc.ClientStream) {
	if h, ok := s.(*held); ok {
		h.cancel()
	}
}

// ended is the status of a stream that is over.
func ended(s grpc.ClientStream) error {
	var nothing frame.Raw
	if err := s.RecvMsg(&nothing); err != nil {
		return err
	}
	return status.Errorf(status.Internal, "the stream has no header")
}
