package client_test

import (
	"strings"
	"testing"
	"time"

	"wirelab"
	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/hermes/client"
	"wirelab/internal/porttest"
)

// TestAllDown: with nobody at any address the error names each, and what it said.
func TestAllDown(t *testing.T) {
	var addresses []string
	for range 3 {
		addresses = append(addresses, porttest.Refusing(t))
	}
	c, err := client.New(client.Options{Addresses: addresses, RetryFor: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for what, do := range map[string]func() error{
		"subscribe": func() error {
			_, err := c.Subscribe(t.Context(), broker.Start{Topic: "a", From: broker.FromOldest})
			return err
		},
		"publish": func() error {
			_, err := c.Publish(t.Context(), "a", hermes.Consistent, &hermes.Message{Payload: []byte("x")})
			return err
		},
		"ask": func() error { _, err := c.Status(t.Context()); return err },
	} {
		err := do()
		if code := wirelab.CodeOf(err); code != wirelab.Unavailable && code != wirelab.DeadlineExceeded {
			t.Errorf("%s: %v", what, err)
		}
		for _, a := range addresses {
			if !strings.Contains(err.Error(), a+": ") || strings.Count(err.Error(), "refused") < len(addresses) {
				t.Errorf("%s does not say what %s said: %v", what, a, err)
			}
		}
	}
}
