package gateway

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"wirelab"
	"wirelab/pipeline/path"
	"wirelab/workload/logging"
)

// requestIDLimit is the maximum length of a request id.
const requestIDLimit = 128

// validRequestID accepts ids that may be passed on and shown: printable ASCII without spaces, quotes and the like.
// An invalid id is replaced rather than refused: it only helps to compare two logs, which is no reason to lose an
// entry.
func validRequestID(id string) bool {
	if id == "" || len(id) > requestIDLimit {
		return false
	}
	for i := range len(id) {
		switch c := id[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("._~:/+=-", c) >= 0:
		default:
			return false
		}
	}
	return true
}

// identify sets the request id of the reply unless the caller's own is there already: to the id of the entry, or
// else to a new one.
func identify(w http.ResponseWriter, entryID string) {
	header := w.Header()
	if header.Get(path.HeaderRequestID) != "" {
		return
	}
	if entryID == "" {
		entryID = logging.NewID()
	}
	header.Set(path.HeaderRequestID, entryID)
}

// admit reports whether a request may pass, and answers it if not. A page of another origin needs an entry in
// [Options.Origins]; then the reply has the CORS headers that browsers ask for.
func (g *Gateway) admit(w http.ResponseWriter, r *http.Request, methods map[string]http.HandlerFunc) bool {
	if len(g.options.Origins) > 0 {
		w.Header().Add("Vary", "Origin")
		if origin := r.Header.Get("Origin"); slices.Contains(g.options.Origins, origin) {
			w.Header().Set("Access-Control-Allow-Origin", origin)
			w.Header().Set("Access-Control-Expose-Headers", path.HeaderRequestID)
			if r.Method == http.MethodOptions {
				w.Header().Set("Access-Control-Allow-Methods", allow(methods))
				w.Header().Set("Access-Control-Allow-Headers", "Content-Type, "+path.HeaderRequestID)
				w.Header().Set("Access-Control-Max-Age", "300")
			}
		}
	}
	if r.Method == http.MethodOptions {
		w.Header().Set("Allow", allow(methods))
		w.WriteHeader(http.StatusNoContent)
		return false
	}
	if err := g.origins.Check(r); err != nil {
		fail(w, wirelab.Errorf(wirelab.PermissionDenied, "pages of other origins may not call this gateway"))
		return false
	}
	return true
}

// allow formats methods for the header Allow.
func allow(methods map[string]http.HandlerFunc) string {
	return strings.Join(append(slices.Sorted(maps.Keys(methods)), http.MethodOptions), ", ")
}
