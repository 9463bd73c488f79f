package probe

import (
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Listening are the addresses at which some processes take connections by TCP, those
// of them that can be read, sorted.
func Listening(pids []int) []netip.AddrPort {
	var all []netip.AddrPort
	for _, pid := range pids {
		process := path.Join("/proc", strconv.Itoa(pid))
		held := map[string]bool{} // sockets, by inode
		files, err := os.ReadDir(process + "/fd")
		if err != nil {
			continue // it ended, or is another user's
		}
		for _, file := range files {
			to, err := os.Readlink(path.Join(process, "fd", file.Name()))
			if inode, ok := strings.CutPrefix(to, "socket:["); err == nil && ok {
				held[strings.TrimSuffix(inode, "]")] = true
			}
		}
		for _, table := range []string{"tcp", "tcp6"} { // of the process's network
			text, err := os.ReadFile(path.Join(process, "net", table))
			if err != nil {
				continue
			}
			for line := range strings.Lines(string(text)) {
				if at, inode, ok := listener(line); ok && held[inode] {
					all = append(all, at)
				}
			}
		}
	}
	slices.SortFunc(all, netip.AddrPort.Compare)
	return slices.Compact(all)
}

// listener reads a line of /proc/net/tcp or tcp6: the second field is the local
// address, the fourth the state, the tenth the inode.
func listener(line string) (at netip.AddrPort, inode string, ok bool) {
	const listens = "0A"
	fields := strings.Fields(line)
	if len(fields) < 10 || fields[3] != listens {
		return at, "", false
	}
	host, port, _ := strings.Cut(fields[1], ":")
	raw, err := hex.DecodeString(host)
	n, errPort := strconv.ParseUint(port, 16, 16)
	if err != nil || errPort != nil || len(raw)%4 != 0 {
		return at, "", false
	}
	for i := 0; i < len(raw); i += 4 { // words of 32 bits, as the machine has them
		binary.NativeEndian.PutUint32(raw[i:], binary.BigEndian.Uint32(raw[i:]))
	}
	ip, ok := netip.AddrFromSlice(raw)
	return netip.AddrPortFrom(ip.Unmap(), uint16(n)), fields[9], ok
}
