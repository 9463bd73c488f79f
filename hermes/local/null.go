package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
)

// StartNull starts the APIs of a node with no broker behind them (hermes null), for who wants to know what its
// own side costs, and waits until they are open. It dies with us. What it complains of is in dir.
func StartNull(ctx context.Context, o Options) (*Node, error) {
	o.MayBeKilled = true
	n := &Node{ID: 1, Dir: filepath.Join(o.Dir, "null"), args: []string{"null"}, options: &o}
	if err := n.Start(ctx); err != nil {
		return nil, err
	}
	var said struct{ GRPC, HTTP string }
	if err := json.Unmarshal(n.Ready(), &said); err != nil || said.GRPC == "" {
		n.Kill()
		return nil, fmt.Errorf("what hermes null said of itself is not understood: %w",
			errors.Join(err, errors.New(string(n.Ready()))))
	}
	n.GRPC, n.HTTP = said.GRPC, said.HTTP
	return n, nil
}
