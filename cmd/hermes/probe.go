package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"wirelab/cmd/internal/cli"
	"wirelab/internal/fault"
	"wirelab/wire/status"
)

// newReadyCommand asks a node itself, unlike the commands of clients, who go on at another.
func newReadyCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "ready",
		Short: "Check whether a node is ready for callers; the exit code says it",
		Long: `Ready asks a node over HTTP, without TLS, whether it is ready: it knows a leader, it
has everything that was committed, it has room, and it is not stopping. Use it for
health checks where there is no curl.`,
		Example: "  hermes ready --http 127.0.0.1:8080",
		Args:    cli.Arguments(0, 0, "no arguments"),
	}
	at := c.Flags().String("http", defaultHTTP, "HTTP address of the node, as `host:port`")
	limit := c.Flags().Duration("timeout", 4*time.Second, "how long the node may take to answer")
	c.RunE = func(c *cobra.Command, _ []string) error {
		ctx, cancel := context.WithTimeout(c.Context(), *limit)
		defer cancel()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+*at+"/readyz", nil)
		if err != nil {
			return cli.Usage("--http: %v", err)
		}
		transport := new(http.Transport)
		defer transport.CloseIdleConnections()
		reply, err := transport.RoundTrip(request)
		if err != nil {
			if c.Context().Err() != nil {
				return c.Context().Err()
			}
			return notReached(*at, *limit, err)
		}
		defer reply.Body.Close() //nolint:errcheck // what was read is there
		body, err := io.ReadAll(io.LimitReader(reply.Body, 4<<10))
		if err != nil {
			return fmt.Errorf("readyz: %w", err)
		}
		if reply.StatusCode != http.StatusOK {
			return status.Errorf(status.Unavailable, "not ready: %s", strings.TrimSpace(string(body)))
		}
		return a.Printf("ready\n")
	}
	return c
}

// notReached is why a node does not answer.
func notReached(at string, limit time.Duration, err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return status.Errorf(status.DeadlineExceeded, "no answer of %s within %v", at, limit)
	}
	return status.Errorf(status.Unavailable, "no node answers: %s", fault.Text(err))
}
