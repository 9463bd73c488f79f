// Package tool runs other load generators as drivers. It finds the program of one, lets it repeat a request, in a
// closed loop or at a rate, measures its processes, and reads its report. It knows the command line of each. It does
// not know what is measured: the request is given, and the caller interprets the report.
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

// Installed is the folder, relative to the working directory, into which build/scripts/rivals installs programs.
const Installed = ".cache/rivals/bin"

// Request is a request that a tool repeats: an HTTP request, a gRPC call, or SQL statements.
type Request struct {
	Method string
	URL    string // http://HOST:PORT/PATH
	Header http.Header
	Body   []byte
	HTTP2  bool // over HTTP/2 without TLS; otherwise over HTTP/1.1
	// Schema is the file descriptor set of the service of a gRPC call. nil: unknown.
	Schema []byte
	// Script are statements for PostgreSQL, in the form that pgbench reads, instead of a call. Database is the URL of
	// the database, and SearchPath the schema in which names are looked up.
	Script, SearchPath string
	Database           string
}

// SQL reports whether the request consists of statements for a database.
func (r Request) SQL() bool { return r.Script != "" }

// GRPC reports whether it is a gRPC call.
func (r Request) GRPC() bool {
	return strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc")
}

// Load says how many requests are in flight, over how many connections, and for how long.
type Load struct {
	InFlight, Connections int
	Threads               int     // the maximum, for tools that use threads
	Rate                  float64 // per second, over all connections; 0: a closed loop
	For                   time.Duration
}

// Tool is a load generator.
type Tool struct {
	// Name is the name of the tool and of its program.
	Name string
	// Untold says which wrong replies it does not report.
	Untold string
	// Arrivals is the distribution of its calls at a rate, as plans name it; "": it cannot keep a rate.
	Arrivals string
	// Install says how to install its program; "": with build/scripts/rivals.
	Install string
	// step is the unit of its run's length, and least the shortest run; 0: a step.
	step, least time.Duration
	// single reports whether it keeps one call in flight on each connection.
	single func(Request) bool
	// refuses says why it cannot repeat a request; "" if it can.
	refuses func(Request, Load) string
	// files are the files that it reads, by name. args is its command line; at returns the path of a file.
	files func(Request) (map[string][]byte, error)
	args  func(r Request, l Load, at func(name string) string) []string
	// environment is added to the environment of this program. nil: nothing.
	environment func(Request) ([]string, error)
	// report reads its output. nil: package audit does.
	report func(audit.Output) (Told, error)
	// places are folders that may contain its program, in addition to the PATH. nil: none.
	places func() []string
}

// tools returns all tools.
func tools() []Tool { return []Tool{wrk(), h2load(), ghz(), k6(), pgbench()} }

// Names returns the names of all tools.
func Names() []string {
	var names []string
	for _, t := range tools() {
		names = append(names, t.Name)
	}
	return names
}

// Named returns the tool with a name.
func Named(name string) (Tool, error) {
	all := tools()
	if i := slices.IndexFunc(all, func(t Tool) bool { return t.Name == name }); i >= 0 {
		return all[i], nil
	}
	return Tool{}, wirelab.UnknownName("load generator", name, Names())
}

// Find returns the path of the tool's program.
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

// Fit returns the load as the tool can make it. At a rate, InFlight is only a bound. It is reduced if each connection
// carries a single call.
func (t Tool) Fit(r Request, l Load) Load {
	if l.Rate > 0 && t.single(r) {
		l.InFlight = l.Connections
	}
	return l
}

func always(Request) bool { return true }

// Refuses says why the tool cannot repeat a request under a load; "" if it can.
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

// Rounded is the shortest possible run of the tool that is not shorter than d.
func (t Tool) Rounded(d time.Duration) time.Duration {
	if over := d % t.step; over > 0 {
		d += t.step - over
	}
	return max(t.step, t.least, d)
}

// threads is the number of threads that divides the connections evenly. wrk opens equally many connections in each
// thread, and drops the rest.
func threads(l Load) int {
	n := max(1, min(l.Threads, l.Connections))
	for l.Connections%n != 0 {
		n--
	}
	return n
}

func onePerConnection(l Load) string {
	return fmt.Sprintf("over HTTP/1.1 it keeps one call in flight on each connection, not %d on %d",
		l.InFlight, l.Connections)
}

// header is a header of a request.
type header struct{ name, value string }

// headers returns the headers of a request, sorted by name.
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

// parser returns the parser of the tool's report.
func (t Tool) parser() (audit.Parser, error) { return audit.ParserNamed(t.Name) }
