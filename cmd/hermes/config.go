package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"wirelab/cmd/internal/cli"
	"wirelab/hermes/access"
	"wirelab/hermes/api/intake"
	"wirelab/hermes/broker"
	"wirelab/hermes/lograte"
	"wirelab/hermes/metrics"
	"wirelab/internal/fault"
	"wirelab/wire/status"
)

// config is what a node is started with.
type config struct {
	id      uint64
	name    string
	cluster string
	dataDir string
	members []string
	join    []string

	peerListen, grpcListen, httpListen    string
	peerAddress, grpcAddress, httpAddress string

	tls, peerTLS keyPair
	peerKeyFile  string
	who
	token    string
	origins  []string
	noOrigin bool

	free, segment, recentLog, inHand size
	requests                         size
	scrub                            size
	memory                           size
	tick, syncLimit, clockSkew       time.Duration
	moved                            bool
	logLevel                         string
	logJSON, profile                 bool
	metricTopics, openFiles          int
	connections, perAddress          int
}

// keyPair is the files of one side's TLS; all empty: in the clear.
type keyPair struct{ cert, key, ca string }

// defaults are the ports, after the origin's.
const (
	defaultPeer = "127.0.0.1:6000"
	defaultGRPC = "127.0.0.1:50051"
	defaultHTTP = "127.0.0.1:8080"
)

// register adds a node's settings as flags.
func (c *config) register(flags *pflag.FlagSet) {
	c.registerPlace(flags)
	flags.StringVar(&c.tls.cert, "tls-cert", "", "`file` with the certificate for gRPC and HTTP (default: no TLS)")
	flags.StringVar(&c.tls.key, "tls-key", "", "`file` with its key")
	flags.StringVar(&c.tls.ca, "tls-client-ca", "", "`file` with the authority of gRPC clients; they must then show a "+
		"certificate")
	flags.StringVar(&c.peerTLS.cert, "peer-tls-cert", "", "`file` with the certificate that this node shows to other "+
		"nodes (default: no TLS)")
	flags.StringVar(&c.peerTLS.key, "peer-tls-key", "", "`file` with its key")
	flags.StringVar(&c.peerTLS.ca, "peer-tls-ca", "", "`file` with the authority of the certificates of all nodes")
	flags.StringVar(&c.peerKeyFile, "peer-key-file", "", "`file` with a secret of all nodes, of at least 16 bytes, by "+
		"which they know each other")
	flags.StringVar(&c.token, "http-token", "",
		"bearer `token` that HTTP callers must show; --policy guards gRPC too; "+
			"better use $HERMES_HTTP_TOKEN, because other users can see flags")
	c.who.register(flags)
	flags.StringArrayVar(&c.origins, "http-origin", nil, "`origin` of web pages that may call the HTTP API, such as "+
		"https://example.com")
	flags.BoolVar(&c.noOrigin, "no-origin-api", false, "do not serve the gRPC service of the broker that Hermes "+
		"descends from")
	c.free, c.segment, c.recentLog, c.inHand, c.memory = 256<<20, 64<<20, 16<<20, 64<<20, 384<<20
	flags.Var(&c.free, "free-bytes", "refuse publishes if the disk has less free space")
	flags.Var(&c.segment, "segment-bytes", "size of each file of the log")
	c.scrub = 10 << 20
	flags.Var(&c.scrub, "scrub-bytes", "how much of the log is read in a second in search of damage; 0: none")
	flags.Var(&c.recentLog, "tail-bytes", "how much of the newest messages is held in memory")
	flags.Var(&c.inHand, "in-hand-bytes", "maximum unacknowledged bytes; publishers block beyond it")
	c.requests = intake.Usual
	flags.Var(&c.requests, "request-bytes", "maximum bytes of requests under way, of all APIs together; at least 16MiB")
	flags.Var(&c.memory, "memory-bytes", "memory that the node should not exceed; near it, garbage is collected more "+
		"often. $GOMEMLIMIT and $GOGC override it")
	flags.IntVar(&c.openFiles, "open-files", 0,
		"`number` of files that the log may have open to be read, however large "+
			"it is (default a quarter of the process's limit, at most 256)")
	flags.DurationVar(&c.tick, "tick", 50*time.Millisecond, "`time` between heartbeats; after 10 to 20 of these times "+
		"without one there is an election")
	flags.DurationVar(&c.syncLimit, "sync-limit", time.Second,
		"if one sync of the disk takes longer than this `time`, "+
			"the leader gives up leadership")
	flags.DurationVar(&c.clockSkew, "clock-skew", 5*time.Second,
		"if this machine's clock differs from the median of a "+
			"majority by more than this `time`, the node gives up leadership")
	flags.BoolVar(&c.moved, "moved", false, "the data directory was moved here, and is the latest that this node had; "+
		"give it for one start only")
	flags.IntVar(&c.metricTopics, "metric-topics", metrics.Usual, "`number` of topics, and of groups, with their own "+
		"series at /metrics; the rest is added up")
	flags.IntVar(&c.connections, "connections", 10_000, "maximum `number` of connections of the gRPC port, and of the "+
		"HTTP port; fewer if too few files may be open")
	flags.IntVar(&c.perAddress, "connections-per-address", 0,
		"maximum `number` of them from one IP address or IPv6 /64 "+
			"(default: half)")
	flags.StringVar(&c.logLevel, "log-level", "info", "minimum `level` of the messages that are logged on standard "+
		"error: debug, "+
		"info, warn or error")
	flags.BoolVar(&c.logJSON, "log-json", false, "log as JSON")
	flags.BoolVar(&c.profile, "profile", false, "show Go's profiles on the socket "+profileSocket+" in the data "+
		"directory, for the node's own user only")
	flags.VisitAll(func(f *pflag.Flag) { setting(flags, f.Name) })
	flags.String(configFlag, "", "YAML `file` of settings (default $HERMES_CONFIG)")
}

// registerPlace adds what says which node this is, and where it listens.
func (c *config) registerPlace(flags *pflag.FlagSet) {
	flags.Uint64Var(&c.id, "id", 0, "the node's `number`, from 1; no other node of the cluster may ever have it "+
		"(default 1 for a single node)")
	flags.StringVar(&c.name, "name", "", "the node's `name`, for display (default node-ID)")
	flags.StringVar(&c.cluster, "cluster", "hermes", "the cluster's `name`; nodes of another cluster are refused")
	flags.StringVar(&c.dataDir, "data-dir", "", "`directory` of the log; no other node may use it")
	flags.StringArrayVar(&c.members, "member", nil,
		"a `node` of a new cluster, as ID@PEER[,GRPC[,HTTP]] with host:port "+
			"each; give it once for each node, this one included, and the same to all nodes; later, where to look "+
			"for nodes "+
			"that are not at the addresses that the cluster knows")
	flags.StringArrayVar(&c.join, "join", nil, "the peer `address` of a node of the cluster to join; can be given "+
		"several times")
	flags.StringVar(&c.peerListen, "peer-listen", "", "`host:port` to listen on for other nodes (default: from "+
		"--member, else "+defaultPeer+"; a node alone does not listen)")
	flags.StringVar(&c.grpcListen, "grpc-listen", "",
		"`host:port` to listen on for gRPC (default: from --member, else "+
			defaultGRPC+")")
	flags.StringVar(&c.httpListen, "http-listen", "",
		"`host:port` to listen on for HTTP: REST, server-sent events and "+
			"GraphQL (default: from --member, else "+defaultHTTP+")")
	flags.StringVar(&c.peerAddress, "peer-address", "",
		"`host:port` at which other nodes reach this one (default: the "+
			"one it listens on)")
	flags.StringVar(&c.grpcAddress, "grpc-address", "", "`host:port` at which clients reach gRPC (default: the one it "+
		"listens on)")
	flags.StringVar(&c.httpAddress, "http-address", "", "`host:port` at which clients reach HTTP (default: the one it "+
		"listens on)")
}

// newConfigCommand prints the settings.
func newConfigCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "config",
		Short: "Print a file of all settings of a node, with their defaults",
		Long: `Config prints a YAML file for "hermes server --config". Each setting is a comment
with its flag, its environment variable and its default. A list is a YAML list in
the file, and is separated by spaces in the environment.`,
		Example: "  hermes config > hermes.yaml",
		Args:    cli.Arguments(0, 0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			flags := pflag.NewFlagSet("server", pflag.ContinueOnError)
			new(config).register(flags)
			return a.Printf("%s", sample(flags))
		},
	}
}

// parseMember reads ID@PEER[,GRPC[,HTTP]].
func parseMember(text string) (broker.Member, error) {
	number, addresses, ok := strings.Cut(text, "@")
	id, err := strconv.ParseUint(number, 10, 64)
	list := strings.Split(addresses, ",")
	if !ok || err != nil || id == 0 || len(list) > 3 {
		return broker.Member{}, cli.Usage("a member is ID@PEER[,GRPC[,HTTP]], such as "+
			"1@10.0.0.1:6000,10.0.0.1:50051,10.0.0.1:8080; %.100q is none", text)
	}
	for _, address := range list {
		if _, _, err := net.SplitHostPort(address); err != nil {
			return broker.Member{}, cli.Usage("%.100q of member %d is no host:port", address, id)
		}
	}
	list = append(list, "", "")
	return broker.Member{ID: id, Name: fmt.Sprintf("node-%d", id), Peer: list[0], GRPC: list[1], HTTP: list[2]}, nil
}

// roster reads the members, and completes what they say of this node.
func (c *config) roster() ([]broker.Member, error) {
	if c.id == 0 {
		if len(c.members) > 0 || len(c.join) > 0 {
			return nil, cli.Usage("a node among others needs its own number: --id")
		}
		c.id = 1
	}
	if c.name == "" {
		c.name = fmt.Sprintf("node-%d", c.id)
	}
	members := make([]broker.Member, len(c.members))
	for i, text := range c.members {
		m, err := parseMember(text)
		if err != nil {
			return nil, err
		}
		if m.ID == c.id {
			fallback(&c.peerListen, m.Peer)
			fallback(&c.grpcListen, m.GRPC)
			fallback(&c.httpListen, m.HTTP)
			fallback(&c.peerAddress, m.Peer)
			fallback(&c.grpcAddress, m.GRPC)
			fallback(&c.httpAddress, m.HTTP)
			m.Name = c.name
		}
		members[i] = m
	}
	fallback(&c.peerListen, defaultPeer)
	fallback(&c.grpcListen, defaultGRPC)
	fallback(&c.httpListen, defaultHTTP)
	return members, nil
}

func fallback(s *string, to string) {
	if *s == "" {
		*s = to
	}
}

// advertised is the address that others get of a listener.
func advertised(given string, l net.Listener, flag string) (string, error) {
	if given != "" {
		return given, nil
	}
	if l == nil {
		return "", nil
	}
	if at, ok := l.Addr().(*net.TCPAddr); ok && at.IP.IsUnspecified() {
		return "", cli.Usage("others cannot dial %s: say with --%s how they reach this node", at, flag)
	}
	return l.Addr().String(), nil
}

// load reads a certificate and the authority next to it.
func (k keyPair) load(ctx context.Context, what string) (*tls.Certificate, *x509.CertPool, error) {
	if k == (keyPair{}) {
		return nil, nil, nil
	}
	if k.cert == "" || k.key == "" {
		return nil, nil, cli.Usage("TLS %s needs both a certificate and its key", what)
	}
	cert, err := readFile(ctx, "TLS "+what, k.cert, access.PEMLimit)
	if err != nil {
		return nil, nil, err
	}
	key, err := readFile(ctx, "TLS "+what, k.key, access.PEMLimit)
	if err != nil {
		return nil, nil, err
	}
	certificate, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, nil, cli.Usage("TLS %s: certificate %s and key %s: %s", what, k.cert, k.key, fault.Text(err))
	}
	if k.ca == "" {
		return &certificate, nil, nil
	}
	pool, err := authorities(ctx, "TLS "+what, k.ca)
	return &certificate, pool, err
}

// authorities reads a file of authorities, which what names.
func authorities(ctx context.Context, what, file string) (*x509.CertPool, error) {
	data, err := readFile(ctx, what, file, access.PEMLimit)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(data) {
		return nil, cli.Usage("%s holds no certificate in PEM", file)
	}
	return pool, nil
}

// forPeers is the TLS between nodes.
func (c *config) forPeers(ctx context.Context, logger *slog.Logger) (*tls.Config, error) {
	certificate, pool, err := c.peerTLS.load(ctx, "between nodes")
	if err != nil || certificate == nil {
		return nil, err
	}
	if pool == nil {
		return nil, cli.Usage("TLS between nodes needs the authority of their certificates: --peer-tls-ca")
	}
	return access.PeerTLS(ctx, c.peerTLS.cert, c.peerTLS.key, c.peerTLS.ca, logger)
}

// logger logs to w, of each cause so much that it does not fill a disk. flush tells the rest.
func (c *config) logger(w io.Writer) (l *slog.Logger, flush func(), err error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.logLevel)); err != nil {
		return nil, nil, status.UnknownName("level", c.logLevel, []string{"debug", "info", "warn", "error"})
	}
	o := &slog.HandlerOptions{Level: level}
	var all slog.Handler = slog.NewTextHandler(w, o)
	if c.logJSON {
		all = slog.NewJSONHandler(w, o)
	}
	limited := lograte.New(all, 0)
	return slog.New(limited), limited.Flush, nil
}
