// Package gateway is the entry point of the pipeline: the published "broker"
// service, an HTTP/1.1 JSON API that passes log entries onward. The address of a
// request selects the path. The package knows paths only as [path.Path]: neither
// a logger nor a message broker. It passes their failures on to its callers.
//
// # The API
//
// Routes, envelope, limits and the statuses of success are the published ones,
// so that its clients work unchanged (docs/origins.md ms-F10 to F15):
//
//	POST /                         200, shows that the gateway answers
//	POST /handle                   action "log": by net/rpc, 202
//	POST /log-http, /log-grpc, …   the entry under "log", by that path, 202
//	GET  /ping                     200, as text
//	GET  /health                   200 or 503: whether the peer of each path is available
//	GET  /journal                  what happened to which entry and when
//	GET  /                         a page from which a person tries each path
//
// A request is one JSON value of at most 1 MiB ([BodyLimit]):
//
//	{"action": "log", "log": {"name": "…", "data": "…", "id": "…"}}
//
// Unknown fields are ignored. Of a duplicate field the last one counts, as in the
// published service. The id is an addition and is optional. A reply is
//
//	{"error": false, "message": "logged", "data": {"id": "…"}}
//
// Failures differ from the published service, which answers 400 to all of them,
// including its own (ms-D17). Here the status follows from the code, which data
// holds by name. The same bad request is the same failure on every path, whether
// or not the path has a peer. Text that is not UTF-8, or that escapes half a
// surrogate pair, is refused, because JSON libraries replace it silently. There
// are no actions auth and mail, and no log line per message (ms-M02).
//
// # Limits
//
// At most [Options.Limit] messages are being passed onward at once. One more gets
// 429, so that a burst is pushed back instead of queued. Each path has its own
// deadline. Clients that send or read too slowly are disconnected ([Timeouts]).
// Pages of other origins may not call the gateway (ms-D14) unless
// [Options.Origins] lists them.
package gateway

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"wirelab"
	"wirelab/broker/kinds"
	"wirelab/pipeline/journal"
	"wirelab/pipeline/path"
	"wirelab/wire/panics"
	"wirelab/workload/logging"
)

// DefaultLimit is the default of [Options.Limit].
const DefaultLimit = 4096

// Known returns the paths that a gateway has a route for even if they are not set up, in the order of the page.
func Known() []string {
	paths := []string{"log-http", "log-grpc", "log-rpc"}
	for _, k := range kinds.All() {
		paths = append(paths, "log-"+k.Path, "log-"+k.Path+"-direct")
	}
	return paths
}

// handlePath is the path that POST /handle uses, as in the published service (ms-F12).
const handlePath = "log-rpc"

// Options configure a gateway. The zero value has no path.
type Options struct {
	// Paths maps route names without their slash, such as "log-http", to paths. A name has 1 to 64 characters of
	// a-z 0-9 - and begins with "log-". The caller closes the paths after the server has stopped.
	Paths map[string]path.Path
	// Absent maps the name of a path that is not set up to the reason.
	Absent map[string]string
	// Journal records when an entry was accepted, was confirmed, or failed; nil: nothing is recorded, and there is
	// no GET /journal.
	Journal *journal.Journal
	// Origins lists other origins whose pages may call the gateway, such as "https://lab.example"; empty: only the
	// gateway's own page may.
	Origins []string
	// Limit is how many messages may be in progress at once; 0: [DefaultLimit].
	Limit int
}

// Gateway is the HTTP handler. Create one with [New].
type Gateway struct {
	options Options
	routes  map[string]map[string]http.HandlerFunc // by path and method; assigned once in New
	slots   chan struct{}                          // bounded by Limit: one slot for each message in progress
	origins *http.CrossOriginProtection
	page    []byte
	nothing error // the reply to an unknown address
	checks  checks
}

var _ http.Handler = (*Gateway)(nil)

// New returns a gateway. Invalid names of paths and invalid origins are InvalidArgument.
func New(o Options) (*Gateway, error) {
	if o.Limit <= 0 {
		o.Limit = DefaultLimit
	}
	g := &Gateway{options: o, slots: make(chan struct{}, o.Limit), origins: http.NewCrossOriginProtection()}
	for _, origin := range o.Origins {
		if err := g.origins.AddTrustedOrigin(origin); err != nil {
			return nil, wirelab.Errorf(wirelab.InvalidArgument, "origin %q: %v", origin, err)
		}
	}
	get := func(do http.HandlerFunc) map[string]http.HandlerFunc {
		return map[string]http.HandlerFunc{http.MethodGet: do, http.MethodHead: do}
	}
	post := func(do http.HandlerFunc) map[string]http.HandlerFunc {
		return map[string]http.HandlerFunc{http.MethodPost: do}
	}
	g.routes = map[string]map[string]http.HandlerFunc{
		"/":       {http.MethodGet: g.servePage, http.MethodHead: g.servePage, http.MethodPost: g.hit},
		"/ping":   get(ping),
		"/health": get(g.health),
		"/handle": post(g.handle),
	}
	if o.Journal != nil {
		g.routes["/journal"] = get(o.Journal.ServeHTTP)
	}
	for name, asset := range assets() {
		g.routes[name] = get(asset)
	}
	for _, name := range g.names() {
		if !validName(name) {
			return nil, wirelab.Errorf(wirelab.InvalidArgument, "a path named %q: want log- and then a-z 0-9 -", name)
		}
		g.routes["/"+name] = post(func(w http.ResponseWriter, r *http.Request) { g.log(w, r, name) })
	}
	known := slices.DeleteFunc(slices.Sorted(maps.Keys(g.routes)),
		func(at string) bool { return strings.HasPrefix(at, "/assets/") })
	g.nothing = wirelab.Errorf(wirelab.NotFound, "there is nothing at this address; known: %s",
		strings.Join(known, " "))
	page, err := g.makePage()
	g.page = page
	return g, err
}

// names returns all paths that have a route: the known ones, then the others.
func (g *Gateway) names() []string {
	known := Known()
	others := slices.Sorted(maps.Keys(g.options.Paths))
	return append(known, slices.DeleteFunc(others, func(name string) bool { return slices.Contains(known, name) })...)
}

func validName(name string) bool {
	rest, ok := strings.CutPrefix(name, "log-")
	return ok && rest != "" && len(name) <= 64 && strings.Trim(rest, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// ServeHTTP implements [http.Handler].
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("X-Content-Type-Options", "nosniff")
	if id := r.Header.Get(path.HeaderRequestID); validRequestID(id) {
		header.Set(path.HeaderRequestID, id)
		r = r.WithContext(path.WithRequestID(r.Context(), id))
	}
	defer func() {
		if p := recover(); p != nil {
			fail(w, panics.Error(r.Context(), p))
		}
	}()
	methods, ok := g.routes[r.URL.Path]
	if !ok {
		fail(w, g.nothing)
		return
	}
	if !g.admit(w, r, methods) {
		return
	}
	do, ok := methods[r.Method]
	if !ok {
		allowed := allow(methods)
		header.Set("Allow", allowed)
		failAs(w, http.StatusMethodNotAllowed,
			wirelab.Errorf(wirelab.Unimplemented, "method not allowed here; allowed: %s", allowed))
		return
	}
	do(w, r)
}

// hit answers POST /: ms-F11.
func (g *Gateway) hit(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, envelope{Message: "Hit the broker"})
}

// ping answers GET /ping: ms-F10. It shows only that the process is alive.
func ping(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte(".")) // a write error belongs to the connection
}

// handle answers POST /handle, where the action selects the work: ms-F12.
func (g *Gateway) handle(w http.ResponseWriter, r *http.Request) {
	g.pass(w, r, handlePath, true)
}

// log answers POST /log-…, where the action is optional.
func (g *Gateway) log(w http.ResponseWriter, r *http.Request, name string) {
	g.pass(w, r, name, false)
}

// pass reads an entry, checks it, passes it onward and reports the outcome. The checks come first, so that a bad
// request gets the same answer if the path is not set up.
func (g *Gateway) pass(w http.ResponseWriter, r *http.Request, name string, dispatch bool) {
	entry, err := readEntry(w, r, dispatch)
	if err != nil {
		fail(w, err)
		return
	}
	way, ok := g.options.Paths[name]
	if !ok || way == nil {
		// No Retry-After: a path that is not set up will not appear while this process runs.
		answerFailure(w, http.StatusServiceUnavailable, g.absent(name))
		return
	}
	select {
	case g.slots <- struct{}{}: // acquired only now: a slow sender must not hold a slot
		defer func() { <-g.slots }()
	default:
		fail(w, wirelab.Errorf(wirelab.ResourceExhausted, "%d messages are in progress already", g.options.Limit))
		return
	}
	if entry.ID == "" {
		entry.ID = logging.NewID()
	}
	identify(w, entry.ID)
	g.options.Journal.Note(entry.ID, journal.Accepted, time.Now())
	receipt, err := way.Log(r.Context(), entry)
	if err != nil {
		g.options.Journal.Note(entry.ID, journal.Failed, time.Now())
		fail(w, err)
		return
	}
	if !receipt.Confirmed.IsZero() {
		g.options.Journal.Note(entry.ID, journal.Confirmed, receipt.Confirmed)
	}
	accept(w, wordsOf(name), entry.ID)
}

// absent returns the error for a path that is not set up.
func (g *Gateway) absent(name string) error {
	if why := g.options.Absent[name]; why != "" {
		return wirelab.Errorf(wirelab.Unavailable, "path %s is not available: %s", name, why)
	}
	return wirelab.Errorf(wirelab.Unavailable, "path %s is not available", name)
}

// wordsOf returns the message of a success: ms-F13 to F15.
func wordsOf(name string) string {
	for _, k := range kinds.All() {
		if strings.HasPrefix(name, "log-"+k.Path) {
			return "logged via " + k.Name
		}
	}
	return "logged"
}

// envelope is the form of every reply. Invariant: Data can be marshalled.
type envelope struct {
	Error   bool   `json:"error"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

// failure is the data of a failed reply.
type failure struct {
	Code string `json:"code"`
}

func answer(w http.ResponseWriter, status int, told envelope) {
	body, err := json.Marshal(told)
	if err != nil {
		panic("gateway: " + err.Error()) // by the invariant of envelope
	}
	send(w, status, body)
}

// accept reports success: an [envelope] whose data is the id of the entry. Neither words nor id contain characters
// that JSON escapes, so the body is concatenated here: marshalling it by reflection cost as much as reading the
// request.
func accept(w http.ResponseWriter, words, id string) {
	const a, b, c = `{"error":false,"message":"`, `","data":{"id":"`, `"}}`
	body := make([]byte, 0, len(a)+len(words)+len(b)+len(id)+len(c))
	for _, piece := range [...]string{a, words, b, id, c} {
		body = append(body, piece...)
	}
	send(w, http.StatusAccepted, body)
}

func send(w http.ResponseWriter, status int, body []byte) {
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(body) // a write error belongs to the connection
}

// fail reports an error with the status of its code.
func fail(w http.ResponseWriter, err error) {
	failAs(w, statusOf(wirelab.CodeOf(err)), err)
}

func failAs(w http.ResponseWriter, status int, err error) {
	if status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	answerFailure(w, status, err)
}

func answerFailure(w http.ResponseWriter, status int, err error) {
	identify(w, "")
	public := wirelab.Public(err)
	answer(w, status, envelope{Error: true, Message: public.Message, Data: failure{public.Code.String()}})
}

// statusCanceled is the status of a request whose caller has gone, so it is never read.
const statusCanceled = 499

// statusOf returns the HTTP status of a code. Faults of the pipeline are never 4xx (ms-D17).
func statusOf(code wirelab.Code) int {
	switch code {
	case wirelab.InvalidArgument:
		return http.StatusBadRequest
	case wirelab.NotFound:
		return http.StatusNotFound
	case wirelab.Conflict:
		return http.StatusConflict
	case wirelab.PermissionDenied:
		return http.StatusForbidden
	case wirelab.Unauthenticated:
		return http.StatusUnauthorized
	case wirelab.ResourceExhausted:
		return http.StatusTooManyRequests
	case wirelab.DeadlineExceeded:
		return http.StatusGatewayTimeout
	case wirelab.Canceled:
		return statusCanceled
	case wirelab.Unavailable:
		return http.StatusServiceUnavailable
	case wirelab.Unimplemented:
		return http.StatusNotImplemented
	case wirelab.Internal:
	}
	return http.StatusInternalServerError
}
