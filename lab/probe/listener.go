package probe

import (
	"context"
	"encoding/hex"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"wirelab/internal/process"
)

// Here reports whether an address, given as host and port, belongs to this machine.
func Here(ctx context.Context, address string) bool {
	all, _ := hostAddresses(ctx, address)
	own, err := net.InterfaceAddrs()
	if err != nil {
		return slices.ContainsFunc(all, netip.Addr.IsLoopback)
	}
	return slices.ContainsFunc(all, func(ip netip.Addr) bool {
		return ip.IsLoopback() || ip.IsUnspecified() || slices.ContainsFunc(own, func(a net.Addr) bool {
			n, ok := a.(*net.IPNet)
			return ok && n.IP.Equal(ip.AsSlice())
		})
	})
}

// hostAddresses returns the IP addresses of the host in an address, and the port.
func hostAddresses(ctx context.Context, address string) ([]netip.Addr, uint16) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, 0
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil, 0
	}
	all, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, 0
	}
	for i := range all {
		all[i] = all[i].Unmap().WithZone("")
	}
	return all, uint16(n)
}

// Listeners returns the processes of this machine that listen at an address, as far as the caller is allowed to see
// whose sockets these are. Descendants of another listener are left out. network is "tcp" or "udp".
func Listeners(ctx context.Context, network, address string) []int {
	hosts, port := hostAddresses(ctx, address)
	if len(hosts) == 0 || !Here(ctx, address) {
		return nil
	}
	root := os.DirFS("/")
	sockets := listening(root, network, hosts, port)
	if len(sockets) == 0 {
		return nil
	}
	var all []int
	entries, _ := fs.ReadDir(root, "proc") // empty if there is no /proc
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil && holds(pid, sockets) {
			all = append(all, pid)
		}
	}
	return slices.DeleteFunc(all, func(pid int) bool { return below(pid, all) })
}

// listening returns the inodes of sockets that accept connections or datagrams at one of the addresses, or at all
// addresses of the machine.
func listening(root fs.FS, network string, hosts []netip.Addr, port uint16) map[string]bool {
	const bound = "07" // the state of a bound UDP socket
	state := tcpListens
	if network == "udp" {
		state = bound
	}
	all := map[string]bool{}
	for _, file := range []string{network, network + "6"} {
		for line := range strings.Lines(textOf(root, path.Join("proc/net", file))) {
			s, ok := readSocket(line)
			if ok && s.state == state && s.local.Port() == port &&
				(s.local.Addr().IsUnspecified() || slices.Contains(hosts, s.local.Addr())) {
				all[s.file] = true
			}
		}
	}
	return all
}

// socketAddress reads an address in the kernel's format: 32-bit words in the byte order of this machine, in
// hexadecimal, and the port.
func socketAddress(text string) (netip.AddrPort, bool) {
	ip, port, found := strings.Cut(text, ":")
	bytes, err := hex.DecodeString(ip)
	n, errPort := strconv.ParseUint(port, 16, 16)
	if !found || err != nil || errPort != nil || len(bytes)%4 != 0 {
		return netip.AddrPort{}, false
	}
	for at := 0; at < len(bytes); at += 4 {
		slices.Reverse(bytes[at : at+4]) // little-endian, like all machines that wirelab is built for
	}
	addr, ok := netip.AddrFromSlice(bytes)
	return netip.AddrPortFrom(addr.Unmap(), uint16(n)), ok
}

// holds reports whether a process has one of the sockets open.
func holds(pid int, sockets map[string]bool) bool {
	return slices.ContainsFunc(openFiles(pid), func(to string) bool { return sockets[to] })
}

// below reports whether a process is a descendant of another one in the list.
func below(pid int, among []int) bool {
	return slices.ContainsFunc(among, func(other int) bool { return other != pid && Descends(pid, other) })
}

// Descends reports whether a process is from or a descendant of it.
func Descends(pid, from int) bool {
	const generations = 1 << 10 // parents may change during the walk, so it needs a bound
	for range generations {
		if pid == from {
			return true
		}
		one, err := process.ReadLineage(pid)
		if err != nil || one.Parent <= 0 {
			return false
		}
		pid = one.Parent
	}
	return false
}
