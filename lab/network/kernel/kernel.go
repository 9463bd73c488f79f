// Package kernel makes a path with the kernel's own means: a network namespace
// for the server, a virtual cable into it, and netem on both ends of that. It
// needs root, iproute2 and a kernel with netem, and says so where one of them is
// missing. It knows paths as room network describes them, and not what runs at
// their ends. And it makes a [Segment]: several hosts that can be cut off from one
// another, for which it needs no netem.
package kernel

import (
	"context"
	"os"

	"wirelab/lab/network"
)

// Path is a path that the kernel makes. Its namespace has no name: it is there as
// long as its file is open, or a process in it lives, and takes the cable with it.
// So nothing is left behind, even by a process that is killed.
type Path struct {
	// Host is the server's address in its namespace, which is reached from
	// outside of it.
	Host string

	namespace *os.File
	near, far string // the cable's ends, outside and in the namespace
}

// Make makes a path, which is there until it is removed or this process has
// ended, however that came. Its errors are PermissionDenied without the right to,
// Unimplemented where the kernel or the system lacks what it takes; both say
// what to do instead.
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
