package kernel

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"wirelab"
	"wirelab/internal/affinity"
	"wirelab/lab/network"
)

// instead says what to do if the kernel cannot make the path.
const instead = "leave via=netem out: the relay works everywhere"

// Connect makes a namespace and a cable into it, without delay, loss or limit.
func Connect(ctx context.Context) (*Path, error) {
	for _, tool := range []string{"ip", "tc"} {
		if _, err := exec.LookPath(tool); err != nil {
			return nil, wirelab.Errorf(wirelab.Unimplemented,
				"a network via netem needs the programs ip and tc of iproute2, and there is no %s; install it, or %s",
				tool, instead)
		}
	}
	namespace, err := affinity.NewNamespace()
	if err != nil {
		if errors.Is(err, unix.EPERM) {
			return nil, wirelab.Errorf(wirelab.PermissionDenied,
				"a network via netem needs root (CAP_NET_ADMIN and CAP_SYS_ADMIN), to make a network namespace; "+
					"become root, or %s", instead)
		}
		return nil, wirelab.Errorf(wirelab.Unimplemented, "this kernel makes no network namespace: %v; %s", err,
			instead)
	}
	p := &Path{namespace: namespace, far: "wirelab"}
	if err := p.connect(ctx); err != nil {
		p.Remove()
		return nil, err
	}
	return p, nil
}

// Namespace returns the network namespace in which to start the server.
func (p *Path) Namespace() *os.File { return p.namespace }

// connect makes the cable. Each packet on it holds one segment.
func (p *Path) connect(ctx context.Context) error {
	near, far, err := addresses()
	if err != nil {
		return err
	}
	// The name is sure to be free, since it contains the address.
	name := "wl" + strings.ReplaceAll(strings.TrimPrefix(near.String(), "198."), ".", "-")
	failed := all(ctx, command{
		nil,
		"ip link add " + name + " gso_max_segs 1 type veth peer name " + p.far + " gso_max_segs 1 netns " +
			found(p.namespace),
	})
	if failed == nil {
		p.near = name
		failed = all(ctx,
			command{nil, "ip addr add " + near.String() + "/30 dev " + name},
			command{nil, "ip link set dev " + name + " up"},
			command{p.namespace, "ip addr add " + far.String() + "/30 dev " + p.far},
			command{p.namespace, "ip link set dev " + p.far + " up"},
			command{p.namespace, "ip link set dev lo up"},
		)
	}
	if failed != nil {
		return wirelab.Errorf(wirelab.Unimplemented, "cannot make a virtual cable here: %v; %s", failed, instead)
	}
	p.Host = far.String()
	return nil
}

// Remove removes the path. The servers in it must have ended.
func (p *Path) Remove() {
	if p.near != "" {
		// The namespace takes the cable with it, but some time later. An error means that the cable is gone already.
		ctx, cancel := context.WithTimeout(context.Background(), removeLimit)
		defer cancel()
		_ = run(ctx, nil, "ip", "link", "del", p.near)
	}
	_ = p.namespace.Close() // it was only held open
}

// removeLimit limits how long removing a cable may take.
const removeLimit = 5 * time.Second

// run runs a program in a namespace, or outside if namespace is nil. The error has the program's output.
func run(ctx context.Context, namespace *os.File, name string, args ...string) error {
	return affinity.Place{Namespace: namespace}.Do(func() error {
		said, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err,
				strings.Join(strings.Fields(string(said)), " "))
		}
		return nil
	})
}

// command is a command to run in a namespace, or outside if in is nil.
type command struct {
	in    *os.File
	words string
}

// all runs commands one after the other, until one fails.
func all(ctx context.Context, commands ...command) error {
	for _, c := range commands {
		words := strings.Fields(c.words)
		if err := run(ctx, c.in, words[0], words[1:]...); err != nil {
			return err
		}
	}
	return nil
}

// found returns the path at which other programs find a namespace.
func found(namespace *os.File) string {
	return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), namespace.Fd())
}

// addresses returns two neighbouring addresses that no interface here has, from the range reserved for network
// benchmarks (RFC 2544).
func addresses() (near, far netip.Addr, err error) {
	taken := map[string]bool{}
	all, err := net.InterfaceAddrs()
	if err != nil {
		return near, far, err
	}
	for _, a := range all {
		host, _, _ := strings.Cut(a.String(), "/")
		taken[host] = true
	}
	first := os.Getpid() % (1 << 14) * 4
	for i := range 1 << 14 {
		n := (first + 4*i) % (1 << 16)
		net := [4]byte{198, 18, byte(n >> 8), byte(n)}
		near = netip.AddrFrom4([4]byte{net[0], net[1], net[2], net[3] + 1})
		far = netip.AddrFrom4([4]byte{net[0], net[1], net[2], net[3] + 2})
		if !taken[near.String()] && !taken[far.String()] {
			return near, far, nil
		}
	}
	return near, far, wirelab.Errorf(wirelab.ResourceExhausted, "no address of 198.18.0.0/16 is free")
}

// shape makes both ends of the cable delay, drop and limit the packets that they send.
func (p *Path) shape(ctx context.Context, spec network.Spec) error {
	words := netem(spec)
	for _, end := range []struct {
		in   *os.File
		name string
	}{{nil, p.near}, {p.namespace, p.far}} {
		err := run(ctx, end.in, "tc", append([]string{"qdisc", "add", "dev", end.name, "root"}, words...)...)
		if err != nil {
			return wirelab.Errorf(wirelab.Unimplemented,
				"this kernel has no netem (CONFIG_NET_SCH_NETEM), or not in the form that tc here uses; %s (%v)",
				instead, err)
		}
	}
	return nil
}

// netem returns tc's arguments for one direction of a path.
func netem(spec network.Spec) []string {
	words := []string{"netem", "limit", strconv.Itoa(queue(spec))}
	if spec.RTT > 0 {
		words = append(words, "delay", nanoseconds(spec.RTT/2))
		if spec.Jitter > 0 {
			words = append(words, nanoseconds(spec.Jitter/2))
		}
	}
	if spec.Loss > 0 {
		words = append(words, "loss", "random", strconv.FormatFloat(100*spec.Loss, 'f', 6, 64)+"%")
	}
	if spec.Bandwidth > 0 {
		words = append(words, "rate", strconv.FormatInt(spec.Bandwidth, 10)+"bit")
	}
	return words
}

func nanoseconds(d time.Duration) string { return strconv.FormatInt(d.Nanoseconds(), 10) + "ns" }

// queue returns how many packets netem holds: those on their way and, if the bandwidth is limited, one round trip more,
// like the relay's queue.
func queue(spec network.Spec) int {
	const most, packet = 100_000, 1500 * 8
	if spec.Bandwidth == 0 {
		return most
	}
	trips := 1.5 * spec.RTT.Seconds() * float64(spec.Bandwidth) / packet
	return int(min(most, 100+trips))
}
