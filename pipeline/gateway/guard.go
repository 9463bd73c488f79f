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

// requestIDLimit is how many characters a request id has at most.
const requestIDLimit = 128

// validRequestID admits what may be passed on and shown: printable ASCII
// without spaces, quotes and the like. Others are replaced, not refused: an id
// is for whoever looks at two logs, and no reason to lose an entry.
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

// identify gives the reply the request's id, unless the caller's own is there:
// the entry's, which is as good, or else a new one.
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

// admit lets a request through unless a page of another origin makes it, and
// answers it if not. Origins that may are told what their browsers ask for.
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

// allow lists methods, as the header Allow has them.
func allow(methods map[string]http.HandlerFunc) string {
	return strings.Join(append(slices.Sorted(maps.Keys(methods)), http.MethodOptions), ", ")
}
