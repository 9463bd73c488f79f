package path_test

import (
	"context"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"wirelab"
	"wirelab/pipeline/path"
	"wirelab/workload/logging"
	"wirelab/workload/logging/bind"
)

// TestRealEndpoints checks that the paths and the real listeners of the logger fit together, in the recommended mode
// and as published: an entry is stored under the id of the receipt, a repeated entry is not stored again, and a
// contradiction is a Conflict if the path can carry a code.
func TestRealEndpoints(t *testing.T) {
	t.Parallel()
	https := bind.HTTP()
	http1 := https[slices.IndexFunc(https,
		func(b wirelab.Binding[logging.Service]) bool { return b.Protocol.Name == "http1-json" })]
	for name, c := range map[string]struct {
		binding wirelab.Binding[logging.Service]
		way     func(t *testing.T, address string, o path.Options) path.Path
	}{
		"http": {http1, endpoints()[0].way},
		"grpc": {bind.GRPC(), endpoints()[1].way},
		"rpc":  {bind.NetRPC(), endpoints()[2].way},
	} {
		for _, published := range []bool{false, true} {
			if published {
				name += ", as was published"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				memory := logging.New()
				p := c.way(t, stand(t, c.binding, memory), path.Options{AsPublished: published})
				defer p.Close()
				if err := p.Check(t.Context()); err != nil {
					t.Error(err)
				}
				entry := logging.Entry{Name: "n", Data: "a <b> \u2028 \x01 \U0001F600"}
				receipt, err := p.Log(t.Context(), entry)
				if err != nil {
					t.Fatal(err)
				}
				entry.ID = receipt.ID
				if stored, err := memory.GetEntry(t.Context(), logging.EntryID{ID: receipt.ID}); err != nil ||
					stored.Entry != entry {
					t.Errorf("stored %+v, %v; want %+v", stored, err, entry)
				}
				if again, err := p.Log(t.Context(), entry); err != nil || again.ID != receipt.ID {
					t.Errorf("the same again: %+v, %v", again, err)
				}
				entry.Data = "another"
				_, err = p.Log(t.Context(), entry)
				if err == nil || wirelab.CodeOf(err) != wirelab.Conflict {
					t.Errorf("a contradiction: %v, want conflict", err)
				}
				if all, err := memory.ListEntries(t.Context(), logging.Query{}); err != nil || len(all.Entries) != 1 {
					t.Errorf("%d entries are stored, %v; want 1", len(all.Entries), err)
				}
			})
		}
	}
}

// stand serves a logger by a binding's first server until the test ends.
func stand(t *testing.T, b wirelab.Binding[logging.Service], service logging.Service) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := b.Servers[0].Serve(ctx, wirelab.Endpoint{Listener: l, Drain: time.Second}, service); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		cancel()
		wg.Wait()
	})
	return l.Addr().String()
}
