package raw

import (
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// What lay in the kernel is stamped with when it came, however late it is read.
func TestBytesAreStampedWhenTheyCome(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	near, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	far, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = far.Close() }()
	s, err := detach(near, &traffic{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	s.stamp()
	stamps, buffer := newStamps(), make([]byte, 100)
	known := 0
	for tries := 0; known < 10 && tries < 20_000; tries++ {
		before := stamps.clock()
		if _, err := far.Write([]byte("reply")); err != nil {
			t.Fatal(err)
		}
		for ready := 0; ready < 1; { // a signal ends it early
			ready, _ = unix.Poll([]unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLIN}}, 10_000)
		}
		came := stamps.clock() // or before
		time.Sleep(time.Millisecond)
		if n, err := stamps.read(s, buffer); n != len("reply") || err != nil {
			t.Fatalf("%d bytes, %v", n, err)
		}
		if stamps.at == 0 {
			continue // the kernel begins to stamp a while after it is asked to, which is long on a busy machine
		}
		known++
		if stamps.at < before || stamps.at > came {
			t.Errorf("stamped %d ns after it was sent, read when it had been there for %v", stamps.at-before,
				time.Duration(came-before))
		}
	}
	if known < 10 && stamps.steps == 0 {
		t.Errorf("%d are stamped", known)
	}
	if n, err := stamps.read(s, buffer); n != 0 || err != nil || stamps.at != 0 {
		t.Errorf("of nothing: %d, %v, %d", n, err, stamps.at)
	}
}

// A step of the clock is seen, in whichever direction, and a reading in which the thread was stopped is made again.
func TestStepsOfTheClockAreSeen(t *testing.T) {
	var set, stopped time.Duration // stopped between the reading of one clock and of the other, once
	base := time.Now()
	stamps := newStamps()
	stamps.opened = base
	stamps.offset = base.UnixNano()
	stamps.now = func() time.Time {
		// Adding moves both clocks; the wall clock alone is moved by moving where the other began.
		stamps.opened = base.Add(-set - stopped)
		stopped = 0
		return base
	}
	for i, c := range []struct {
		set, stopped time.Duration
		steps        uint64
	}{{0, 0, 0}, {0, time.Second, 0}, {time.Second, 0, 1}, {time.Second, time.Millisecond, 1}, {
		-time.Millisecond, 0, 2,
	}, {-time.Millisecond, 0, 2}} {
		set, stopped = c.set, c.stopped
		stamps.clock()
		if stamps.steps != c.steps {
			t.Errorf("reading %d: %d steps, want %d", i, stamps.steps, c.steps)
		}
	}
}
