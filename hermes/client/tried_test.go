package client_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"

	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/hermes/client"
	"wirelab/internal/porttest"
	"wirelab/wire/status"
)

// TestAllDown: with no node at any address the error names each, and what it said.
func TestAllDown(t *testing.T) {
	var addresses []string
	for range 3 {
		addresses = append(addresses, porttest.Refusing(t))
	}
	for what, do := range map[string]func(*client.Client) error{
		"subscribe": func(c *client.Client) error {
			_, err := c.Subscribe(t.Context(), broker.Start{Topic: "a", From: broker.FromOldest})
			return err
		},
		"publish": func(c *client.Client) error {
			_, err := c.Publish(t.Context(), "a", hermes.Consistent, &hermes.Message{Payload: []byte("x")})
			return err
		},
		"ask": func(c *client.Client) error { _, err := c.Status(t.Context()); return err },
	} {
		var err error
		// A slow machine may not have asked each by the end, so each attempt allows more.
		for long := 2 * time.Second; (err == nil || strings.Count(err.Error(), "refused") < len(addresses)) &&
			long < 2*time.Minute; long *= 4 {
			c, failed := client.New(client.Options{Addresses: addresses, RetryFor: long})
			if failed != nil {
				t.Fatal(failed)
			}
			if err = do(c); err == nil {
				t.Fatalf("%s: no one is there", what)
			}
			_ = c.Close()
		}
		if code := status.CodeOf(err); code != status.Unavailable && code != status.DeadlineExceeded {
			t.Errorf("%s: %v", what, err)
		}
		for _, a := range addresses {
			if !strings.Contains(err.Error(), a+": ") || strings.Count(err.Error(), "refused") < len(addresses) {
				t.Errorf("%s does not say what %s said: %v", what, a, err)
			}
		}
	}
}

// What a node said before is reported, although it said at last that time is over, and said so before our clock did.
func TestSaidBeforeTimeWasOver(t *testing.T) {
	t.Parallel()
	for _, over := range []string{context.DeadlineExceeded.Error(), status.Public(context.DeadlineExceeded).Message} {
		var asked atomic.Int64
		address := answering(t, func(grpc.ServerStream) error {
			if asked.Add(1) == 1 {
				return grpcstatus.Error(codes.Unavailable, "no node leads")
			}
			return grpcstatus.Error(codes.DeadlineExceeded, over)
		})
		c := connect(t, client.Options{Addresses: []string{address}})
		_, err := c.Status(patient(t))
		if err == nil || !strings.Contains(err.Error(), address+": no node leads") ||
			status.CodeOf(err) != status.DeadlineExceeded {
			t.Errorf("%v", err)
		}
	}
}
