package peer_test

import (
	"net"
	"strings"
	"testing"
	"time"

	"wirelab/hermes/broker"
	"wirelab/hermes/peer"
	"wirelab/wire/status"
)

// with is a node that has a key.
func with(key string) func(*peer.Options) {
	return func(o *peer.Options) {
		if key != "" {
			o.Key = []byte(key)
		}
	}
}

const aKey, anotherKey = "the key of a cluster", "the key of another cluster"

// Nodes that have one key reach each other, and whatever is no node yet but has it.
func TestKey(t *testing.T) {
	a, b := start(t, 1, memory(t), with(aKey)), start(t, 2, memory(t), with(aKey))
	meet(a, 1, b, 2)
	reach(t, a, 2)
	reach(t, b, 1)
	if _, err := a.Broker(2).CreateTopic(t.Context(), broker.Topic{Name: "t"}); err != nil {
		t.Fatal(err)
	}
	ask := func(key string) error {
		return peer.Ask(t.Context(), peer.Options{Cluster: "test", ID: 3, Key: []byte(key)}, b.Addr().String(),
			func(b broker.Broker) error {
				_, err := b.Status(t.Context())
				return err
			})
	}
	if err := ask(aKey); err != nil {
		t.Error(err)
	}
	if err := ask(anotherKey); status.CodeOf(err) != status.Unavailable &&
		status.CodeOf(err) != status.Unauthenticated {
		t.Errorf("with another key: %v", err)
	}
	if _, err := peer.New(peer.Options{
		Cluster: "test", ID: 1, Listener: noListener{},
		Key: []byte("short"),
	}); status.CodeOf(err) != status.InvalidArgument {
		t.Errorf("a short key: %v", err)
	}
}

type noListener struct{ net.Listener }

// Who has no key, or another, gets nowhere, whichever end he is, and both can read what to do.
func TestOtherKeys(t *testing.T) {
	for name, c := range map[string]struct{ dials, dialled, says string }{
		"none at a node with one":     {"", aKey, "asks for the key"},
		"another":                     {anotherKey, aKey, "--peer-key-file"},
		"one at a node without a key": {aKey, "", "does not prove"},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := start(t, 1, memory(t), with(c.dials)), start(t, 2, memory(t), with(c.dialled))
			a.SetPeer(2, b.Addr().String())
			_, err := a.Broker(2).Status(t.Context())
			if status.CodeOf(err) != status.Unavailable || !strings.Contains(err.Error(), c.says) {
				t.Errorf("the dialler gets %v", err)
			}
			if a.Reached(2) {
				t.Error("they reach each other")
			}
		})
	}
}

// Strangers that hold as many connections as there may be, and make more all the time, do not keep a node with
// the key out; nor does what they say grow in memory.
func TestStrangersKeepNoNodeOut(t *testing.T) {
	b := start(t, 2, memory(t), with(aKey))
	crowd := func() net.Conn {
		conn, err := net.Dial("tcp", b.Addr().String())
		if err != nil {
			t.Error(err)
			return nil
		}
		return conn
	}
	var held []net.Conn
	defer func() {
		for _, conn := range held {
			_ = conn.Close()
		}
	}()
	for range 600 {
		held = append(held, crowd())
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		var more []net.Conn
		for {
			select {
			case <-stop:
				for _, conn := range more {
					_ = conn.Close()
				}
				return
			case <-time.After(time.Millisecond):
				more = append(more, crowd())
			}
		}
	}()
	a := start(t, 1, memory(t), with(aKey))
	a.SetPeer(2, b.Addr().String())
	reach(t, a, 2)
	close(stop)
	<-stopped
	if _, err := a.Broker(2).Status(t.Context()); err != nil {
		t.Error(err)
	}
}

// A hello is small, whatever it announces.
func TestAHelloIsBounded(t *testing.T) {
	b := start(t, 2, memory(t), with(aKey), func(o *peer.Options) { o.Silence = time.Hour })
	conn, err := net.Dial("tcp", b.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	head := make([]byte, 15) // a fragment of a byte, and a gigabyte to come
	head[4], head[11], head[12] = 1, 0x3f, 1
	if _, err := conn.Write(head); err != nil {
		t.Fatal(err)
	}
	if n, err := conn.Read(make([]byte, 1)); err == nil {
		t.Errorf("%d bytes answer it", n)
	}
}
