package local_test

import (
	"strings"
	"testing"

	"wirelab/hermes/local"
	"wirelab/wire/status"
)

// Given ports are those of the nodes, one for each, and no other port is one of them.
func TestGivenPorts(t *testing.T) {
	t.Parallel()
	o := local.Options{Nodes: 2, Dir: "data", GRPCPorts: []int{50051, 50052}, HTTPPorts: []int{8080, 8081}}
	c, err := local.New(o)
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range c.Nodes {
		line := strings.Join(n.Args(), " ")
		for _, at := range []string{"127.0.0.1:5005" + string(rune('1'+i)), "127.0.0.1:808" + string(rune('0'+i))} {
			if n.GRPC != at && n.HTTP != at || !strings.Contains(line, at) {
				t.Errorf("node %d is not at %s: %s", n.ID, at, line)
			}
		}
	}
	if more, err := c.Add(); err != nil || more.GRPC == "" || more.GRPC == c.Nodes[0].GRPC {
		t.Errorf("one more node is at %+v, %v", more, err)
	}
	for what, change := range map[string]func(*local.Options){
		"too few":         func(o *local.Options) { o.GRPCPorts = o.GRPCPorts[:1] },
		"too many":        func(o *local.Options) { o.Nodes = 1 },
		"one twice":       func(o *local.Options) { o.HTTPPorts = o.GRPCPorts },
		"one that is not": func(o *local.Options) { o.HTTPPorts = []int{8080, 65536} },
	} {
		wrong := o
		change(&wrong)
		if _, err := local.New(wrong); err == nil || status.CodeOf(err) != status.InvalidArgument {
			t.Errorf("%s: %v", what, err)
		}
	}
}
