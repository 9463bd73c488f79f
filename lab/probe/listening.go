package probe

import (
	"net/netip"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Listening returns the addresses at which the processes accept TCP connections, sorted. Processes that cannot be
// read are skipped.
func Listening(pids []int) []netip.AddrPort {
	var all []netip.AddrPort
	for _, pid := range pids {
		process := path.Join("/proc", strconv.Itoa(pid))
		held := openFiles(pid)
		for _, table := range []string{"tcp", "tcp6"} { // of the process's network namespace
			text, err := os.ReadFile(path.Join(process, "net", table))
			if err != nil {
				continue
			}
			for line := range strings.Lines(string(text)) {
				if s, ok := readSocket(line); ok && s.state == tcpListens && slices.Contains(held, s.file) {
					all = append(all, s.local)
				}
			}
		}
	}
	slices.SortFunc(all, netip.AddrPort.Compare)
	return slices.Compact(all)
}

// tcpListens is the state of a listening TCP socket.
const tcpListens = "0A"

// tableSocket is a socket in a table of /proc/net.
type tableSocket struct {
	local netip.AddrPort
	state string
	file  string // the target of its descriptor's link: "socket:[4711]"
}

// readSocket reads a line of /proc/net/tcp, tcp6, udp or udp6. The second field is the local address, the fourth the
// state, the tenth the inode.
func readSocket(line string) (s tableSocket, ok bool) {
	fields := strings.Fields(line)
	if len(fields) < 10 {
		return s, false
	}
	s.local, ok = socketAddress(fields[1])
	s.state, s.file = fields[3], "socket:["+fields[9]+"]"
	return s, ok
}

// openFiles returns the targets of a process's descriptors. It returns none if the process has ended or belongs to
// another user.
func openFiles(pid int) (all []string) {
	folder := path.Join("/proc", strconv.Itoa(pid), "fd")
	files, err := os.ReadDir(folder)
	if err != nil {
		return nil
	}
	for _, file := range files {
		if to, err := os.Readlink(path.Join(folder, file.Name())); err == nil {
			all = append(all, to)
		}
	}
	return all
}
