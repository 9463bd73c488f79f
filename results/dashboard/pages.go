package dashboard

import (
	"bytes"
	"embed"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"wirelab"
	"wirelab/lab/doctor"
	"wirelab/results/report"
	"wirelab/results/report/html"
	"wirelab/results/store"
)

//go:embed pages
var files embed.FS

// pages has the templates and the files that pages load.
type pages struct {
	templates *template.Template
	assets    map[string]asset // by name
}

// asset is a file that pages load. Its name contains a digest of its content, so that browsers may cache it for ever.
type asset struct {
	media string
	body  []byte
}

// newPages reads the templates. An error is a mistake in the source.
func newPages() (*pages, error) {
	p := &pages{assets: map[string]asset{}}
	own, err := files.ReadFile("pages/dashboard.css")
	if err != nil {
		return nil, err
	}
	script, err := files.ReadFile("pages/dashboard.js")
	if err != nil {
		return nil, err
	}
	style := p.add("style", ".css", "text/css; charset=utf-8", append([]byte(html.Style()), own...))
	code := p.add("script", ".js", "text/javascript; charset=utf-8", script)
	p.templates, err = template.New("").Funcs(template.FuncMap{
		"style": func() string { return style }, "script": func() string { return code },
		"day": day, "join": strings.Join, "plural": report.Plural, "differ": differ, "tie": html.Tied, "pick": pick,
		"blank": func() card { return card{Done: -1} },
	}).ParseFS(files, "pages/*.gohtml")
	return p, err
}

func (p *pages) add(name, ending, media string, body []byte) string {
	full := name + "-" + strings.Trim(tagOf(body), `"`) + ending
	p.assets[full] = asset{media, body}
	return "/assets/" + full
}

func (d *Dashboard) asset(w http.ResponseWriter, r *http.Request) error {
	a, ok := d.pages.assets[r.PathValue("name")]
	if !ok {
		return wirelab.Errorf(wirelab.NotFound, "there is nothing at this address")
	}
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	w.Header().Set("Content-Type", a.media)
	_, _ = w.Write(a.body) // a failed connection
	return nil
}

// icon answers that there is no icon: browsers ask for it whatever a page says.
func (d *Dashboard) icon(w http.ResponseWriter, _ *http.Request) error {
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// frame has the fields that all pages share.
type frame struct {
	Title string
	Here  string // the section of the site: "results", "history", "running"
	Write bool   // results can be added
}

func (d *Dashboard) frame(here, title string) frame {
	return frame{Title: title, Here: here, Write: d.config.Token != ""}
}

type errorPage struct {
	frame
	Status  int
	Message string
}

// render answers with a page. It makes the whole page before it sends the first byte, so that an error gives an error
// page and not half of a page.
func (d *Dashboard) render(w http.ResponseWriter, status int, name string, page any) error {
	var body bytes.Buffer
	if err := d.pages.templates.ExecuteTemplate(&body, name+".gohtml", page); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(body.Bytes()) // a failed connection
	return nil
}

// listPage is the data of the page with the list.
type listPage struct {
	frame
	listed
	Rows   []row
	Values store.Values
	Filter store.Filter
	Since  string
	Until  string
	// Filtered reports whether a filter is set. All is the address of the list without it.
	Filtered bool
	Next     string // address of the next page
	First    string // address of the first page, on later ones
	Running  int
}

func (d *Dashboard) listPage(w http.ResponseWriter, r *http.Request) error {
	q := ask(r, true)
	f := q.filter(pageDefault)
	if err := q.done(); err != nil {
		return err
	}
	if f.Name == "" {
		f.Hide = doctor.BurstName // calibration runs answer no question; they are shown if asked for by name
	}
	found, err := d.list(r.Context(), f)
	if err != nil {
		return err
	}
	values, err := d.config.Store.Values(r.Context())
	if err != nil {
		return err
	}
	now, err := d.running(r.Context())
	if err != nil {
		return err
	}
	p := listPage{
		frame: d.frame("results", "Results"), listed: found, Rows: d.rows(r.Context(), found.Results), Values: values,
		Filter: f, Since: stamp(f.Since), Until: stamp(f.Until),
		Running: len(slices.DeleteFunc(slices.Clone(now.Running), func(r store.Running) bool { return r.Stale })),
	}
	v := selection(f)
	p.Filtered = len(v) > 0 && (len(v) > 1 || !v.Has("limit"))
	if !f.After.IsZero() {
		p.First = "/?" + v.Encode()
	}
	if found.Next != "" {
		more := url.Values{"cursor": {found.Next}}
		for name, all := range v {
			more[name] = all
		}
		p.Next = "/?" + more.Encode()
	}
	return d.render(w, http.StatusOK, "list", p)
}

type runningPage struct {
	frame
	cards
}

func (d *Dashboard) runningPage(w http.ResponseWriter, r *http.Request) error {
	if err := ask(r, false).done(); err != nil {
		return err
	}
	now, err := d.running(r.Context())
	if err != nil {
		return err
	}
	return d.render(w, http.StatusOK, "running", runningPage{d.frame("running", "Running now"), d.describeRunning(now)})
}

// differ says how many versions and settings differ.
func differ(n int) string {
	if n == 1 {
		return "1 version or setting differs"
	}
	return strconv.Itoa(n) + " versions or settings differ"
}

// choice is a list to choose from.
type choice struct {
	Name, Label string
	All         []string
	Chosen      string
	Stray       bool // the chosen value is not in the list
}

func pick(name, label string, all []string, chosen string) choice {
	return choice{name, label, all, chosen, chosen != "" && !slices.Contains(all, chosen)}
}

func day(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2 Jan 2006 15:04")
}
