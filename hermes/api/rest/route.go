package rest

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"wirelab/wire/panics"
	"wirelab/wire/status"
)

// headerTimeout has the milliseconds that the caller still has, in decimal, as
// on this project's other HTTP wires.
const headerTimeout = "Call-Timeout-Ms"

// route is one address, with "{name}" for a part of any text, and the action there by method. GET answers HEAD
// too.
type route struct {
	path    string
	methods map[string]func(*call) error
	open    bool // to callers without the token
	streams bool // lasts as long as its caller wants

	parts []string
	allow string
}

// routing finds routes. No address is mended: one that is not exactly known is
// not found, so nothing is reached by another name.
type routing []*route

func newRouting(all []*route) routing {
	for _, one := range all {
		one.parts = strings.Split(one.path, "/")
		var methods []string
		for method := range one.methods {
			if methods = append(methods, method); method == http.MethodGet {
				methods = append(methods, http.MethodHead)
			}
		}
		slices.Sort(methods)
		one.allow = strings.Join(methods, ", ")
	}
	return all
}

// find returns the route of a path as it was sent, and its variables in order.
func (all routing) find(path string) (*route, []string) {
	have := strings.Split(path, "/")
	for _, one := range all {
		if variables, ok := one.match(have); ok {
			return one, variables
		}
	}
	return nil, nil
}

func (one *route) match(have []string) (variables []string, ok bool) {
	if len(one.parts) != len(have) {
		return nil, false
	}
	for i, part := range one.parts {
		if !strings.HasPrefix(part, "{") {
			if part != have[i] {
				return nil, false
			}
			continue
		}
		text, err := url.PathUnescape(have[i])
		if err != nil || text == "" {
			return nil, false
		}
		variables = append(variables, text)
	}
	return variables, true
}

// call is one request that is being answered.
type call struct {
	*API
	ctx       context.Context
	ending    context.Context
	writer    http.ResponseWriter
	request   *http.Request
	route     *route
	variables []string // of the path, in order
	query     query
	begun     bool // whether the reply's header is out
	hold      *hold
}

// nowhere stands for the route of an address that there is not.
var nowhere = route{path: "none"}

// serve answers a request. A panic is that call's failure and no other's.
func (d *API) serve(ending context.Context, w http.ResponseWriter, r *http.Request) {
	c := &call{API: d, ctx: r.Context(), ending: ending, writer: w, request: r, route: &nowhere}
	c.hold = &hold{release: d.config.Intake.Body(w, r)}
	c.hold.keep()
	defer c.hold.drop()
	err := c.guarded()
	if err == nil {
		return
	}
	if c.begun {
		panic(http.ErrAbortHandler) // cuts the reply, quietly: net/http's way
	}
	c.fail(err)
}

// guarded answers, and turns a panic into Internal.
func (c *call) guarded() (err error) {
	defer func() {
		if p := recover(); p != nil {
			if p == http.ErrAbortHandler { //nolint:errorlint // a panic is compared, as net/http does
				panic(p) // as it was
			}
			err = panics.Error(c.ctx, p)
		}
	}()
	return c.answer()
}

// protect sets the headers that every reply has.
func (c *call) protect() {
	c.writer.Header().Set("X-Content-Type-Options", "nosniff")
	c.writer.Header().Set("Cache-Control", "no-store")
}

func (c *call) answer() error {
	r := c.request
	c.protect()
	if err := c.admit(c.writer, r); err != nil {
		return err
	}
	if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
		return c.preflight()
	}
	one, variables := c.routes.find(r.URL.EscapedPath())
	if one == nil {
		return refuse(http.StatusNotFound, status.Unimplemented,
			"there is nothing at this address: see /v1/openapi.json")
	}
	c.route, c.variables = one, variables
	if !one.open {
		if err := c.identify(r); err != nil {
			return err
		}
		c.hint()
	}
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	do, ok := one.methods[method]
	if !ok {
		c.writer.Header().Set("Allow", one.allow)
		return refuse(http.StatusMethodNotAllowed, status.Unimplemented, "%s is not done here; %s is",
			strconv.Quote(r.Method), one.allow)
	}
	limit, err := c.callTime()
	if err != nil {
		return err
	}
	if limit > 0 {
		ctx, cancel := context.WithTimeout(c.ctx, limit)
		defer cancel()
		c.ctx = ctx
	}
	if c.query, err = parseQuery(r.URL.RawQuery); err != nil {
		return err
	}
	return do(c)
}

// callTime is how long the call may take; 0: as long as its caller wants.
func (c *call) callTime() (time.Duration, error) {
	text := c.request.Header.Get(headerTimeout)
	if text == "" {
		if c.route.streams {
			return 0, nil
		}
		return CallTime, nil
	}
	millis, err := strconv.ParseUint(text, 10, 32)
	if err != nil || time.Duration(millis)*time.Millisecond > CallTimeMax {
		return 0, status.Errorf(status.InvalidArgument, "header %s is %.40q; want milliseconds, at most %d",
			headerTimeout,
			text, CallTimeMax.Milliseconds())
	}
	return time.Duration(millis) * time.Millisecond, nil
}

// guarded puts a mounted API behind this one's guard.
func (d *API) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := &call{API: d, ctx: r.Context(), writer: w, request: r, route: &nowhere}
		err := d.admit(w, r)
		if err == nil && r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
			_ = c.preflight() // it cannot fail
			return
		}
		if err == nil {
			err = d.identify(r)
		}
		if err != nil {
			c.fail(err)
			return
		}
		c.hint()
		defer d.config.Intake.Body(w, r)()
		next.ServeHTTP(w, r)
	})
}

// admit keeps pages of origins that are not trusted out, whatever the method: a
// GET of a group takes messages. Those that are trusted may read the reply.
// http.CrossOriginProtection lets every GET pass, which is why it is not used.
func (d *API) admit(w http.ResponseWriter, r *http.Request) error {
	origin, site := r.Header.Get("Origin"), r.Header.Get("Sec-Fetch-Site")
	if origin != "" && slices.Contains(d.config.Origins, origin) {
		h := w.Header()
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Expose-Headers", "X-Leader-Hint, Retry-After")
		h.Add("Vary", "Origin")
		return nil
	}
	switch {
	case site == "same-origin" || site == "none":
		return nil
	case site == "" && origin == "": // no browser, or one that is too old to tell
		return nil
	case site == "":
		if at, err := url.Parse(origin); err == nil && at.Host == r.Host && at.Host != "" {
			return nil
		}
	}
	return status.Errorf(status.PermissionDenied, "pages of origin %.100q may not do this: the server must name it",
		origin)
}

// preflight tells a browser what pages of a trusted origin may do.
func (c *call) preflight() error {
	h := c.writer.Header()
	h.Set("Access-Control-Allow-Methods", "GET, POST, PUT, PATCH, DELETE")
	h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Hermes-Key, Hermes-Header, Last-Event-ID, "+
		headerTimeout)
	h.Set("Access-Control-Max-Age", "600")
	c.begun = true
	c.writer.WriteHeader(http.StatusNoContent)
	return nil
}

// identify asks for the token, if there is one. Digests are compared, so that
// the time it takes tells nothing, not even the token's length.
func (d *API) identify(r *http.Request) error {
	if d.config.Access != nil {
		return d.recognised(r)
	}
	if d.config.Token == "" {
		return nil
	}
	shown, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	have, want := sha256.Sum256([]byte(shown)), sha256.Sum256([]byte(d.config.Token))
	if !ok || subtle.ConstantTimeCompare(have[:], want[:]) != 1 {
		return status.Errorf(status.Unauthenticated, "this needs the token: send Authorization: Bearer …")
	}
	return nil
}

// send writes a whole reply. A caller that is gone does not get it.
func (c *call) send(status int, mediaType string, data []byte) {
	c.begun = true
	h := c.writer.Header()
	h.Set("Content-Type", mediaType)
	h.Set("Content-Length", strconv.Itoa(len(data)))
	c.writer.WriteHeader(status)
	_, _ = c.writer.Write(data)
}

// json replies with a value.
func (c *call) json(status int, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	c.send(status, mediaJSON, data)
	return nil
}

// nothing replies that all is well: 204.
func (c *call) nothing() error {
	c.begun = true
	c.writer.WriteHeader(http.StatusNoContent)
	return nil
}
