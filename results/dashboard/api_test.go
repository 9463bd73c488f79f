package dashboard

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"wirelab/lab/kind/kinds"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/resulttest"
	"wirelab/results/report/html"
	report "wirelab/results/report/json"
	"wirelab/results/store"
)

// decoded reads an answer in JSON.
func decoded[T any](t *testing.T, a answer) T {
	t.Helper()
	var value T
	if err := json.Unmarshal([]byte(a.body), &value); err != nil {
		t.Fatalf("%d %.200s: %v", a.status, a.body, err)
	}
	return value
}

// Everything below /api is described, and nothing else is.
func TestEveryRouteIsDescribed(t *testing.T) {
	t.Parallel()
	s := serve(t, open(t), "")
	document := decoded[struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}](t, s.get("/api/v1/openapi.json"))
	var described, there []string
	for path, methods := range document.Paths {
		for method := range methods {
			if method != "parameters" {
				described = append(described, strings.ToUpper(method)+" "+path)
			}
		}
	}
	for _, route := range s.board.routes(t.Context()) {
		for method := range route.methods {
			if strings.HasPrefix(route.path, "/api/") {
				there = append(there, method+" "+route.path)
			}
		}
	}
	slices.Sort(described)
	slices.Sort(there)
	if !slices.Equal(described, there) {
		t.Errorf("described %q\nserved    %q", described, there)
	}
	body := s.get("/api/v1/openapi.json").body
	for _, m := range kinds.Metrics() {
		if !strings.Contains(body, fmt.Sprintf("%q", m.ID)) {
			t.Errorf("the document does not know %s", m.ID)
		}
	}
}

// Filters offer the stored values, and each value finds something (grb-D04). A
// misspelt value is refused instead of finding everything.
func TestFiltersFindWhatTheyOffer(t *testing.T) {
	t.Parallel()
	s := serve(t, demo(t), "")
	values := decoded[store.Values](t, s.get("/api/v1/values"))
	page := s.get("/").body
	for name, all := range map[string][]string{
		"workload": values.Workloads, "operation": values.Operations, "protocol": values.Protocols,
		"preset": values.Names, "machine": values.Hosts,
	} {
		if len(all) == 0 {
			t.Errorf("nothing to choose from for %s", name)
		}
		for _, value := range all {
			query := url.Values{name: {value}}.Encode()
			if found := decoded[listed](t, s.get("/api/v1/results?"+query)); found.Total == 0 || found.Count == 0 {
				t.Errorf("%s finds nothing", query)
			}
			if !strings.Contains(page, `<option value="`+value+`">`) {
				t.Errorf("the page does not offer %s %s", name, value)
			}
			if shown := s.get("/?" + query).body; !strings.Contains(shown, "results match") &&
				!strings.Contains(shown, "result match") || !strings.Contains(shown, `value="`+value+`" selected`) {
				t.Errorf("the page of %s does not say what is selected", query)
			}
		}
	}
	for query, status := range map[string]int{
		"workloads=routeguide": 400, "limit=0": 400, "limit=1001": 400, "limit=ten": 400, "since=yesterday": 400,
		"cursor=1.x": 400, "workload=a&workload=b": 400,
		"since=2026-09-10&until=2026-09-12": 200, "since=2026-09-10T00:00:00%2B02:00": 200, "limit=1000": 200,
		"workload=%00": 400, "%zz": 400,
		"workload=" + strings.Repeat("x", 501): 400, "workload=none": 200, "workload=' OR 1=1 --": 200,
	} {
		if a := s.get("/api/v1/results?" + strings.ReplaceAll(query, " ", "%20")); a.status != status {
			t.Errorf("%s: %d %s", query, a.status, a.body)
		}
	}
	if got := decoded[listed](t, s.get("/api/v1/results?since=2026-09-10&until=2026-09-12")); got.Total != 2 {
		t.Errorf("two days have %d results, %+v", got.Total, got.Results)
	}
}

// Pages of a list hold everything once (grb-D12: bounded), also without scripts.
func TestPages(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	s := serve(t, demo(t), "")
	seen, next := map[string]bool{}, ""
	for {
		page := decoded[listed](t, s.get("/api/v1/results?limit=7&cursor="+next))
		for _, m := range page.Results {
			if seen[m.ID] {
				t.Errorf("%s comes twice", m.ID)
			}
			seen[m.ID] = true
		}
		if page.Count > 7 || page.Total != 38 {
			t.Errorf("%d of %d", page.Count, page.Total)
		}
		if next = page.Next; next == "" {
			break
		}
	}
	if len(seen) != 38 {
		t.Errorf("%d of 38 results", len(seen))
	}
	page := s.get("/?limit=7&protocol=grpc").body
	_, foot, _ := strings.Cut(page, `aria-label="Pages of results"`)
	_, link, found := strings.Cut(foot, `<a href="`)
	link, _, _ = strings.Cut(link, `"`)
	if second := s.get(strings.ReplaceAll(link, "&amp;", "&")); !found || second.status != 200 ||
		!strings.Contains(second.body, "First page") || !strings.Contains(link, "protocol=grpc") {
		t.Errorf("the second page at %q: %d", link, second.status)
	}
}

// Without a token nothing can be written; with one, by its bearer alone, and
// the token is nowhere told (grb-D14).
func TestWriting(t *testing.T) {
	t.Parallel()
	text, err := store.Encode(run(1, 1))
	if err != nil {
		t.Fatal(err)
	}
	var document strings.Builder
	if err := report.Write(&document, run(2, 1)); err != nil {
		t.Fatal(err)
	}
	id, kind := run(1, 1).ID, "application/json"
	shut := serve(t, open(t), "")
	for _, a := range []answer{
		shut.ask("POST", "/api/v1/results", string(text), "Content-Type", kind, "Authorization", "Bearer "),
		shut.ask("DELETE", "/api/v1/results/"+id, "", "Authorization", "Bearer x"),
	} {
		if a.status != http.StatusForbidden || !strings.Contains(a.body, "read-only") {
			t.Errorf("read-only: %d %s", a.status, a.body)
		}
	}
	s := serve(t, open(t), secret)
	bearer := "Bearer " + secret
	edited := strings.Replace(string(text), `"ok": `, `"ok": 1`, 1)
	for _, c := range []struct {
		what, method, path, body, kind, token string
		status                                int
		says                                  string
	}{
		{"no token", "POST", "/api/v1/results", string(text), kind, "", 401, "needs the token"},
		{"another token", "POST", "/api/v1/results", string(text), kind, bearer + "x", 401, "needs the token"},
		{"another scheme", "POST", "/api/v1/results", string(text), kind, "Basic " + secret, 401, "needs the token"},
		{"a form", "POST", "/api/v1/results", string(text), "text/plain", bearer, 415, "application/json"},
		{"no JSON", "POST", "/api/v1/results", "{", kind, bearer, 400, "not a result"},
		{"no result", "POST", "/api/v1/results", "{}", kind, bearer, 400, "id"},
		{"an edited one", "POST", "/api/v1/results", edited, kind, bearer, 400, "contradicts itself"},
		{
			"a later schema", "POST", "/api/v1/results", strings.Replace(string(text), `"schema": 1`, `"schema": 2`, 1),
			kind, bearer, 422, "schema 2",
		},
		{"a result", "POST", "/api/v1/results", string(text), kind, bearer, 201, id},
		{"it again", "POST", "/api/v1/results", string(text), kind, bearer, 409, "already"},
		{"a document", "POST", "/api/v1/results", document.String(), kind, bearer, 201, run(2, 1).ID},
		{"delete without a token", "DELETE", "/api/v1/results/" + id, "", kind, "", 401, "needs the token"},
		{"delete an abbreviation", "DELETE", "/api/v1/results/" + id[:12], "", kind, bearer, 404, "no result"},
		{"delete", "DELETE", "/api/v1/results/" + id, "", kind, bearer, 204, ""},
		{"delete again", "DELETE", "/api/v1/results/" + id, "", kind, bearer, 404, "no result"},
	} {
		a := s.ask(c.method, c.path, c.body, "Content-Type", c.kind, "Authorization", c.token)
		if a.status != c.status || !strings.Contains(a.body, c.says) {
			t.Errorf("%s: %d %s, want %d with %q", c.what, a.status, a.body, c.status, c.says)
		}
		if strings.Contains(a.body, secret) {
			t.Errorf("%s: the token is in the answer", c.what)
		}
	}
	if strings.Contains(s.logged(), secret) || !strings.Contains(s.logged(), "result deleted") {
		t.Errorf("log %s", s.logged())
	}
	if _, err := New(Config{Store: open(t), Token: "short"}); err == nil {
		t.Error("a token of five characters is taken")
	}
}

// A body is read no further than its limit.
func TestUploadIsBounded(t *testing.T) {
	t.Parallel()
	s := serve(t, open(t), secret)
	a := s.ask("POST", "/api/v1/results", strings.Repeat(" ", uploadSize+1), "Content-Type", "application/json",
		"Authorization", "Bearer "+secret)
	if a.status != http.StatusRequestEntityTooLarge {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// Methods that are not there, and addresses: errors are JSON to programs, pages
// to people, and no address is mended.
func TestErrors(t *testing.T) {
	t.Parallel()
	s := serve(t, open(t), secret)
	for _, c := range []struct {
		method, path string
		status       int
		says         string
	}{
		{"PUT", "/api/v1/results", 405, "GET, HEAD, POST"},
		{"POST", "/", 405, "GET, HEAD"},
		{"TRACE", "/api/v1/compare", 405, "GET, HEAD"},
		{"GET", "/api/v1/nothing", 404, `"not_found"`},
		{"GET", "/api/v1/results/", 404, `"not_found"`},
		{"GET", "/api/v1/results/..%2f..%2fetc", 404, `"not_found"`},
		{"GET", "/api/v1/results/r-20261121-000000-0000", 404, "nothing is stored"},
		{"GET", "//", 404, "<h1>Not Found"},
		{"GET", "/nothing", 404, "<h1>Not Found"},
		{"GET", "/results/<script>", 404, "&lt;script&gt;"},
		{"GET", "/assets/..", 404, "<h1>"},
		{"GET", "/compare", 400, "2 to 8"},
		{"GET", "/api/v1/compare?id=r-20261121-000000-0000", 400, "2 to 8"},
		{"GET", "/api/v1/history?metric=speed", 400, "unknown metric"},
		{"GET", "/api/v1/history", 200, `"points":[]`},
		{"GET", "/history", 200, "Nothing is stored"},
		{"GET", "/history.csv", 200, "id,began"},
		{"GET", "/", 200, "No results are stored yet"},
		{"GET", "/running", 200, "No experiment is running"},
		{"GET", "/api/v1/health", 200, `{"status":"healthy"}`},
		{"HEAD", "/api/v1/running/events", 200, ""},
	} {
		a := s.ask(c.method, c.path, "")
		if a.status != c.status || !strings.Contains(a.body+a.header.Get("Allow"), c.says) {
			t.Errorf("%s %s: %d %.300s, want %d with %q", c.method, c.path, a.status, a.body, c.status, c.says)
		}
		if a.header.Get("X-Content-Type-Options") != "nosniff" || a.header.Get("Referrer-Policy") == "" ||
			!strings.Contains(a.header.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s %s: headers %v", c.method, c.path, a.header)
		}
	}
	// A page elsewhere whose name points here must not read anything.
	for host, status := range map[string]int{
		"evil.example": 421, "evil.example:80": 421, "localhost:1": 200,
		"[::1]:9": 200, "127.0.0.1.evil.example": 421, "lab.localhost": 200,
	} {
		if a := s.ask("GET", "/api/v1/values", "", "Host", host); a.status != status {
			t.Errorf("host %s: %d", host, a.status)
		}
	}
}

// A store that fails tells nothing of itself to callers.
func TestFailingStore(t *testing.T) {
	t.Parallel()
	results := open(t)
	s := serve(t, results, secret)
	if err := results.Close(); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		"/api/v1/results", "/api/v1/values", "/api/v1/running", "/api/v1/history", "/",
		"/running", "/api/v1/results/r-20261121-000000-0000",
	} {
		if a := s.get(path); a.status != http.StatusInternalServerError || strings.Contains(a.body, "results.db") ||
			strings.Contains(a.body, os.TempDir()) {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	if a := s.get("/api/v1/health"); a.status != http.StatusServiceUnavailable {
		t.Errorf("health %d %s", a.status, a.body)
	}
	if !strings.Contains(s.logged(), "request failed") {
		t.Error("the log tells nothing")
	}
}

// A report is the one of room html, and is sent once to who keeps it.
func TestReports(t *testing.T) {
	t.Parallel()
	results := open(t)
	r := run(1, 1)
	put(t, results, r)
	s := serve(t, results, "")
	var alone strings.Builder
	if err := html.Write(&alone, r); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/results/" + r.ID:                  `aria-label="Results"><a href="/">All results</a>`,
		"/results/" + r.ID + "/report.html": alone.String(),
		"/api/v1/results/" + r.ID:           `"digest"`,
	} {
		a := s.get(path)
		if a.status != 200 || !strings.Contains(a.body, want) {
			t.Errorf("%s: %d, lacks what it should have", path, a.status)
		}
		tag := a.header.Get("ETag")
		if again := s.ask("GET", path, "", "If-None-Match", `"x", W/`+tag); tag == "" ||
			again.status != http.StatusNotModified || again.body != "" {
			t.Errorf("%s: again %d, %d bytes", path, again.status, len(again.body))
		}
		if other := s.ask("GET", path, "", "If-None-Match", `"x"`); other.status != 200 || other.body != a.body {
			t.Errorf("%s: with another tag %d", path, other.status)
		}
	}
	if tag := tagOf([]byte("a"), []byte("b")); tag == tagOf([]byte("ab"), nil) ||
		tag != tagOf([]byte("a"), []byte("b")) {
		t.Error("tags are not those of their parts")
	}
	if a := s.get("/results/" + r.ID[:15]); a.status != 404 || !strings.Contains(a.body, r.ID) {
		t.Errorf("an abbreviation: %d", a.status)
	}
}

// The form that the first ledger benchmark had: percentiles are those of the
// analysis, never averaged (grb-F09, grb-M10, grb-M11).
func TestRuns(t *testing.T) {
	t.Parallel()
	results := open(t)
	r := at(resulttest.Short(10), 1, first)
	put(t, results, r)
	ledger := run(2, 1)
	ledger.Plan.Workload, ledger.Plan.Operation = "ledger", "GetBalance"
	ledger.Plan.Arms[0].Protocol, ledger.Arms[0].Protocol = "http1-json", "http1-json"
	put(t, results, ledger)
	s := serve(t, results, "")
	all := decoded[ranList](t, s.get("/api/v1/results?scenario=&limit=100"))
	if len(all.Results) != 8 || all.Count != 8 || all.Results[0].ResultID != ledger.ID {
		t.Fatalf("%d rows", len(all.Results))
	}
	said := analyse.Result(r)
	for _, one := range all.Results[2:] {
		var arm, load int
		if _, err := fmt.Sscanf(strings.TrimPrefix(one.RunID, r.ID), ".%d.%d", &arm, &load); err != nil {
			t.Fatal(err)
		}
		p99 := said.Loads[load].Row("response-p99").Cells[arm].Estimate
		if one.P99 == nil != !p99.Known || one.P99 != nil && *one.P99 != p99.Value/1e6 {
			t.Errorf("%s: p99 %v, want %+v", one.RunID, one.P99, p99)
		}
		want := said.Loads[load].Arms[arm].Achieved // of an open loop
		if row := said.Loads[load].Row("throughput"); row != nil {
			want = row.Cells[arm].Estimate.Value
		}
		if one.Throughput == nil || *one.Throughput != want {
			t.Errorf("%s: throughput %v, want %v, as the report has it", one.RunID, one.Throughput, want)
		}
	}
	for query, want := range map[string]int{
		"scenario=balance": 2, "scenario=stream": 0, "scenario=balance&protocol=rest": 1, "scenario=&protocol=grpc": 3,
		"client=go": 8, "client=rust": 0,
		"run_id=" + r.ID: 6, "run_id=" + r.ID + ".1.0": 1, "scenario=routeguide.GetFeature&limit=4": 4,
		"scenario=balance&workload=routeguide": 0, "client=go&machine=unknown": 0,
	} {
		if got := decoded[ranList](t, s.get("/api/v1/results?"+query)); len(got.Results) != want {
			t.Errorf("%s: %d rows, want %d", query, len(got.Results), want)
		}
	}
	// Its words, as they were published.
	var fields map[string]any
	one, err := json.Marshal(all.Results[0])
	if err == nil {
		err = json.Unmarshal(one, &fields)
	}
	names := slices.Sorted(maps.Keys(fields))
	for _, name := range strings.Fields(`run_id scenario protocol client concurrency duration_sec total_samples successful throughput
		p50_latency_ms p90_latency_ms p99_latency_ms avg_latency_ms min_latency_ms max_latency_ms cpu_usage_avg memory_mb_avg memory_mb_peak`) {
		if err != nil || !slices.Contains(names, name) {
			t.Errorf("no %s: %v", name, err)
		}
	}
}

// No question makes the server fail, whatever is asked.
func FuzzAddresses(f *testing.F) {
	results := memory{}
	board, err := New(Config{Store: results, Version: "test", Log: quiet()})
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range []string{
		"/?limit=5", "/compare?id=a&id=b", "/history?arm=grpc&metric=wire-sent",
		"/history.csv", "/api/v1/results?scenario=balance", "/api/v1/results/r-1",
		"/api/v1/results?since=0000-01-01&cursor=9.r-20261121-000000-0000", "/results/%2e%2e",
	} {
		f.Add("GET", path)
	}
	f.Fuzz(func(t *testing.T, method, path string) {
		address, err := url.ParseRequestURI(path)
		if err != nil || strings.HasSuffix(address.Path, "/events") {
			return
		}
		r := (&http.Request{
			Method: method, URL: address, Host: "localhost", Header: http.Header{},
			Body: http.NoBody,
		}).WithContext(t.Context())
		w := &recorder{header: http.Header{}}
		board.handler(t.Context(), true).ServeHTTP(w, r)
		if w.status >= 500 {
			t.Fatalf("%s %s: %d %s", method, path, w.status, w.body.String())
		}
	})
}
