package access_test

import (
	"context"
	"net"
	"testing"
	"time"

	"go.etcd.io/raft/v3/raftpb"

	"wirelab/hermes/access"
	"wirelab/hermes/broker"
	"wirelab/hermes/peer"
)

// deaf is a node that Raft says nothing to.
type deaf struct{}

func (deaf) Step(*raftpb.Message)      {}
func (deaf) Broken(uint64)             {}
func (deaf) Unreachable(uint64)        {}
func (deaf) SnapshotSent(uint64, bool) {}

// Nodes that really dial each other heed what their files have by then, at both ends.
// (hb-D24, hb-D25)
func TestNodes(t *testing.T) {
	t.Parallel()
	before, after := newIssuer(t, "before"), newIssuer(t, "after")
	served, dialling := newFiles(t), newFiles(t)
	served.write(t, before, "served", before)
	dialling.write(t, before, "dialling", before)
	c := &clock{at: time.Unix(1, 0)}
	node := func(f files) peer.Options {
		t.Helper()
		config, err := access.PeerTLSAt(t.Context(), f.cert, f.key, f.ca, nil, c.now)
		if err != nil {
			t.Fatal(err)
		}
		return peer.Options{Cluster: "test", TLS: config}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o := node(served)
	o.ID, o.Listener = 1, l
	transport, err := peer.New(o)
	if err != nil {
		t.Fatal(err)
	}
	transport.Start(deaf{}, memory(t))
	defer func() {
		if err := transport.Close(); err != nil {
			t.Error(err)
		}
	}()
	with := node(dialling)
	ask := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		return peer.Ask(ctx, with, transport.Addr().String(), func(b broker.Broker) error {
			_, err := b.Status(ctx)
			return err
		})
	}
	if err := ask(); err != nil {
		t.Fatal(err)
	}
	dialling.write(t, after, "dialling", before, after)
	c.pass(time.Second)
	if err := ask(); err == nil {
		t.Error("a node of an authority that is not trusted is let in")
	}
	served.write(t, before, "served", before, after)
	c.pass(time.Second)
	if err := ask(); err != nil {
		t.Error("once it is trusted:", err)
	}
	dialling.write(t, after, "dialling", after)
	c.pass(time.Second)
	if err := ask(); err == nil {
		t.Error("a node of an authority that is not trusted any more is dialled")
	}
	served.write(t, after, "served", after)
	c.pass(time.Second)
	if err := ask(); err != nil {
		t.Error("once both have the new one:", err)
	}
}
