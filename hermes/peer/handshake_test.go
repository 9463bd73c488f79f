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

	"wirelab"
	"wirelab/hermes/broker"
	"wirelab/hermes/peer"
)

// Who is not who he is taken for is refused, and both ends can read why.
func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		as   func(*peer.Options) // the dialler
		to   uint64
		want wirelab.Code
		says string
	}{
		"another cluster": {func(o *peer.Options) { o.Cluster = "other" }, 2, wirelab.Unavailable, `this is cluster "test"`},
		"another node":    {func(*peer.Options) {}, 3, wirelab.Unavailable, "this is node 2, not 3"},
		"the same id":     {func(o *peer.Options) { o.ID = 2 }, 3, wirelab.Unavailable, "this is node 2"},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := start(t, 1, memory(t), c.as), start(t, 2, memory(t))
			a.SetPeer(c.to, b.Addr().String())
			_, err := a.Broker(c.to).Status(t.Context())
			if err == nil || wirelab.CodeOf(err) != c.want || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("the dialler is told %v", err)
			}
			if a.Reached(c.to) {
				t.Fatal("a refused node is told as reached")
			}
		})
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
	for name, c := range map[string]*tls.Config{"no certificate": bare, "another authority's": stranger, "in the clear": nil} {
		err := peer.Ask(t.Context(), peer.Options{Cluster: "test", TLS: c}, b.Addr().String(), func(other broker.Broker) error {
			_, err := other.Status(context.WithoutCancel(t.Context()))
			return err
		})
		if err == nil || wirelab.CodeOf(err) != wirelab.Unavailable {
			t.Errorf("%s: a stranger is told %v", name, err)
		}
	}
}
