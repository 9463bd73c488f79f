// Package rebinding tells a request to a server's own address or name from one of a web page
// whose name was made to point at the server (DNS rebinding). For the browser such a page and the
// server are one origin, so it sends neither a foreign Origin nor a foreign Sec-Fetch-Site; only
// the Host shows it. The package knows no server.
package rebinding

import (
	"net"
	"net/netip"
	"slices"
	"strings"
)

// Own reports whether host, a request's Host with or without a port, is an IP address, localhost, a name below
// localhost, or one of names, which are in lower case and without a port. An address needs no list: anyone who
// owns a name can point it anywhere, but no one can point an address.
func Own(host string, names ...string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host // it has no port
	}
	name = strings.TrimSuffix(strings.ToLower(name), ".")
	if name == "localhost" || strings.HasSuffix(name, ".localhost") || slices.Contains(names, name) {
		return true
	}
	_, err = netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(name, "["), "]"))
	return err == nil
}
