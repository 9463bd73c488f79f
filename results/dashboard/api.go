package dashboard

import (
	"bytes"
	"context"
	_ "embed" // for the OpenAPI document
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"wirelab"
	"wirelab/lab/kind/kinds"
	"wirelab/results/admit"
	"wirelab/results/store"
)

// openAPI describes everything below /api; a test compares it with the routes. It does not list the metrics: see
// [description].
//
//go:embed openapi.json
var openAPI []byte

// description returns openAPI with the list of metrics.
func description() []byte {
	var names []string
	for _, m := range kinds.Metrics() {
		names = append(names, strconv.Quote(m.ID))
	}
	return bytes.Replace(openAPI, []byte(`"METRICS"`), []byte(strings.Join(names, ", ")), 1)
}

// routes returns all routes. Streams end with ending.
func (d *Dashboard) routes(ending context.Context) routing {
	get := func(do func(http.ResponseWriter, *http.Request) error) map[string]action {
		return map[string]action{http.MethodGet: {do: do}}
	}
	results := get(d.listAPI)
	results[http.MethodPost] = action{do: d.upload, writes: true}
	one := get(d.resultAPI)
	one[http.MethodDelete] = action{do: d.remove, writes: true}
	stream := func(w http.ResponseWriter, r *http.Request) error { return d.stream(ending, w, r) }
	return routing{
		{"/", get(d.listPage)},
		{"/results/{id}", get(d.reportPage)},
		{"/results/{id}/report.html", get(d.reportFile)},
		{"/compare", get(d.comparePage)},
		{"/history", get(d.historyPage)},
		{"/history.csv", get(d.historyCSV)},
		{"/running", get(d.runningPage)},
		{"/assets/{name}", get(d.asset)},
		{"/favicon.ico", get(d.icon)},
		{"/api/v1/results", results},
		{"/api/v1/results/{id}", one},
		{"/api/v1/values", get(d.valuesAPI)},
		{"/api/v1/compare", get(d.compareAPI)},
		{"/api/v1/history", get(d.historyAPI)},
		{"/api/v1/running", get(d.runningAPI)},
		{"/api/v1/running/events", map[string]action{http.MethodGet: {do: stream, streams: true}}},
		{"/api/v1/health", get(d.health)},
		{"/api/v1/openapi.json", get(d.describe)},
	}
}

// listed is one page of a list.
type listed struct {
	Results []store.Summary `json:"results"`
	Count   int             `json:"count"` // results in this page
	Total   int             `json:"total"` // results that the filter finds
	// Next is the cursor of the next page; "" after the last.
	Next string `json:"next"`
}

// list returns one page. It asks the store for one result more, to know whether there is a next page.
func (d *Dashboard) list(ctx context.Context, f store.Filter) (listed, error) {
	ask := f
	ask.Limit++
	found, err := d.config.Store.List(ctx, ask)
	if err != nil {
		return listed{}, err
	}
	total, err := d.config.Store.Total(ctx, f)
	if err != nil {
		return listed{}, err
	}
	page := listed{Results: found, Total: total.Results}
	if len(found) > f.Limit {
		page.Results = found[:f.Limit]
		page.Next = page.Results[f.Limit-1].Cursor().String()
	}
	page.Count = len(page.Results)
	return page, nil
}

func (d *Dashboard) listAPI(w http.ResponseWriter, r *http.Request) error {
	q := ask(r, false)
	if q.asksRuns() {
		return d.runs(w, r, q)
	}
	f := q.filter(pageDefault)
	if err := q.done(); err != nil {
		return err
	}
	page, err := d.list(r.Context(), f)
	if err != nil {
		return err
	}
	d.json(w, http.StatusOK, page)
	return nil
}

func (d *Dashboard) valuesAPI(w http.ResponseWriter, r *http.Request) error {
	if err := ask(r, false).done(); err != nil {
		return err
	}
	values, err := d.config.Store.Values(r.Context())
	if err != nil {
		return err
	}
	d.json(w, http.StatusOK, values)
	return nil
}

// upload adds a result.
func (d *Dashboard) upload(w http.ResponseWriter, r *http.Request) error {
	if err := ask(r, false).done(); err != nil {
		return err
	}
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return &failure{
			http.StatusUnsupportedMediaType, wirelab.InvalidArgument,
			"a result is application/json, as wirelab results export --format json writes it",
		}
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, uploadSize))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return &failure{
			http.StatusRequestEntityTooLarge, wirelab.ResourceExhausted,
			"the result is larger than 64 MiB; wirelab results push has no such limit",
		}
	case err != nil:
		return wirelab.Errorf(wirelab.InvalidArgument, "the result did not arrive whole")
	}
	release, err := d.take(r.Context(), d.heavy, "too many results at once")
	if err != nil {
		return err
	}
	defer release()
	in, err := admit.Result(data)
	if err != nil {
		return err
	}
	id := in.Result.ID
	if err := in.Put(r.Context(), d.config.Store, "put over HTTP", time.Now()); err != nil {
		return err
	}
	d.config.Log.Info("result put", "id", id)
	w.Header().Set("Location", "/api/v1/results/"+id)
	d.json(w, http.StatusCreated, map[string]string{"id": id})
	return nil
}

func (d *Dashboard) remove(w http.ResponseWriter, r *http.Request) error {
	if err := ask(r, false).done(); err != nil {
		return err
	}
	id := r.PathValue("id")
	if err := d.config.Store.Delete(r.Context(), id); err != nil {
		return err
	}
	d.config.Log.Info("result deleted", "id", id)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// health reports whether the store can be read.
func (d *Dashboard) health(w http.ResponseWriter, r *http.Request) error {
	if err := ask(r, false).done(); err != nil {
		return err
	}
	if _, err := d.config.Store.List(r.Context(), store.Filter{Limit: 1}); err != nil {
		d.config.Log.Warn("unhealthy", "error", err)
		d.json(w, http.StatusServiceUnavailable, map[string]string{"status": "unhealthy"})
		return nil
	}
	d.json(w, http.StatusOK, map[string]string{"status": "healthy"})
	return nil
}

func (d *Dashboard) describe(w http.ResponseWriter, r *http.Request) error {
	if err := ask(r, false).done(); err != nil {
		return err
	}
	return d.tagged(w, r, "application/json", tagOf(d.description),
		func() ([]byte, error) { return d.description, nil })
}
