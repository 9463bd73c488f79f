package kept

import (
	"context"
	"log/slog"
	"net"
	"os"

	"github.com/spf13/cobra"

	"wirelab/cmd/internal/cli"
	"wirelab/cmd/internal/desk"
	"wirelab/internal/fault"
	"wirelab/results/dashboard"
	"wirelab/results/store"
)

// tokenVariable has the token if the flag is not given: other users of a machine see the flags of a process.
const tokenVariable = "WIRELAB_TOKEN"

// serveResultsFlags are the flags of "serve-results".
type serveResultsFlags struct {
	addr, token  string
	open, asJSON bool
}

func newServeResultsCommand(a *commands) *cobra.Command {
	var f serveResultsFlags
	c := &cobra.Command{
		Use:   "serve-results",
		Short: "Serve stored results as web pages and an API until Ctrl-C",
		Long:  desk.HelpText("serve-results") + tokenVariable + desk.HelpText("serve-results.2"),
		Example: desk.HelpText("serve-results.examples") + tokenVariable +
			`=$(openssl rand -hex 16) wirelab serve-results --addr 127.0.0.1:8090`,
		Args: cli.Arguments(0, 0, "no arguments"),
	}
	c.Flags().StringVar(&f.addr, "addr", "127.0.0.1:0", "`host:port` to listen on; port 0 is any free one")
	c.Flags().StringVar(&f.token, "token", "",
		"let clients with this `text` as their token add and delete results "+
			"(default $"+tokenVariable+"; without a token no client can)")
	c.Flags().BoolVar(&f.open, "open", false, "open the page in a browser")
	c.Flags().BoolVar(&f.asJSON, "json", false, "print the address as JSON, for programs")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if f.token == "" {
			f.token = a.Getenv(tokenVariable)
		}
		return a.WithStore(c.Context(), func(s store.Store) error { return a.serveResults(c.Context(), s, f) })
	}
	return c
}

// serveResults serves until ctx ends, which is no error.
func (k *commands) serveResults(ctx context.Context, s store.Store, f serveResultsFlags) error {
	board, err := dashboard.New(dashboard.Config{
		Store: s, Token: f.token, Version: k.buildTag(),
		Log: slog.New(slog.NewTextHandler(k.Stderr, &slog.HandlerOptions{Level: slog.LevelInfo})),
	})
	if err != nil {
		return cli.Usage("%s", desk.Describe(err))
	}
	at, err := (&net.ListenConfig{}).Listen(ctx, "tcp", f.addr)
	if err != nil {
		return fault.Listen(f.addr, "--addr", err)
	}
	page := "http://" + cli.Reachable(at.Addr().String()) + "/"
	if f.asJSON {
		err = k.PrintJSON(struct {
			Address string `json:"address"`
			API     string `json:"api"`
			Writes  bool   `json:"writes"`
			PID     int    `json:"pid"`
		}{page, page + "api/v1/openapi.json", f.token != "", os.Getpid()})
	} else {
		err = k.Printf("%s\n", page)
		k.Note("serving results at %s; stop with Ctrl-C", page)
	}
	if err != nil {
		return fault.Both(err, at.Close())
	}
	k.Idle(ctx, "ending the answers in progress")
	served, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan error, 1)
	go func() { done <- board.Serve(served, at) }()
	if f.open {
		if err := show(ctx, page); err != nil {
			stop()
			return fault.Both(err, <-done)
		}
	}
	return <-done
}

// buildTag identifies the build for the caches of browsers. A build with uncommitted changes matches only itself.
func (k *commands) buildTag() string {
	v := cli.ThisBuild()
	if v.Dirty || v.Commit == "" {
		return v.Commit + k.Now().String()
	}
	return v.Commit
}
