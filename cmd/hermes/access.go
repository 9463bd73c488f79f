package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"wirelab/cmd/internal/cli"
	"wirelab/hermes/access"
	"wirelab/hermes/node"
	"wirelab/hermes/peer"
	"wirelab/internal/fault"
	"wirelab/internal/input"
)

// policyEvery is how often the policy's file is looked at.
const policyEvery = 5 * time.Second

// who says who may do what at a node.
type who struct {
	policy   string
	insecure bool
}

func (w *who) register(flags *pflag.FlagSet) {
	flags.StringVar(&w.policy, "policy", "", "`file` that says who may do what; it is read again within 10 s of a "+
		"change (default: everyone may do everything)")
	flags.BoolVar(&w.insecure, "insecure", false,
		"listen beyond this machine without TLS or without a policy; only for "+
			"networks that keep strangers out")
}

// guard loads the policy, if there is one, and refuses to serve callers that come from beyond this machine, or
// in the clear. (hb-D25)
func (c *config) guard(ctx context.Context, d *listeners) (*access.Policy, error) {
	var p *access.Policy
	if c.policy != "" {
		var err error
		if p, err = access.Load(ctx, c.policy); err != nil {
			return nil, err
		}
		if c.token != "" {
			return nil, cli.Usage("--http-token and --policy are both given: the policy has the tokens")
		}
	}
	if c.insecure {
		return p, nil
	}
	if p != nil && d.peer != nil && c.peerTLS.cert == "" && c.peerKeyFile == "" {
		return nil, cli.Usage("--policy guards callers, and anyone who reaches --peer-listen %s could do everything "+
			"as a node: "+
			"give all nodes the same --peer-key-file, or --peer-tls-cert, --peer-tls-key and --peer-tls-ca; "+
			"or --insecure where the network keeps strangers out", d.peer.Addr())
	}
	for _, l := range []struct {
		flag  string
		at    net.Listener
		ok    bool
		lacks string
	}{
		{"grpc-listen", d.grpc, c.tls.cert != "" && p != nil, "--tls-cert, --tls-key and --policy"},
		{"http-listen", d.http, c.tls.cert != "" && p != nil, "--tls-cert, --tls-key and --policy"},
		{"peer-listen", d.peer, c.peerTLS.cert != "", "--peer-tls-cert, --peer-tls-key and --peer-tls-ca"},
	} {
		if l.at != nil && !l.ok && !loopback(l.at.Addr()) {
			return nil, cli.Usage("--%s %s can be reached from beyond this machine, which needs %s; or --insecure "+
				"where the "+
				"network keeps strangers out", l.flag, l.at.Addr(), l.lacks)
		}
	}
	return p, nil
}

// peerKey is the secret of the cluster's nodes; nil: they have none.
func (c *config) peerKey(ctx context.Context) ([]byte, error) {
	if c.peerKeyFile == "" {
		return nil, nil
	}
	text, err := input.Bytes(ctx, c.peerKeyFile, secretLimit) // a secret need not be text
	if err != nil {
		return nil, fault.Unread("--peer-key-file", c.peerKeyFile, err)
	}
	key := bytes.TrimSpace(text)
	if len(key) < peer.KeyLeast {
		return nil, cli.Usage("--peer-key-file %s holds %d bytes; want at least %d, such as what \"openssl rand -hex "+
			"32\" prints",
			c.peerKeyFile, len(key), peer.KeyLeast)
	}
	return key, nil
}

// alone reports whether no other node has to reach this one: none is named, no address is given for them, and the
// directory knows of none. It is asked before the defaults are filled in.
func (c *config) alone() bool {
	if len(c.members) > 0 || len(c.join) > 0 || c.peerListen != "" || c.peerAddress != "" {
		return false
	}
	knows, err := node.KnowsOthers(c.dataDir, cmp.Or(c.id, 1))
	return err != nil || !knows // faults of the directory are reported by the node when it opens it
}

func loopback(at net.Addr) bool {
	tcp, ok := at.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// following reads a policy again while the APIs serve.
func following(p *access.Policy, logger *slog.Logger) serving {
	return func(ctx context.Context) error {
		p.Follow(ctx, policyEvery, logger)
		return nil
	}
}

// listenerTLS is the TLS of the gRPC API and of the HTTP API, which asks for no certificate: a browser has
// none. Both nil: in the clear.
func (c *config) listenerTLS(ctx context.Context, logger *slog.Logger) (forGRPC, forHTTP *tls.Config, err error) {
	certificate, _, err := c.tls.load(ctx, "of the APIs")
	if err != nil || certificate == nil {
		return nil, nil, err
	}
	if forGRPC, err = access.ServerTLS(ctx, c.tls.cert, c.tls.key, c.tls.ca, logger); err != nil {
		return nil, nil, err
	}
	forHTTP, err = access.ServerTLS(ctx, c.tls.cert, c.tls.key, "", logger)
	return forGRPC, forHTTP, err
}

// tokenVariable has the token that is shown to a broker. There is no flag for it, since
// others see those.
const tokenVariable = "HERMES_TOKEN"

// token is the token that is shown to a broker: a file's, or the environment's; "": none.
func (a *app) token(ctx context.Context, file string) (string, error) {
	if file == "" {
		return a.getenv(tokenVariable), nil
	}
	text, err := readFile(ctx, "--token-file", file, secretLimit)
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(string(text)), nil
}

func newTokenCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "token",
		Short: "Make a token, and its hash for a policy",
		Long: `Token makes a token and its hash. Put the hash into the policy of hermes server. A
caller shows the token: with this program by $` + tokenVariable + ` or --token-file, over
HTTP and gRPC as bearer. The token is stored nowhere.`,
		Example: "  hermes token",
		Args:    cli.Arguments(0, 0, "no arguments"),
	}
	asJSON := cli.JSONFlag(c)
	c.RunE = func(*cobra.Command, []string) error {
		token, hash := access.NewToken()
		if *asJSON {
			return a.PrintJSON(struct {
				Token string `json:"token"`
				Hash  string `json:"hash"`
			}{token, hash})
		}
		return a.Printf("token: %s\nhash:  %s\n", token, hash)
	}
	return c
}
