package kernel_test

import (
	"context"
	"net"
	"testing"
	"time"

	"wirelab"
	"wirelab/internal/affinity"
	"wirelab/internal/prereq"
	"wirelab/lab/network/kernel"
)

// segment makes one, or skips the test if the system does not allow it.
func segment(t *testing.T, hosts int) *kernel.Segment {
	t.Helper()
	s, err := kernel.NewSegment(t.Context(), hosts)
	if err != nil {
		if c := wirelab.CodeOf(err); c == wirelab.PermissionDenied || c == wirelab.Unimplemented {
			prereq.Namespaces.Need(t, err)
		}
		t.Fatal(err)
	}
	t.Cleanup(s.Remove)
	return s
}

// A host that is cut off is reached by this process but by no other host, and reaches none. After Mend it is as before.
func TestSegment(t *testing.T) {
	before := len(interfaces(t))
	s := segment(t, 3)
	listeners := make([]net.Listener, len(s.Hosts))
	for i, host := range s.Hosts {
		err := affinity.Place{Namespace: host.Namespace}.Do(func() (err error) {
			listeners[i], err = net.Listen("tcp4", net.JoinHostPort(host.Address, "0"))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = listeners[i].Close() })
	}
	dial := func(to int, patience time.Duration) error {
		conn, err := net.DialTimeout("tcp4", listeners[to].Addr().String(), patience)
		if err == nil {
			err = conn.Close()
		}
		return err
	}
	reach := func(when string, cut int) {
		t.Helper()
		for to := range s.Hosts {
			if err := dial(to, time.Minute); err != nil {
				t.Errorf("%s, from here to host %d: %v", when, to, err)
			}
			for from, host := range s.Hosts {
				apart := from != to && (from == cut || to == cut)
				patience := time.Minute
				if apart { // a host that is cut off does not answer, however long the test waits
					patience = 300 * time.Millisecond
				}
				err := affinity.Place{Namespace: host.Namespace}.Do(func() error { return dial(to, patience) })
				if (err != nil) != apart {
					t.Errorf("%s, from host %d to host %d: %v", when, from, to, err)
				}
			}
		}
	}
	reach("whole", -1)
	if err := s.Cut(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	reach("cut", 1)
	if err := s.Mend(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	reach("mended", -1)
	if n, err := s.Bytes(); err != nil || n < 1000 {
		t.Errorf("%d bytes went over it: %v", n, err)
	}
	s.Remove()
	if left := interfaces(t); len(left) != before {
		t.Errorf("left behind: %v", left)
	}
}

func TestSegmentRefuses(t *testing.T) {
	for _, hosts := range []int{0, 254} {
		if _, err := kernel.NewSegment(context.Background(), hosts); wirelab.CodeOf(err) != wirelab.InvalidArgument {
			t.Errorf("%d hosts: %v", hosts, err)
		}
	}
}
