package peer_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"go.etcd.io/raft/v3/raftpb"

	"wirelab/hermes/broker"
	"wirelab/hermes/peer"
	"wirelab/wire/status"
)

// Who is not who he is taken for is refused, and both ends can read why.
func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		as   func(*peer.Options) // the dialler
		to   uint64
		want status.Code
		says string
	}{
		"another cluster": {
			func(o *peer.Options) { o.Cluster = "other" }, 2, status.Unavailable,
			`this is cluster "test"`,
		},
		"another node": {func(*peer.Options) {}, 3, status.Unavailable, "this is node 2, not 3"},
		"the same id":  {func(o *peer.Options) { o.ID = 2 }, 3, status.Unavailable, "this is node 2"},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := start(t, 1, memory(t), c.as), start(t, 2, memory(t))
			a.SetPeer(c.to, b.Addr().String())
			_, err := a.Broker(c.to).Status(t.Context())
			if err == nil || status.CodeOf(err) != c.want || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("the dialler gets %v", err)
			}
			if a.Reached(c.to) {
				t.Fatal("a refused node is reported as reached")
			}
		})
	}
}

// Who is not known by his directory is refused at either end, and neither sends him anything.
func TestIdentityCheck(t *testing.T) {
	knows := func(incarnation uint64, met chan<- uint64) func(*peer.Options) {
		return func(o *peer.Options) {
			o.IdentityCheck = peer.IdentityCheck{
				Incarnation: incarnation,
				Begun:       func() bool { return incarnation < 10 },
				Meet: func(id, incarnation uint64, begun bool) error {
					select {
					case met <- incarnation:
					default: // the first is enough
					}
					if incarnation == 66 && !begun {
						return status.Errorf(status.Conflict, "node %d had another directory", id)
					}
					return nil
				},
			}
		}
	}
	met := make(chan uint64, 1)
	a, b := start(t, 1, memory(t), knows(5, nil)), start(t, 2, memory(t), knows(6, met))
	a.SetPeer(2, b.Addr().String())
	reach(t, a, 2)
	if incarnation := <-met; incarnation != 5 {
		t.Errorf("the directory's birth is reported as %d", incarnation)
	}
	refused := make(chan error, 100)
	c := start(t, 3, memory(t), knows(66, nil), func(o *peer.Options) {
		o.IdentityCheck.Refused = func(_ uint64, why error, forgotten bool) {
			if forgotten {
				t.Error("a strange directory is reported as an older one")
			}
			refused <- why
		}
		o.IdentityCheck.Welcomed = func(uint64) { t.Error("who refused is reported as one that noted it") }
	})
	c.SetPeer(2, b.Addr().String())
	if err := <-refused; status.CodeOf(err) != status.Conflict ||
		!strings.Contains(err.Error(), "node 3 had another directory") {
		t.Errorf("the one who dialled gets %v", err)
	}
	b.SetPeer(3, c.Addr().String())
	if _, err := b.Broker(3).Status(t.Context()); status.CodeOf(err) != status.Unavailable ||
		!strings.Contains(err.Error(), "another directory") {
		t.Errorf("the one who dials him has %v", err)
	}
	// A former version tells no incarnation, and has noted nothing.
	old := start(t, 4, memory(t))
	d := start(t, 5, memory(t), func(o *peer.Options) {
		o.IdentityCheck = peer.IdentityCheck{Incarnation: 9, Welcomed: func(uint64) {
			t.Error("a former version is reported as one that noted it")
		}}
	})
	d.SetPeer(4, old.Addr().String())
	reach(t, d, 4)
}

// A node that has less than another saw it have is refused by it, and told so; one of a former version tells nothing.
func TestForgotten(t *testing.T) {
	stands := func(last uint64) func(*peer.Options) {
		return func(o *peer.Options) {
			o.IdentityCheck.Standing = func() (peer.Standing, bool) {
				return peer.Standing{Term: 3, Last: last, LastTerm: 2},
					last != 0
			}
			o.IdentityCheck.Recall = func(id uint64, s peer.Standing) error {
				if s != (peer.Standing{Term: 3, Last: 9, LastTerm: 2}) {
					return status.Errorf(status.Conflict, "node %d had more", id)
				}
				return nil
			}
		}
	}
	a, b := start(t, 1, memory(t), stands(9)), start(t, 2, memory(t), stands(9))
	meet(a, 1, b, 2)
	reach(t, a, 2)
	reach(t, b, 1)
	refused := make(chan error, 100)
	c := start(t, 3, memory(t), stands(8), func(o *peer.Options) {
		o.IdentityCheck.Refused = func(_ uint64, why error, forgotten bool) {
			if !forgotten {
				t.Error("an older directory is reported as a strange one")
			}
			refused <- why
		}
	})
	c.SetPeer(2, b.Addr().String())
	if err := <-refused; status.CodeOf(err) != status.Conflict || !strings.Contains(err.Error(), "node 3 had more") {
		t.Errorf("the one who dialled gets %v", err)
	}
	old := start(t, 4, memory(t), stands(0))
	old.SetPeer(2, b.Addr().String())
	reach(t, old, 2)
}

// Nodes compare their clocks as soon as they meet, and go on with it, at either end.
func TestClocks(t *testing.T) {
	const ahead = int64(time.Hour)
	type told struct {
		peer          uint64
		ahead, within int64
	}
	clock := func(by int64, to chan<- told) func(*peer.Options) {
		return func(o *peer.Options) {
			o.Silence = 400 * time.Millisecond
			o.Clock.Now = func() int64 { return time.Now().UnixNano() + by }
			o.Clock.Compared = func(peer uint64, ahead, within int64) {
				select {
				case to <- told{peer, ahead, within}:
				default:
				}
			}
		}
	}
	one, two := make(chan told, 100), make(chan told, 100)
	a, b := start(t, 1, memory(t), clock(0, one)), start(t, 2, memory(t), clock(ahead, two))
	a.SetPeer(2, b.Addr().String())
	for range 3 { // the first by the hello
		for _, c := range []struct {
			by    chan told
			peer  uint64
			ahead int64
		}{{one, 2, ahead}, {two, 1, -ahead}} {
			if m := receive(t, c.by, "a comparison"); m.peer != c.peer || m.ahead-c.ahead > m.within ||
				c.ahead-m.ahead > m.within {
				t.Fatalf("node %d is reported as %+v, it is ahead by %d", c.peer, m, c.ahead)
			}
		}
	}
	// One that tells no clock, as a former version, is asked for none.
	old := start(t, 3, memory(t))
	old.SetPeer(1, a.Addr().String())
	a.SetPeer(3, old.Addr().String())
	reach(t, old, 1)
	reach(t, a, 3)
	for len(one) > 0 {
		if m := <-one; m.peer == 3 {
			t.Errorf("one without a clock is reported as %+v", m)
		}
	}
}

// A message in another node's name ends the connection; it is not given on.
func TestMessagesAreOfWhoSendsThem(t *testing.T) {
	a, b := start(t, 1, memory(t)), start(t, 2, memory(t))
	meet(a, 1, b, 2)
	reach(t, a, 2)
	a.Send([]*raftpb.Message{message(raftpb.MsgApp, 3, 2, 1, 10)})
	receive(t, a.unreachable, "the end of the connection")
	reach(t, a, 2)
	a.Send([]*raftpb.Message{message(raftpb.MsgApp, 1, 2, 2, 10)})
	if m := receive(t, b.steps, "a message"); m.GetFrom() != 1 {
		t.Fatalf("a message of node %d was given on", m.GetFrom())
	}
}

// credentials are the TLS of nodes of one authority.
func credentials(t *testing.T) func() *tls.Config {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	root, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(root)
	return func() *tls.Config {
		return &tls.Config{
			Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
			RootCAs:      pool, ClientCAs: pool,
		}
	}
}

// hb-D25: with TLS both ends show a certificate; who has none, or another's, or speaks in the clear, is no node.
func TestMutualTLS(t *testing.T) {
	ours, theirs := credentials(t), credentials(t)
	secure := func(o *peer.Options) { o.TLS = ours() }
	a, b := start(t, 1, memory(t), secure), start(t, 2, memory(t), secure)
	meet(a, 1, b, 2)
	reach(t, a, 2)
	reach(t, b, 1)

	bare := ours()
	bare.Certificates = nil
	stranger := theirs()
	stranger.RootCAs = ours().RootCAs
	for name, c := range map[string]*tls.Config{
		"no certificate": bare, "another authority's": stranger,
		"in the clear": nil,
	} {
		err := peer.Ask(t.Context(), peer.Options{Cluster: "test", TLS: c}, b.Addr().String(),
			func(other broker.Broker) error {
				_, err := other.Status(context.WithoutCancel(t.Context()))
				return err
			})
		if err == nil || status.CodeOf(err) != status.Unavailable {
			t.Errorf("%s: a stranger gets %v", name, err)
		}
	}
}
