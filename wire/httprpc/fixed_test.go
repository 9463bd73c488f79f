package httprpc_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"wirelab/wire/httprpc"
)

// Each route is listed with the parameters that are read, and a description is read alone.
func TestDescribed(t *testing.T) {
	t.Parallel()
	const document = `{"openapi":"3.1.0"}`
	described := httprpc.Described(document)
	byPath := httprpc.NewHandler(map[string]httprpc.Route{
		httprpc.PathOpenAPI: described, "/hello": httprpc.Fixed("text/plain", "hello"),
	})
	resources := httprpc.NewREST(map[string][]httprpc.Route{
		httprpc.PathOpenAPI: {described},
		"/{shelf}/{book}":   {httprpc.Get(parameters(), words(), nil), httprpc.Delete(parameters(), words(), nil)},
	})
	for _, c := range []struct {
		handler *httprpc.Handler
		routes  []string
	}{
		{byPath, []string{"/hello", "GET /openapi.json"}},
		{resources, []string{
			"DELETE /{shelf}/{book} after book limit shelf", "GET /openapi.json",
			"GET /{shelf}/{book} after book limit shelf",
		}},
	} {
		if got := c.handler.Routes(); !slices.Equal(got, c.routes) {
			t.Errorf("listed %q, want %q", got, c.routes)
		}
		for method, status := range map[string]int{
			http.MethodGet: http.StatusOK, http.MethodPost: http.StatusMethodNotAllowed,
		} {
			w := httptest.NewRecorder()
			c.handler.ServeHTTP(w, httptest.NewRequest(method, httprpc.PathOpenAPI, nil))
			ok := w.Code == http.StatusOK
			if kind := w.Header().Get("Content-Type"); ok != (status == http.StatusOK) ||
				ok && (kind != httprpc.MediaJSON ||
					w.Body.String() != document) {
				t.Errorf("%s: %d, %q: %s", method, w.Code, kind, w.Body)
			}
		}
	}
}
