package kernel_test

import (
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"wirelab"
	"wirelab/internal/prereq"
	"wirelab/lab/network"
	"wirelab/lab/network/kernel"
)

// interfaces returns the names of wirelab's interfaces outside namespaces.
func interfaces(t *testing.T) (names []string) {
	t.Helper()
	all, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range all {
		if strings.HasPrefix(i.Name, "wl") {
			names = append(names, i.Name)
		}
	}
	return names
}

// connect makes a path, or skips the test if the system does not allow it.
func connect(t *testing.T) *kernel.Path {
	t.Helper()
	p, err := kernel.Connect(t.Context())
	if err != nil {
		if c := wirelab.CodeOf(err); (c == wirelab.PermissionDenied || c == wirelab.Unimplemented) &&
			strings.Contains(err.Error(), "leave via=netem out") {
			prereq.Namespaces.Need(t, err)
		}
		t.Fatal(err)
	}
	return p
}

// listen listens inside a path's namespace.
func listen(t *testing.T, p *kernel.Path) net.Listener {
	t.Helper()
	got := make(chan net.Listener, 1)
	go func() {
		runtime.LockOSThread() // never unlocked, so that the thread ends with the goroutine
		defer close(got)
		if err := unix.Setns(int(p.Namespace().Fd()), unix.CLONE_NEWNET); err != nil {
			t.Error(err)
			return
		}
		l, err := net.Listen("tcp", net.JoinHostPort(p.Host, "0"))
		if err != nil {
			t.Error(err)
			return
		}
		got <- l
	}()
	l, ok := <-got
	if !ok {
		t.FailNow()
	}
	return l
}

// A call goes through the cable into the namespace and back, and nothing is left after the path is removed.
func TestCallThroughNamespace(t *testing.T) {
	before := len(interfaces(t))
	p := connect(t)
	if len(interfaces(t)) != before+1 {
		t.Errorf("interfaces %v: want one more than %d", interfaces(t), before)
	}
	l := listen(t, p)
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		c, err := l.Accept()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		_, _ = io.Copy(c, c)
	}()
	c, err := net.DialTimeout("tcp", l.Addr().String(), 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write([]byte("there and back")); err != nil {
		t.Fatal(err)
	}
	_ = c.(*net.TCPConn).CloseWrite()
	if got, err := io.ReadAll(c); err != nil || string(got) != "there and back" {
		t.Errorf("%q and %v came back", got, err)
	}
	c.Close()
	<-answered
	l.Close()
	p.Remove()
	if len(interfaces(t)) != before {
		t.Errorf("interfaces %v are left", interfaces(t))
	}
}

// If the kernel has netem, a trip takes the requested time. Otherwise the error says so and what to do instead, and
// nothing is left of the attempt.
func TestNetem(t *testing.T) {
	connect(t).Remove()
	before := len(interfaces(t))
	spec := network.Spec{
		RTT: 20 * time.Millisecond, Jitter: 2 * time.Millisecond, Loss: 0.0001, Bandwidth: 1e9,
		Via: network.Netem,
	}
	p, err := kernel.Make(t.Context(), spec)
	if err != nil {
		for _, want := range []string{
			"netem", "CONFIG_NET_SCH_NETEM",
			"leave via=netem out: the relay works everywhere",
		} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("the refusal %q does not say %q", err, want)
			}
		}
		if wirelab.CodeOf(err) != wirelab.Unimplemented {
			t.Errorf("the refusal is %v", wirelab.CodeOf(err))
		}
		if len(interfaces(t)) != before {
			t.Errorf("interfaces %v are left of an attempt that failed", interfaces(t))
		}
		return
	}
	defer p.Remove()
	l := listen(t, p)
	defer l.Close()
	began := time.Now()
	c, err := net.DialTimeout("tcp", l.Addr().String(), 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if took := time.Since(began); took < spec.RTT-spec.Jitter {
		t.Errorf("connecting took %v, less than a round trip of %v", took, spec.RTT-spec.Jitter)
	}
}
