//go:build !linux

package kernel

import (
	"context"
	"os"

	"wirelab"
	"wirelab/network"
)

// path is nothing here.
type path struct{}

// Connect fails: there are no network namespaces here.
func Connect(context.Context) (*Path, error) {
	return nil, wirelab.Errorf(wirelab.Unimplemented, "a network via netem takes Linux; leave via=netem out: the relay works everywhere")
}

// Namespace is nil.
func (*path) Namespace() *os.File { return nil }

// Remove does nothing.
func (*path) Remove() {}

func (*Path) shape(context.Context, network.Spec) error { return nil }
