package cli

import "net"

// Reachable returns a listener's address HOST:PORT in a form that can be dialled on this machine: it replaces an
// address of all networks, such as 0.0.0.0:8080 or [::]:8080, by localhost. It returns other text unchanged.
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
