// Package kernel makes a network path with the means of the Linux kernel: a network namespace for the server, a virtual
// cable (veth) into it, and netem on both ends of the cable. It needs root, iproute2 and a kernel with netem, and says
// so if one of them is missing. It knows paths as package network describes them, and not what runs at their ends. It
// also makes a [Segment]: several hosts that can be cut off from one another, which needs no netem.
package kernel

import (
	"context"
	"os"

	"wirelab/lab/network"
)

// Path is a path that the kernel makes. Its namespace has no name: it exists as long as its file is open or a process
// runs in it, and the cable with it. So nothing is left behind, even by a process that is killed.
type Path struct {
	// Host is the server's address in its namespace. It can be reached from outside the namespace.
	Host string

	namespace *os.File
	near, far string // the ends of the cable, outside and inside the namespace
}

// Make makes a path, which exists until it is removed or this process has ended in any way. The error has code
// PermissionDenied if the process lacks the right, and Unimplemented if the kernel or the system lacks something that
// is needed. Both say what to do instead.
func Make(ctx context.Context, spec network.Spec) (*Path, error) {
	p, err := Connect(ctx)
	if err != nil {
		return nil, err
	}
	if err := p.shape(ctx, spec); err != nil {
		p.Remove()
		return nil, err
	}
	return p, nil
}
