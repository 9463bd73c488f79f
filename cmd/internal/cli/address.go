package cli

import "net"

// Reachable is a listener's address HOST:PORT as it can be dialled on this machine: one that is open to all networks,
// such as 0.0.0.0:8080 or [::]:8080, is no address to dial, and localhost is. Other text stays.
func Reachable(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		return net.JoinHostPort("localhost", port)
	}
	return address
}
