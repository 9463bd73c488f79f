package agent

import (
	"context"
	"net"
	"testing"
)

// TestAddressesInTurn: connections to a host name are spread over all its addresses that accept them.
func TestAddressesInTurn(t *testing.T) {
	t.Parallel()
	first, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	_, port, _ := net.SplitHostPort(first.Addr().String())
	second, err := net.Listen("tcp", net.JoinHostPort("127.0.0.2", port))
	if err != nil {
		t.Skipf("127.0.0.2: %v", err)
	}
	defer second.Close()
	of := func(all ...string) lookup {
		return func(context.Context, string) ([]string, error) { return all, nil }
	}
	next := inTurn(t.Context(), of("127.0.0.2", "127.0.0.3", "127.0.0.1"), "service:"+port, 5)
	if next == nil {
		t.Fatal("two servers, and only one is called")
	}
	seen := map[string]int{}
	for range 48 {
		seen[next()]++
	}
	if len(seen) != 2 || seen["127.0.0.1:"+port] != 24 {
		t.Errorf("connections by address: %v, want half to each that takes them", seen)
	}
	for name, address := range map[string]string{"an address": "127.0.0.1:" + port, "no port": "service"} {
		if inTurn(t.Context(), of("127.0.0.1", "127.0.0.2"), address, 5) != nil {
			t.Errorf("%s is taken for a name", name)
		}
	}
	if inTurn(t.Context(), of("127.0.0.1", "127.0.0.3"), "service:"+port, 5) != nil {
		t.Error("one server is taken for two")
	}
}
