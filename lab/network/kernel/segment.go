package kernel

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"wirelab"
	"wirelab/internal/affinity"
)

// Segment is a network of hosts on this machine. Each host is a network namespace, and all are on one bridge, which
// this process is connected to as well. Any host can be cut off from the others.
//
// No namespace has a name: each exists as long as its file is open or a process runs in it, and its links with it. The
// bridge is in a namespace too; otherwise a process that is killed would leave it behind.
type Segment struct {
	// Hosts has the namespace and address of each host. The addresses can be reached from here and from the other
	// hosts.
	Hosts []affinity.Host

	hub  *os.File // the namespace of the bridge
	near string   // this end of the cable to the bridge; "": none yet
}

// NewSegment makes a segment of 1 to 253 hosts, which exists until it is removed, or until this process and those on
// its hosts have ended in any way. It needs root and iproute2. Its errors have the codes of those of [Make].
func NewSegment(ctx context.Context, hosts int) (*Segment, error) {
	s := &Segment{}
	if err := s.make(ctx, hosts); err != nil {
		s.Remove()
		return nil, err
	}
	return s, nil
}

// hostsMost is the most hosts of a segment: a /24 without its first and last address and this machine's.
const hostsMost = 253

// making is held while a segment of this process is made.
var making sync.Mutex

func (s *Segment) make(ctx context.Context, hosts int) (err error) {
	if hosts < 1 || hosts > hostsMost {
		return wirelab.Errorf(wirelab.InvalidArgument, "a segment of %d hosts; want 1 to %d", hosts, hostsMost)
	}
	if _, err := exec.LookPath("ip"); err != nil {
		return wirelab.Errorf(wirelab.Unimplemented,
			"separate hosts need the program ip of iproute2, and there is none; install it")
	}
	if s.hub, err = affinity.NewNamespace(); err != nil {
		if errors.Is(err, unix.EPERM) {
			return wirelab.Errorf(wirelab.PermissionDenied,
				"separate hosts need root (CAP_NET_ADMIN and CAP_SYS_ADMIN), to make network namespaces; "+
					"become root")
		}
		return wirelab.Errorf(wirelab.Unimplemented, "this kernel makes no network namespace: %v", err)
	}
	// A network counts as free until one of its addresses is in use: two segments that are made at the same time would
	// both find the same one.
	making.Lock()
	defer making.Unlock()
	net, name, err := freeNet()
	if err != nil {
		return err
	}
	if err := s.lay(ctx, net, name, hosts); err != nil {
		return wirelab.Errorf(wirelab.Unimplemented, "cannot make separate hosts here: %v", err)
	}
	return nil
}

// lay makes the bridge, the hosts, and a cable to each host and to this machine.
func (s *Segment) lay(ctx context.Context, net, name string, hosts int) error {
	if err := all(ctx,
		command{s.hub, "ip link add bridge type bridge"},
		command{s.hub, "ip link set dev bridge up"},
		command{nil, "ip link add " + name + " type veth peer name us netns " + found(s.hub)},
	); err != nil {
		return err
	}
	s.near = name
	if err := all(ctx,
		command{nil, "ip addr add " + net + "254/24 dev " + name},
		command{nil, "ip link set dev " + name + " up"},
		command{s.hub, "ip link set dev us master bridge up"},
	); err != nil {
		return err
	}
	for i := range hosts {
		space, err := affinity.NewNamespace()
		if err != nil {
			return err
		}
		host := affinity.Host{Address: net + strconv.Itoa(i+1), Namespace: space}
		s.Hosts = append(s.Hosts, host)
		port := "host" + strconv.Itoa(i+1)
		if err := all(ctx,
			command{s.hub, "ip link add " + port + " type veth peer name eth0 netns " + found(space)},
			command{s.hub, "ip link set dev " + port + " master bridge up"},
			command{space, "ip addr add " + host.Address + "/24 dev eth0"},
			command{space, "ip link set dev eth0 up"},
			command{space, "ip link set dev lo up"},
		); err != nil {
			return err
		}
	}
	return nil
}

// freeNet returns a network that no interface here is in, as the prefix of its addresses, and a name for this end of
// its cable. The network is from the range reserved for network benchmarks (RFC 2544).
func freeNet() (net24, name string, err error) {
	taken, err := net.InterfaceAddrs()
	if err != nil {
		return "", "", err
	}
	first := os.Getpid()
next:
	for i := range 1 << 9 {
		n := (first + i) % (1 << 9)
		net24 := fmt.Sprintf("198.%d.%d.", 18+n>>8, n&0xff)
		for _, a := range taken {
			if strings.HasPrefix(a.String(), net24) {
				continue next
			}
		}
		return net24, fmt.Sprintf("wls%d-%d", 18+n>>8, n&0xff), nil
	}
	return "", "", wirelab.Errorf(wirelab.ResourceExhausted, "every network of 198.18.0.0/15 is in use here")
}

// Cut cuts the host with this index in Hosts off from the others, in both directions: packets between them vanish
// without an error, while this process still reaches all of them. Mend undoes it.
func (s *Segment) Cut(ctx context.Context, host int) error { return s.holes(ctx, host, "add") }

// Mend undoes [Segment.Cut].
func (s *Segment) Mend(ctx context.Context, host int) error { return s.holes(ctx, host, "del") }

// holes makes packets between a host and each other host vanish, or lets them pass again.
func (s *Segment) holes(ctx context.Context, host int, does string) error {
	var both []command
	for i, other := range s.Hosts {
		if i != host {
			both = append(both,
				command{s.Hosts[host].Namespace, "ip route " + does + " blackhole " + other.Address + "/32"},
				command{other.Namespace, "ip route " + does + " blackhole " + s.Hosts[host].Address + "/32"})
		}
	}
	var failed error
	for _, c := range both { // all of them, even after an error, or half a cut would be left
		failed = errors.Join(failed, all(ctx, c))
	}
	return failed
}

// Bytes returns how many bytes went over the segment so far. Each packet counts once, when it arrives at the bridge.
func (s *Segment) Bytes() (sum uint64, err error) {
	err = affinity.Place{Namespace: s.hub}.Do(func() error {
		text, err := os.ReadFile("/proc/thread-self/net/dev")
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(text)) {
			name, counts, counted := strings.Cut(line, ":")
			name = strings.TrimSpace(name)
			if words := strings.Fields(counts); counted && len(words) > 0 &&
				(name == "us" || strings.HasPrefix(name, "host")) {
				n, _ := strconv.ParseUint(words[0], 10, 64) // text that is no number counts as 0
				sum += n
			}
		}
		return nil
	})
	return sum, err
}

// Remove removes the segment. The processes on its hosts must have ended.
func (s *Segment) Remove() {
	if s.near != "" {
		// The namespaces take the cables with them, but some time later. An error means that the cable is gone already.
		ctx, cancel := context.WithTimeout(context.Background(), removeLimit)
		defer cancel()
		_ = run(ctx, nil, "ip", "link", "del", s.near)
	}
	for _, host := range s.Hosts {
		_ = host.Namespace.Close() // it was only held open
	}
	if s.hub != nil {
		_ = s.hub.Close() // it was only held open
	}
}
