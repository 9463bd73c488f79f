package probe

import (
	"context"
	"encoding/hex"
	"errors"
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

// Here reports whether an address, a host and a port, is of this machine.
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

// hostAddresses are those that a host's name stands for, and the port.
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

// Listeners are the processes of this machine that listen at an address, as far as the kernel
// lets the caller see whose sockets are whose. Those that descend from another one of them
// are left out. network is "tcp" or "udp".
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
	entries, _ := fs.ReadDir(root, "proc") // none if it is not there
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil && holds(pid, sockets) {
			all = append(all, pid)
		}
	}
	return slices.DeleteFunc(all, func(pid int) bool { return below(pid, all) })
}

// listening are the inodes of sockets that take connections, or datagrams, at one of these
// addresses or at all of the machine's.
func listening(root fs.FS, network string, hosts []netip.Addr, port uint16) map[string]bool {
	const bound = "07" // the state of UDP's sockets
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

// socketAddress reads an address as the kernel writes it: words of 32 bits in the order of
// this machine, all in hexadecimal, and the port.
func socketAddress(text string) (netip.AddrPort, bool) {
	ip, port, found := strings.Cut(text, ":")
	bytes, err := hex.DecodeString(ip)
	n, errPort := strconv.ParseUint(port, 16, 16)
	if !found || err != nil || errPort != nil || len(bytes)%4 != 0 {
		return netip.AddrPort{}, false
	}
	for at := 0; at < len(bytes); at += 4 {
		slices.Reverse(bytes[at : at+4]) // little-endian, as all machines are that wirelab is built for
	}
	addr, ok := netip.AddrFromSlice(bytes)
	return netip.AddrPortFrom(addr.Unmap(), uint16(n)), ok
}

// holds reports whether a process has one of these sockets.
func holds(pid int, sockets map[string]bool) bool {
	return slices.ContainsFunc(openFiles(pid), func(to string) bool { return sockets[to] })
}

// below reports whether a process descends from another one among these.
func below(pid int, among []int) bool {
	return slices.ContainsFunc(among, func(other int) bool { return other != pid && Descends(pid, other) })
}

// Descends reports whether a process is another one or descends from it.
func Descends(pid, from int) bool {
	const generations = 1 << 10 // a bound for parents that change meanwhile
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

// PinUntil is [Tree.Pin], and returns what gives every process of the tree back the CPUs that
// it might run on before; one that was started meanwhile gets those of the root.
func (t *Tree) PinUntil(cpus []int) (restore func() error, err error) {
	before, err := t.affinity()
	if err != nil {
		return nil, err
	}
	restore = func() error {
		now, err := t.affinity()
		if errors.Is(err, os.ErrProcessDone) {
			return nil
		}
		for task := range now {
			set, known := before[task]
			if !known {
				set = before[t.root]
			}
			err = errors.Join(err, setAffinity(task, &set))
		}
		return err
	}
	if err := t.Pin(cpus); err != nil {
		return nil, errors.Join(err, restore())
	}
	return restore, nil
}
