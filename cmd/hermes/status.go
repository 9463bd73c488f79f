package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"wirelab/cmd/internal/cli"
	"wirelab/hermes/broker"
	"wirelab/hermes/client"
)

// clientFlags say which broker to speak to.
type clientFlags struct {
	servers []string
	secure  bool
	token   string // a file
	tls     keyPair
	timeout time.Duration
	flags   *pflag.FlagSet
}

// serverVariable names nodes, separated by spaces.
const serverVariable = "HERMES_SERVER"

func (f *clientFlags) register(c *cobra.Command) {
	flags := c.Flags()
	f.flags = flags
	flags.StringArrayVar(&f.servers, "server", nil,
		"`host:port` of a node's gRPC; several with commas or several times "+
			"(default $"+serverVariable+", else "+defaultGRPC+")")
	flags.BoolVar(&f.secure, "tls", false, "use TLS, with the system's authorities unless --tls-ca is given")
	flags.StringVar(&f.tls.ca, "tls-ca", "", "`file` with the authority to trust; implies --tls")
	flags.StringVar(&f.tls.cert, "tls-cert", "", "`file` with a certificate to show; implies --tls")
	flags.StringVar(&f.tls.key, "tls-key", "", "`file` with its key")
	flags.StringVar(&f.token, "token-file", "", "`file` with the token (default $"+tokenVariable+")")
	flags.DurationVar(&f.timeout, "timeout", 30*time.Second, "how long to try; without this flag only a second if "+
		"nothing listens there")
}

// dial makes a client of nodes of which one at least listens.
func (a *app) dial(ctx context.Context, f clientFlags) (*client.Client, error) {
	o, err := a.clientOptions(ctx, f)
	if err != nil {
		return nil, err
	}
	if err := a.reach(ctx, f, o.Addresses); err != nil {
		return nil, err
	}
	return client.New(o)
}

// clientOptions is what the flags and the environment say of how to speak to a broker.
func (a *app) clientOptions(ctx context.Context, f clientFlags) (o client.Options, err error) {
	var addresses []string
	for _, s := range f.servers {
		addresses = append(addresses, strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' })...)
	}
	if len(addresses) == 0 {
		addresses = strings.Fields(a.getenv(serverVariable))
	}
	if len(addresses) == 0 {
		addresses = []string{defaultGRPC}
	}
	token, err := a.token(ctx, f.token)
	if err != nil {
		return o, err
	}
	o = client.Options{Addresses: addresses, RetryFor: f.timeout, Token: token}
	if f.secure || f.tls != (keyPair{}) {
		o.TLS = &tls.Config{MinVersion: tls.VersionTLS13}
		if f.tls.ca != "" {
			pool, err := authorities(ctx, "--tls-ca", f.tls.ca)
			if err != nil {
				return o, err
			}
			o.TLS.RootCAs = pool
		}
		if f.tls.cert != "" || f.tls.key != "" {
			certificate, _, err := keyPair{f.tls.cert, f.tls.key, ""}.load(ctx, "of this client")
			if err != nil {
				return o, err
			}
			o.TLS.Certificates = []tls.Certificate{*certificate}
		}
	}
	return o, nil
}

// ask makes one call within the time-out.
func (a *app) ask(ctx context.Context, f clientFlags, do func(ctx context.Context, c *client.Client) error) error {
	c, err := a.dial(ctx, f)
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	answered := a.Waiting("the cluster's answer", f.timeout)
	err = do(limited, c)
	answered()
	_ = c.Close() // nothing is under way
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

func newStatusCommand(a *app) *cobra.Command {
	var f clientFlags
	c := &cobra.Command{
		Use:     "status",
		Short:   "Show the cluster as a node sees it",
		Example: "  hermes status\n  hermes status --json --server 10.0.0.1:50051",
		Args:    cli.Arguments(0, 0, "no arguments"),
	}
	f.register(c)
	asJSON := cli.JSONFlag(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		return a.ask(c.Context(), f, func(ctx context.Context, b *client.Client) error {
			s, err := b.Status(ctx)
			if err != nil {
				return err
			}
			return a.showStatus(s, a.hear(ctx, f, s), *asJSON)
		})
	}
	return c
}

// statusShown is "status --json".
type statusShown struct {
	Node      uint64        `json:"node"`
	Leader    uint64        `json:"leader,omitempty"`
	Term      uint64        `json:"term"`
	Committed uint64        `json:"committed"`
	Applied   uint64        `json:"applied"`
	Unready   string        `json:"unready,omitempty"` // why to go to another node
	Members   []memberShown `json:"members"`
}

type memberShown struct {
	ID      uint64 `json:"id"`
	Name    string `json:"name"`
	Peer    string `json:"peer,omitempty"`
	GRPC    string `json:"grpc,omitempty"`
	HTTP    string `json:"http,omitempty"`
	Learner bool   `json:"learner,omitempty"`
	Leader  bool   `json:"leader,omitempty"`
	Match   uint64 `json:"match,omitempty"`   // of the leader only
	Reached bool   `json:"reached,omitempty"` // of the leader only
	State   string `json:"state,omitempty"`   // its fault, as far as can be told
}

func (a *app) showStatus(s broker.Status, h heard, asJSON bool) error {
	if asJSON {
		shown := statusShown{
			Node: s.Node, Leader: s.Leader, Term: s.Term, Committed: s.Committed, Applied: s.Applied,
			Unready: s.Unready, Members: []memberShown{},
		}
		for _, m := range s.Members {
			shown.Members = append(shown.Members, memberShown{
				m.ID, m.Name, m.Peer, m.GRPC, m.HTTP, m.Learner, m.Leader, m.Match, m.Reached, h.state(m),
			})
		}
		return a.PrintJSON(shown)
	}
	leader := "no node leads"
	if s.Leader != 0 {
		leader = fmt.Sprintf("node %d leads", s.Leader)
	}
	well := 0
	for _, m := range s.Members {
		if h.state(m) == "" {
			well++
		}
	}
	if err := a.Printf("%s in term %d; %d of %d nodes reached; node %d has applied %d of %d entries\n",
		leader, s.Term, well, len(s.Members), s.Node, s.Applied, s.Committed); err != nil {
		return err
	}
	if s.Unready != "" {
		if err := a.Printf("node %d is not ready: %s\n", s.Node, s.Unready); err != nil {
			return err
		}
	}
	rows := [][]string{{"ID", "NAME", "ROLE", "PEER", "GRPC", "HTTP", "MATCH"}}
	for _, m := range s.Members {
		role, match := "follower", "-"
		switch {
		case m.Leader:
			role = "leader"
		case m.Learner:
			role = "learner"
		}
		if s.Node == s.Leader { // no other knows
			match = strconv.FormatUint(m.Match, 10)
		}
		if wrong := h.state(m); wrong != "" {
			role, match = role+", "+wrong, "-"
		}
		rows = append(rows, []string{
			strconv.FormatUint(m.ID, 10), cmp.Or(m.Name, "-"), role, cmp.Or(m.Peer, "-"),
			cmp.Or(m.GRPC, "-"), cmp.Or(m.HTTP, "-"), match,
		})
	}
	return a.PrintTable(rows)
}
