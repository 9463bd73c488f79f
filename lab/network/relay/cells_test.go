package relay_test

import (
	"context"
	"crypto/tls"
	"math/rand/v2"
	"net"
	"slices"
	"testing"
	"time"

	"wirelab"
	"wirelab/internal/certs"
	"wirelab/lab/network/relay"
	"wirelab/workload/routeguide/bind"
)

// Calls of every usual cell, unary and in streams, pass through a path with all settings, and their replies are
// correct.
func TestCellsThroughTheRelay(t *testing.T) {
	t.Parallel()
	for _, cell := range bind.Workload().Erase().Cells {
		if !cell.Usual || cell.Style == "" {
			continue
		}
		t.Run(cell.Protocol.Name, func(t *testing.T) {
			t.Parallel()
			callThrough(t, cell, parse(t, "rtt=1ms,jitter=0.5ms,loss=0.5%,bandwidth=100Mbit").String())
		})
	}
}

func callThrough(t *testing.T, cell wirelab.Cell, spec string) {
	t.Helper()
	at := wirelab.Endpoint{Drain: time.Second}
	to := wirelab.Dialing{}
	var server string
	var err error
	if cell.Protocol.Network == "udp" {
		if at.Packets, err = net.ListenPacket("udp", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
		server = at.Packets.LocalAddr().String()
	} else {
		if at.Listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
		server = at.Listener.Addr().String()
	}
	if cell.Protocol.Secure {
		var certificate tls.Certificate
		var pem []byte
		if certificate, pem, err = certs.Issue("127.0.0.1"); err != nil {
			t.Fatal(err)
		}
		at.Certificate = &certificate
		if to.Roots, err = certs.Trust(pem); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- cell.Serve(ctx, at) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	r := begin(t, relay.Config{Spec: parse(t, spec), Network: cell.Protocol.Network, To: server, Seed: 5})
	to.Address = r.Address()
	client, err := cell.Dial(t.Context(), to)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := client.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}()
	draw := rand.New(rand.NewPCG(1, 2))
	for _, operation := range []string{"GetFeature", "ListFeatures", "RecordRoute"} {
		if _, hole := cell.Holes[operation]; hole {
			continue
		}
		call, err := client.Caller(operation, "", draw.Uint64())
		if err != nil {
			t.Fatal(err)
		}
		for range 5 {
			ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
			if err := call(ctx); err != nil { // checks the reply too
				t.Errorf("%s: %v", operation, err)
			}
			cancel()
		}
	}
	if did := r.Stats(); did.Forwarded == 0 || did.Connections == 0 {
		t.Errorf("the calls went past the relay: %+v", did)
	}
}

// The three kinds of transport are among the cells that the test above uses.
func TestTransportsAreTried(t *testing.T) {
	t.Parallel()
	var names []string
	for _, cell := range bind.Workload().Erase().Cells {
		if cell.Usual {
			names = append(names, cell.Protocol.Name)
		}
	}
	for _, want := range []string{"http3-proto", "grpc", "http1-json", "grpc-tls", "websocket"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is not among %v", want, names)
		}
	}
}
