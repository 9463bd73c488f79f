package acceptloop_test

import (
	"io"
	"net"
	"testing"
	"time"

	"wirelab/wire/acceptloop"
)

// serve accepts and echoes until the listener is closed. Each connection that is accepted is reported by its
// address.
func serve(t *testing.T, limits acceptloop.Limits) (l *acceptloop.Limited, accepted chan net.Conn) {
	t.Helper()
	l = acceptloop.Limit(listen(t, "127.0.0.1:0"), limits)
	accepted = make(chan net.Conn, 1000)
	go func() {
		defer close(accepted)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- c
			go func() {
				_, _ = io.Copy(c, c)
				_ = c.Close()
			}()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		for c := range accepted {
			_ = c.Close()
		}
	})
	return l, accepted
}

func dial(t *testing.T, l net.Listener) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// echoes says a byte and hears it again, or the connection is closed.
func echoes(c net.Conn) bool {
	if _, err := c.Write([]byte{1}); err != nil {
		return false
	}
	_, err := io.ReadFull(c, make([]byte, 1))
	return err == nil
}

// ended waits until the other end has closed a connection on which it says nothing.
func ended(t *testing.T, c net.Conn) {
	t.Helper()
	if n, err := c.Read(make([]byte, 1)); n > 0 || err == nil {
		t.Fatalf("%d bytes, %v; want the connection closed", n, err)
	}
}

// However many connect and say nothing, who has something to say gets in, and those who said
// something stay. Beyond the bound with none that is silent, the new connection is closed.
func TestSilentConnectionsGiveWay(t *testing.T) {
	t.Parallel()
	for name, limits := range map[string]acceptloop.Limits{
		"in all": {Total: 4}, "of one address": {Total: 100, PerAddress: 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, accepted := serve(t, limits)
			speaker := dial(t, l)
			if !echoes(speaker) {
				t.Fatal("the first connection is closed")
			}
			var silent []net.Conn
			for range 50 {
				silent = append(silent, dial(t, l))
				<-accepted
			}
			for _, c := range silent[:46] {
				ended(t, c)
			}
			if !echoes(dial(t, l)) || !echoes(speaker) {
				t.Error("silent connections keep out who has something to say")
			}
			counts := l.Counts()
			if counts.Open != 4 || counts.Full+counts.Address != 48 {
				t.Errorf("%+v", counts)
			}
			for range 2 {
				if !echoes(dial(t, l)) {
					t.Fatal("a connection in the place of a silent one is closed")
				}
			}
			if echoes(dial(t, l)) {
				t.Error("a connection beyond the bound is served")
			}
			_ = speaker.Close()
			for l.Counts().Open > 3 {
				time.Sleep(time.Millisecond)
			}
			if !echoes(dial(t, l)) {
				t.Error("a place that was given back is not to be had")
			}
		})
	}
}

// A connection that stays silent is ended, and one that spoke is not.
func TestSilence(t *testing.T) {
	t.Parallel()
	l, _ := serve(t, acceptloop.Limits{Silence: 200 * time.Millisecond})
	speaker := dial(t, l)
	if !echoes(speaker) {
		t.Fatal("the connection is closed")
	}
	ended(t, dial(t, l))
	if !echoes(speaker) {
		t.Error("a connection on which something came was ended")
	}
	if c := l.Counts(); c.Silent != 1 || c.Open != 1 {
		t.Errorf("%+v", c)
	}
}

// With Vouched a connection counts as silent, whatever it says, until it is vouched for.
func TestVouched(t *testing.T) {
	t.Parallel()
	l, accepted := serve(t, acceptloop.Limits{Total: 2, Vouched: true})
	known := dial(t, l)
	acceptloop.Vouch(<-accepted)
	for range 10 {
		if !echoes(dial(t, l)) {
			t.Fatal("a stranger is kept out by strangers")
		}
		<-accepted
	}
	if !echoes(known) {
		t.Error("one who is known lost its place")
	}
}
