package probe_test

import (
	"net"
	"net/netip"
	"os"
	"slices"
	"testing"

	"wirelab/lab/probe"
)

// Listening addresses are found over both versions of IP, and addresses of connections are not.
func TestListening(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"127.0.0.1:0", "[::1]:0", "[::]:0"} {
		l, err := net.Listen("tcp", at)
		if err != nil {
			t.Logf("%s: %v", at, err) // some machines have no IPv6
			continue
		}
		defer l.Close()
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		all := probe.Listening([]int{os.Getpid()})
		if want := netip.MustParseAddrPort(l.Addr().String()); !slices.Contains(all, want) {
			t.Errorf("%v are said to listen, and %v is not among them", all, want)
		}
		if slices.Contains(all, netip.MustParseAddrPort(conn.LocalAddr().String())) {
			t.Errorf("%v only connects", conn.LocalAddr())
		}
	}
}
