// Package tool has other people's load generators as drivers: it finds the program of one, has it repeat a request, as
// fast as it is answered or at a rate, accounts for its processes, and reads its report. It knows how each is told what
// to do, and not what is measured with it: the request is given, and what is made of the report is the caller's.
package tool

import (
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"wirelab"
	"wirelab/lab/audit"
)

// Installed is the folder, below the one that a command runs in, that build/scripts/rivals installs programs to.
const Installed = ".cache/rivals/bin"

// Request is what a tool repeats: a request of HTTP or gRPC, or statements of SQL.
type Request struct {
	Method string
	URL    string // http://HOST:PORT/PATH
	Header http.Header
	Body   []byte
	HTTP2  bool // over HTTP/2 without TLS, and else over HTTP/1.1
	// Schema is the file descriptor set of the service, if it is a call of gRPC; nil: nobody knows it.
	Schema []byte
	// Script are statements that PostgreSQL runs instead, in the form that pgbench reads; Database is the URL of where,
	// and SearchPath the schema that they look names up in.
	Script, SearchPath string
	Database           string
}

// SQL reports whether it is statements of a database, and no call.
func (r Request) SQL() bool { return r.Script != "" }

// GRPC reports whether it is a call of gRPC.
func (r Request) GRPC() bool {
	return strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc")
}

// Load is how often it is in flight at once, over how many connections, and for how long.
type Load struct {
	InFlight, Connections int
	Threads               int     // most, of tools that have any
	Rate                  float64 // per second, of all connections; 0: as fast as answers come
	For                   time.Duration
}

// Tool is a load generator.
type Tool struct {
	Name string
	// Untold is what it does not tell of calls that were wrong.
	Untold string
	// Arrivals is the law of the calls that it makes at a rate, as plans name it; "": it cannot keep a rate.
	Arrivals string
	// Install is what makes its program available; "": build/scripts/rivals does.
	Install string
	// step is what its run is a multiple of, and least the shortest; 0: a step.
	step, least time.Duration
	// single is whether it keeps one call in flight on each connection.
	single func(Request) bool
	// refuses tells why it cannot repeat a request; "" if it can.
	refuses func(Request, Load) string
	// files are what it reads, by name, and args its command line, given where those are.
	files func(Request) (map[string][]byte, error)
	args  func(r Request, l Load, at func(name string) string) []string
	// environment is what its process knows beside what ours does; nil: nothing.
	environment func(Request) ([]string, error)
	// report reads what it printed; nil: as package audit does.
	report func(audit.Output) (Told, error)
	// places are folders that its program may be in, beside the path; nil: none.
	places func() []string
}

// tools are all.
func tools() []Tool { return []Tool{wrk(), h2load(), ghz(), k6(), pgbench()} }

// Names are the names of all tools.
func Names() []string {
	var names []string
	for _, t := range tools() {
		names = append(names, t.Name)
	}
	return names
}

// Named returns the tool of a name.
func Named(name string) (Tool, error) {
	all := tools()
	if i := slices.IndexFunc(all, func(t Tool) bool { return t.Name == name }); i >= 0 {
		return all[i], nil
	}
	return Tool{}, wirelab.UnknownName("load generator", name, Names())
}

// Find returns where the program of a tool is.
func (t Tool) Find() (string, error) {
	if path, err := exec.LookPath(t.Name); err == nil {
		return filepath.Abs(path)
	}
	if path, err := exec.LookPath("./" + filepath.Join(Installed, t.Name)); err == nil {
		return filepath.Abs(path)
	}
	if t.places != nil {
		for _, folder := range t.places() {
			if path, err := exec.LookPath(filepath.Join(folder, t.Name)); err == nil {
				return filepath.Abs(path)
			}
		}
	}
	if t.Install != "" {
		return "", wirelab.Errorf(wirelab.NotFound, "the program %s is not on the PATH; %s", t.Name, t.Install)
	}
	return "", wirelab.Errorf(wirelab.NotFound,
		"the program %s is neither on the PATH nor in %s; "+
			"in the repository of wirelab, build/scripts/rivals %s installs it there",
		t.Name, Installed, t.Name)
}

// Fit is a load as the tool can make it. At a rate the calls in flight are only a bound, which is lower where each
// connection carries one call.
func (t Tool) Fit(r Request, l Load) Load {
	if l.Rate > 0 && t.single(r) {
		l.InFlight = l.Connections
	}
	return l
}

// always is whatever is asked.
func always(Request) bool { return true }

// Refuses tells why the tool cannot repeat a request under a load; "" if it can.
func (t Tool) Refuses(r Request, l Load) string {
	switch {
	case l.Connections < 1 || l.InFlight < l.Connections:
		return fmt.Sprintf("%d connections for %d calls in flight: each connection needs a call", l.Connections,
			l.InFlight)
	case l.Rate > 0 && t.Arrivals == "":
		return "it cannot keep a rate"
	}
	return t.refuses(r, l)
}

// Rounded is the shortest run of at least so long that the tool can be told to make.
func (t Tool) Rounded(d time.Duration) time.Duration {
	if over := d % t.step; over > 0 {
		d += t.step - over
	}
	return max(t.step, t.least, d)
}

// threads is how many share a load evenly: wrk opens as many connections in each, and leaves out the rest.
func threads(l Load) int {
	n := max(1, min(l.Threads, l.Connections))
	for l.Connections%n != 0 {
		n--
	}
	return n
}

func onePerConnection(l Load) string {
	return fmt.Sprintf("over HTTP/1.1 it keeps one call in flight on each connection, and not %d on %d",
		l.InFlight, l.Connections)
}

// header is a header of a request.
type header struct{ name, value string }

// headers are those of a request, in order of name.
func headers(r Request) []header {
	var all []header
	for name, values := range r.Header {
		for _, value := range values {
			all = append(all, header{name, value})
		}
	}
	slices.SortFunc(all, func(a, b header) int { return strings.Compare(a.name+a.value, b.name+b.value) })
	return all
}

// parser reads the tool's report.
func (t Tool) parser() (audit.Parser, error) { return audit.ParserNamed(t.Name) }
