// Package gateway is the pipeline's front door: the published "broker" service,
// an HTTP/1.1 JSON API that passes log entries onward, each by the path that its
// address names. It knows the paths by [path.Path] alone, and neither a logger
// nor a message broker; what it is told of failures it tells on.
//
// # The API
//
// Routes, envelope, limits and the statuses of success are the published ones,
// so that its clients work unchanged (docs/origins.md ms-F10 to F15):
//
//	POST /                         200, to see that somebody is there
//	POST /handle                   action "log": by net/rpc, 202
//	POST /log-http, /log-grpc, …   the entry under "log", by that path, 202
//	GET  /ping                     200, as text
//	GET  /health                   200 or 503: whether what is behind each path is there
//	GET  /journal                  what happened to which entry and when
//	GET  /                         a page from which a person presses each path
//
// A request is one JSON value of at most 1 MiB ([BodyLimit]):
//
//	{"action": "log", "log": {"name": "…", "data": "…", "id": "…"}}
//
// Unknown fields are ignored; of a field that is there twice the last counts, as
// it did; an id is ours, and may be absent. A reply is
//
//	{"error": false, "message": "logged", "data": {"id": "…"}}
//
// What differs is failures. The published service answers 400 to all of them,
// its own included (ms-D17); here the status is that of the code, which data
// holds by name, and the same bad request is the same failure on every path,
// whether or not there is anything behind it. Text that is not UTF-8, or that
// escapes half a character, is refused: JSON libraries replace it silently.
// There are no actions auth and mail, and no line of log per message (ms-M02).
//
// # Limits
//
// At most [Options.Limit] messages are on their way onward at once; one more is
// 429, so that a burst is pushed back instead of piling up. A path waits its own
// deadline. Who is slow to send or to read is cut off ([Timeouts]).
// Pages of other origins may not call it (ms-D14), unless [Options.Origins] says so.
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

// DefaultLimit is how many messages a gateway has on their way at once.
const DefaultLimit = 4096

// Known are the paths that a gateway has a route for even where nothing is
// behind it, in the order of the page.
func Known() []string {
	paths := []string{"log-http", "log-grpc", "log-rpc"}
	for _, k := range kinds.All() {
		paths = append(paths, "log-"+k.Path, "log-"+k.Path+"-direct")
	}
	return paths
}

// handlePath is the path that POST /handle takes, as was published (ms-F12).
const handlePath = "log-rpc"

// Options say what a gateway is made of. The zero value has no path at all.
type Options struct {
	// Paths are the ways onward, by the route's name without its slash, such as
	// "log-http"; 1 to 64 of a-z 0-9 - that begin with "log-". They stay the
	// caller's to close, after the server has stopped.
	Paths map[string]path.Path
	// Absent says of paths that are not there why, by name.
	Absent map[string]string
	// Journal notes when an entry was read and checked, confirmed, or failed;
	// nil: nothing is noted, and there is no GET /journal.
	Journal *journal.Journal
	// Origins may call the gateway from their pages, such as
	// "https://lab.example"; none: only the gateway's own page may.
	Origins []string
	// Limit is how many messages are on their way at once; 0: [DefaultLimit].
	Limit int
}

// Gateway is the handler. Make one with [New].
type Gateway struct {
	options Options
	routes  map[string]map[string]http.HandlerFunc // by path and method; assigned once in New
	slots   chan struct{}                          // bounded by Limit: one for each message on its way
	origins *http.CrossOriginProtection
	page    []byte
	nothing error // of an address that there is none of
	checks  checks
}

var _ http.Handler = (*Gateway)(nil)

// New returns a gateway. Names of paths or origins that are none are InvalidArgument.
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

// names are all paths that there is a route for: the known ones, then the others.
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
			wirelab.Errorf(wirelab.Unimplemented, "the method is not done here; %s is", allowed))
		return
	}
	do(w, r)
}

// hit answers POST /: ms-F11.
func (g *Gateway) hit(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, envelope{Message: "Hit the broker"})
}

// ping answers GET /ping: ms-F10. It tells that the process lives and no more.
func ping(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte(".")) // an error is the connection's
}

// handle answers POST /handle, where the action says what to do: ms-F12.
func (g *Gateway) handle(w http.ResponseWriter, r *http.Request) {
	g.pass(w, r, handlePath, true)
}

// log answers POST /log-…, which may say its action too.
func (g *Gateway) log(w http.ResponseWriter, r *http.Request, name string) {
	g.pass(w, r, name, false)
}

// pass reads an entry, checks it, hands it over and tells what came of it. The
// checks come first, so that they answer alike where a path is absent.
func (g *Gateway) pass(w http.ResponseWriter, r *http.Request, name string, dispatch bool) {
	entry, err := readEntry(w, r, dispatch)
	if err != nil {
		fail(w, err)
		return
	}
	way, ok := g.options.Paths[name]
	if !ok || way == nil {
		// It will not be there in a second either: so no Retry-After.
		answerFailure(w, http.StatusServiceUnavailable, g.absent(name))
		return
	}
	select {
	case g.slots <- struct{}{}: // taken no sooner: who sends slowly takes nobody's place
		defer func() { <-g.slots }()
	default:
		fail(w, wirelab.Errorf(wirelab.ResourceExhausted, "%d messages are on their way already", g.options.Limit))
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

// absent is the error of a path that is not there.
func (g *Gateway) absent(name string) error {
	if why := g.options.Absent[name]; why != "" {
		return wirelab.Errorf(wirelab.Unavailable, "path %s is not there: %s", name, why)
	}
	return wirelab.Errorf(wirelab.Unavailable, "path %s is not there", name)
}

// wordsOf is the message of a success: ms-F13 to F15.
func wordsOf(name string) string {
	for _, k := range kinds.All() {
		if strings.HasPrefix(name, "log-"+k.Path) {
			return "logged via " + k.Name
		}
	}
	return "logged"
}

// envelope is the one form of every reply. Invariant: Data marshals.
type envelope struct {
	Error   bool   `json:"error"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

// failure is the data of a failure.
type failure struct {
	Code string `json:"code"`
}

func answer(w http.ResponseWriter, status int, told envelope) {
	body, err := json.Marshal(told)
	if err != nil {
		panic("gateway: " + err.Error()) // what is told always marshals
	}
	send(w, status, body)
}

// accept tells of a success: an [envelope] whose data is the id under which the
// entry is known. Neither words nor id hold what JSON escapes, so it is put
// together here: by reflection it cost as much as reading the request.
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
	_, _ = w.Write(body) // an error is the connection's
}

// fail tells of an error, by its code's status.
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

// statusCanceled is what nobody reads: the caller has gone.
const statusCanceled = 499

// statusOf is the status that a code travels as. Ours are never 4xx (ms-D17).
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
