package rest

import (
	"cmp"
	"context"
	"crypto/tls"
	"log/slog"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"wirelab/hermes/access"
	"wirelab/hermes/api/intake"
	"wirelab/hermes/api/register"
	"wirelab/hermes/broker"
	"wirelab/wire/endpoint"
	"wirelab/wire/httprpc"
	"wirelab/wire/rebinding"
	"wirelab/wire/status"
)

// What a call may take, unless it says otherwise, and at most.
const (
	CallTime    = 30 * time.Second
	CallTimeMax = 5 * time.Minute
)

// Config is what an API is made of. The zero values but for Broker are usable.
type Config struct {
	Broker broker.Broker
	// Token is what callers show as bearer; "": every caller may do everything.
	Token string
	// Access says whose bearer tokens let in, instead of Token; nil: that counts. What the
	// broker lets them do it decides itself: see access.Wrap.
	Access *access.Policy
	// TLS goes before the endpoint's certificate: see access.ServerTLS.
	TLS *tls.Config
	// Health says how the node is; nil: it lives, and is ready while it knows a leader.
	Health Health
	// Traffic is what went through all APIs, for the origin's /status; nil: through this one.
	Traffic Traffic
	// Origins are those of pages that may call from browsers, such as
	// "https://example.com"; what has no Origin is not kept out by this.
	Origins []string
	// Names are the hosts, in lower case and without a port, by which callers reach the server, besides
	// IP addresses and localhost. Where neither Token, Access nor TLS is set, a request to any
	// other is refused: a page whose name was made to point here would be let in (DNS rebinding).
	Names []string
	// Log is notified of faults of this service; nil: not reported.
	Log *slog.Logger
	// Register is where subscriptions are noted, and bounded; nil: its own. APIs of a node that share one take
	// each other's acknowledgements.
	Register *register.Register
	// Intake bounds the bytes of requests under way; nil: its own. All APIs of a node share one.
	Intake *intake.Intake
	// Heartbeat is after how long without an event a comment is written; 0: 15 s.
	Heartbeat time.Duration
	// WriteTime is how long a subscriber may take to read written data; 0: 30 s.
	WriteTime time.Duration
	// Mounts are further APIs on the same port, by their path, behind the same guard. Each is made when
	// [API.Handler] is, and ends as ending does.
	Mounts map[string]func(ending context.Context) http.Handler
	// Pages are public pages, without a token and from wherever they are linked, by their exact path: they must
	// tell nothing of the broker.
	Pages map[string]http.Handler
}

const (
	heartbeatUsual = 15 * time.Second
	writeTimeUsual = 30 * time.Second
)

// API serves a broker.
type API struct {
	config Config
	broker broker.Broker
	routes routing
	open   *register.Register
	tally  tally
	self   atomic.Uint64 // this node's id, once it is known
}

// New makes an API. It refuses a Config without a broker, or with an origin that is none.
func New(config Config) (*API, error) {
	if config.Broker == nil {
		return nil, status.Errorf(status.InvalidArgument, "the API has no broker")
	}
	config.Heartbeat = cmp.Or(config.Heartbeat, heartbeatUsual)
	config.WriteTime = cmp.Or(config.WriteTime, writeTimeUsual)
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	for _, origin := range config.Origins {
		at, err := url.Parse(origin)
		if err != nil || at.Host == "" || at.Scheme+"://"+at.Host != origin {
			return nil, status.Errorf(status.InvalidArgument,
				"%q is no origin: write https://example.com, without a path",
				origin)
		}
	}
	if config.Register == nil {
		config.Register = register.New(0)
	}
	if config.Intake == nil {
		config.Intake = intake.New(intake.Options{})
	}
	d := &API{config: config, broker: config.Broker, open: config.Register}
	d.tally.began = time.Now()
	d.routes = newRouting(routes())
	return d, nil
}

// Serve serves HTTP/1.1 and HTTP/2, with TLS if secure, as package endpoint wants
// it. Subscriptions end as ctx does, so that a stop need not wait for them (hb-D31).
func (d *API) Serve(ctx context.Context, at endpoint.Endpoint, secure bool) error {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	secure = secure || d.config.TLS != nil
	protocols.SetHTTP2(secure)
	protocols.SetUnencryptedHTTP2(!secure)
	if d.config.TLS != nil {
		return httprpc.ServeWith(ctx, at, d.Handler(ctx), protocols, d.config.TLS)
	}
	return httprpc.Serve(ctx, at, d.Handler(ctx), protocols, secure)
}

// Handler is what [API.Serve] serves. Its subscriptions end as ending does.
func (d *API) Handler(ending context.Context) http.Handler {
	all := d.all(ending)
	// A token is not known to such a page, and a certificate is not for its name.
	if d.config.Token != "" || d.config.Access != nil || d.config.TLS != nil {
		return all
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !rebinding.Own(r.Host, d.config.Names...) {
			c := &call{API: d, ctx: r.Context(), writer: w, request: r, route: &nowhere}
			c.protect()
			c.fail(refuse(http.StatusMisdirectedRequest, status.PermissionDenied,
				"this node does not go by the name %.100q; call it by its IP address or by localhost, "+
					"or start it with --http-address and that name, or with a token", r.Host))
			return
		}
		all.ServeHTTP(w, r)
	})
}

// all is the handler to those who mean this server.
func (d *API) all(ending context.Context) http.Handler {
	mux := http.NewServeMux()
	for path, mount := range d.config.Mounts {
		mux.Handle(path, d.guarded(mount(ending)))
	}
	own := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { d.serve(ending, w, d.recognise(r)) })
	if len(d.config.Mounts) == 0 && len(d.config.Pages) == 0 {
		return own
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if page := d.config.Pages[r.URL.Path]; page != nil {
			page.ServeHTTP(w, r)
			return
		}
		if _, pattern := mux.Handler(r); pattern != "" {
			mux.ServeHTTP(w, d.recognise(r))
			return
		}
		own(w, r)
	})
}

// leader is the address of the leader's HTTP API, if it is another node and known.
func (d *API) leader(ctx context.Context) (address string) {
	m, ok := d.broker.Leader()
	if !ok || m.ID == d.node(ctx) {
		return ""
	}
	return m.HTTP
}

// statusTime is how long this node may take to say who it is.
const statusTime = 2 * time.Second

// node is this node's id; 0: not known yet.
func (d *API) node(ctx context.Context) uint64 {
	if id := d.self.Load(); id != 0 {
		return id
	}
	// Also for a call whose time is over: what it receives must still be right.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), statusTime)
	defer cancel()
	status, err := d.broker.Status(ctx)
	if err != nil {
		return 0
	}
	d.self.Store(status.Node)
	return status.Node
}
