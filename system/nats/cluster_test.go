package nats_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"wirelab"
	"wirelab/internal/process"
	"wirelab/system/nats"
)

// A stream with three copies continues without one server, and has all that was acknowledged after the leader
// was killed.
func TestCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c, err := nats.StartCluster(t.Context(), process.Command{Path: self}, nats.Options{}, 3)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}()
	js, err := jetstream.New(dial(t, strings.Join(c.URLs(), ",")))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // the client's own 5 s are few on a busy machine
	defer cancel()
	stream, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "s", Subjects: []string{"s"}, Replicas: 3})
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if _, err := js.Publish(ctx, "s", []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	leader := stream.CachedInfo().Cluster.Leader
	for i, s := range c.Nodes() {
		if leader == nats.MemberName(i) {
			if err := s.Kill(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	var last error
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); {
		info, err := stream.Info(t.Context())
		if last = err; err == nil && info.State.Msgs == 10 && info.Cluster.Leader != leader {
			return
		}
	}
	t.Errorf("without its leader %s the stream does not have its 10 messages: %v", leader, last)
}

func TestClusterRefuses(t *testing.T) {
	for _, o := range []nats.Options{{Directory: "x"}, {Port: 1}} {
		if _, err := nats.StartCluster(t.Context(), process.Command{}, o,
			3); wirelab.CodeOf(err) != wirelab.InvalidArgument {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
