package dashboard

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"strings"

	"wirelab"
	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/results/report/html"
	report "wirelab/results/report/json"
	"wirelab/results/store"
)

// madeBytes is the size of the cache of reports, in bytes.
const madeBytes = 64 << 20

// tagOf returns an ETag for the given content.
func tagOf(parts ...[]byte) string {
	sum := sha256.New()
	for _, part := range parts {
		_, _ = sum.Write(part) // Write of a hash never returns an error
		_, _ = sum.Write([]byte{0})
	}
	return `"` + hex.EncodeToString(sum.Sum(nil)[:12]) + `"`
}

// tagged answers with a body that has an ETag. It sends no body if the caller has it already. Otherwise the body
// comes from the cache or from make.
func (d *Dashboard) tagged(w http.ResponseWriter, r *http.Request, media, tag string,
	produce func() ([]byte, error),
) error {
	w.Header().Set("ETag", tag)
	for have := range strings.SplitSeq(r.Header.Get("If-None-Match"), ",") {
		if have = strings.TrimPrefix(strings.TrimSpace(have), "W/"); have == tag || have == "*" {
			w.WriteHeader(http.StatusNotModified)
			return nil
		}
	}
	body, ok := d.made.get(tag)
	if !ok {
		var err error
		if body, err = d.produce(r.Context(), produce); err != nil {
			w.Header().Del("ETag")
			return err
		}
		d.made.put(tag, body, len(body))
	}
	w.Header().Set("Content-Type", media)
	_, _ = w.Write(body) // a failed connection
	return nil
}

// produce runs make, with a limit of as many calls at once as there are CPUs.
func (d *Dashboard) produce(ctx context.Context, make func() ([]byte, error)) ([]byte, error) {
	release, err := d.take(ctx, d.heavy, "too many reports at once")
	if err != nil {
		return nil, err
	}
	defer release()
	return make()
}

// whole returns a stored result by its whole id. A prefix is not accepted: the address of a page must not come to
// mean another result when one more is stored.
func (d *Dashboard) whole(ctx context.Context, id string) (store.Stored, error) {
	found, err := d.config.Store.Raw(ctx, id)
	switch {
	case err != nil:
		return found, err
	case found.Summary.ID != id:
		return found, wirelab.Errorf(wirelab.NotFound, "no result %.40q; one begins so: %s", id, found.Summary.ID)
	case found.JSON == nil:
		return found, &failure{
			http.StatusUnprocessableEntity, wirelab.Internal,
			"result " + id + " is damaged in the store: " + found.Damage,
		}
	}
	return found, nil
}

// read decodes a stored result.
func read(found store.Stored) (*result.Result, error) {
	r, err := store.Decode(found.JSON)
	if err != nil && wirelab.CodeOf(err) != wirelab.Unimplemented {
		return nil, &failure{
			http.StatusUnprocessableEntity, wirelab.Internal,
			"result " + found.Summary.ID + " is damaged in the store: " + wirelab.Public(err).Message,
		}
	}
	return r, err
}

// form answers with a result in one of the formats.
func (d *Dashboard) form(w http.ResponseWriter, r *http.Request, form, media string,
	write func(*bytes.Buffer, *result.Result) error,
) error {
	if err := ask(r, false).done(); err != nil {
		return err
	}
	found, err := d.whole(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	tag := tagOf([]byte(form), []byte(d.config.Version), found.JSON)
	return d.tagged(w, r, media, tag, func() ([]byte, error) {
		stored, err := read(found)
		if err != nil {
			return nil, err
		}
		var page bytes.Buffer
		err = write(&page, stored)
		return page.Bytes(), err
	})
}

// reportPage answers with a result's report as a page of the site.
func (d *Dashboard) reportPage(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Content-Security-Policy", html.Policy()+"; frame-ancestors 'none'")
	return d.form(w, r, "page", "text/html; charset=utf-8", func(page *bytes.Buffer, r *result.Result) error {
		a := analyse.Result(r)
		history := url.Values{"workload": {r.Plan.Workload}, "operation": {r.Plan.Operations()[0]}}
		if r.Environment.Host != "" {
			history.Set("machine", r.Environment.Host)
		}
		return html.WriteLinked(page, r, &a, []html.Link{
			{Text: "All results", Address: "/"},
			{Text: "History", Address: "/history?" + history.Encode()},
			{Text: "Save this report", Address: "/results/" + r.ID + "/report.html"},
			{Text: "JSON", Address: "/api/v1/results/" + r.ID},
		})
	})
}

// reportFile answers with a result's report as one file without references to other files.
func (d *Dashboard) reportFile(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Content-Security-Policy", html.Policy()+"; frame-ancestors 'none'")
	w.Header().Set("Content-Disposition", `attachment; filename="`+safeName(r.PathValue("id"))+`.html"`)
	return d.form(w, r, "file", "text/html; charset=utf-8", func(page *bytes.Buffer, r *result.Result) error {
		return html.Write(page, r)
	})
}

// resultAPI answers with a result and everything derived from it.
func (d *Dashboard) resultAPI(w http.ResponseWriter, r *http.Request) error {
	return d.form(w, r, "json", "application/json", func(page *bytes.Buffer, r *result.Result) error {
		return report.Write(page, r)
	})
}

// safeName makes a text suitable as a file's name.
func safeName(text string) string {
	return strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' {
			return c
		}
		return -1
	}, text)
}
