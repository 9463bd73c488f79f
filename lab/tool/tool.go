// Package tool has other people's load generators as drivers: it finds the program of one, has it repeat a request as
// fast as it is answered, accounts for its processes, and reads its report. It knows how each is told what to do, and
// not what is measured with it: the request is given, and what is made of the report is the caller's.
package tool

import (
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"wirelab"
	"wirelab/lab/audit"
)

// Installed is the folder, below the one that a command runs in, that build/scripts/rivals installs programs to.
const Installed = ".cache/rivals/bin"

// Request is what a tool repeats.
type Request struct {
	Method string
	URL    string // http://HOST:PORT/PATH
	Header http.Header
	Body   []byte
	HTTP2  bool // over HTTP/2 without TLS, and else over HTTP/1.1
	// Schema is the file descriptor set of the service, if it is a call of gRPC; nil: nobody knows it.
	Schema []byte
}

// GRPC reports whether it is a call of gRPC.
func (r Request) GRPC() bool {
	return strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc")
}

// Load is how often it is in flight at once, over how many connections, and for how long.
type Load struct {
	InFlight, Connections int
	Threads               int // most, of tools that have any
	For                   time.Duration
}

// Tool is a load generator.
type Tool struct {
	Name string
	// Untold is what it does not tell of calls that were wrong.
	Untold string
	// step is what its run is a multiple of.
	step time.Duration
	// refuses tells why it cannot repeat a request; "" if it can.
	refuses func(Request, Load) string
	// files are what it reads, by name, and args its command line, given where those are.
	files func(Request) map[string][]byte
	args  func(r Request, l Load, at func(name string) string) []string
}

// tools are all.
func tools() []Tool { return []Tool{wrk(), h2load(), ghz()} }

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
	return "", wirelab.Errorf(wirelab.NotFound,
		"the program %s is neither on the PATH nor in %s; "+
			"in the repository of wirelab, build/scripts/rivals %s installs it there",
		t.Name, Installed, t.Name)
}

// Refuses tells why the tool cannot repeat a request under a load; "" if it can.
func (t Tool) Refuses(r Request, l Load) string {
	if l.Connections < 1 || l.InFlight < l.Connections {
		return fmt.Sprintf("%d connections for %d calls in flight: each connection needs a call", l.Connections, l.InFlight)
	}
	return t.refuses(r, l)
}

// Rounded is the shortest run of at least so long that the tool can be told to make.
func (t Tool) Rounded(d time.Duration) time.Duration {
	if over := d % t.step; over > 0 {
		d += t.step - over
	}
	return max(t.step, d)
}

func wrk() Tool {
	return Tool{
		Name: "wrk", Untold: "it looks at the status only", step: time.Second,
		refuses: func(r Request, l Load) string {
			switch {
			case r.HTTP2:
				return "it speaks HTTP/1.1 only; take h2load"
			case l.Connections != l.InFlight:
				return onePerConnection(l)
			}
			return ""
		},
		files: func(r Request) map[string][]byte { return map[string][]byte{"request.lua": []byte(luaScript(r))} },
		args: func(r Request, l Load, at func(string) string) []string {
			return []string{
				"-t" + strconv.Itoa(threads(l)), "-c" + strconv.Itoa(l.Connections),
				"-d" + strconv.Itoa(int(l.For/time.Second)) + "s", "-s", at("request.lua"), r.URL,
			}
		},
	}
}

func h2load() Tool {
	return Tool{
		Name: "h2load", Untold: "it looks at the status of HTTP only", step: time.Second,
		refuses: func(r Request, l Load) string {
			switch {
			case !r.HTTP2 && l.Connections != l.InFlight:
				return onePerConnection(l)
			case l.InFlight%l.Connections != 0:
				return fmt.Sprintf("%d calls in flight do not spread evenly over %d connections", l.InFlight, l.Connections)
			}
			return ""
		},
		files: func(r Request) map[string][]byte { return map[string][]byte{"body": r.Body} },
		args: func(r Request, l Load, at func(string) string) []string {
			args := []string{
				"-t" + strconv.Itoa(threads(l)), "-c" + strconv.Itoa(l.Connections),
				"-m" + strconv.Itoa(l.InFlight/l.Connections), "-D" + strconv.Itoa(int(l.For/time.Second)),
			}
			if !r.HTTP2 {
				args = append(args, "--h1")
			}
			usual := http.MethodGet
			if len(r.Body) > 0 {
				args, usual = append(args, "-d", at("body")), http.MethodPost
			}
			if r.Method != usual {
				args = append(args, "-H", ":method: "+r.Method)
			}
			for _, h := range headers(r) {
				args = append(args, "-H", strings.ToLower(h.name)+": "+h.value)
			}
			return append(args, r.URL)
		},
	}
}

// grpcPrefix is the length of what is before a message of gRPC: whether it is compressed, and its length.
const grpcPrefix = 5

func ghz() Tool {
	return Tool{
		Name: "ghz", Untold: "it looks at the status of gRPC only", step: 100 * time.Millisecond,
		refuses: func(r Request, _ Load) string {
			switch {
			case !r.GRPC() || len(r.Body) < grpcPrefix:
				return "it calls gRPC only; take wrk or h2load"
			case len(r.Schema) == 0:
				return "it needs the schema of the service, which is not known of this one"
			}
			return ""
		},
		files: func(r Request) map[string][]byte {
			return map[string][]byte{"message": r.Body[grpcPrefix:], "schema.protoset": r.Schema}
		},
		args: func(r Request, l Load, at func(string) string) []string {
			host, path, _ := strings.Cut(strings.TrimPrefix(r.URL, "http://"), "/")
			return []string{ // without the templates a call is three times as cheap
				"--insecure", "--protoset", at("schema.protoset"), "--call", path, "--binary-file", at("message"),
				"--disable-template-data", "--disable-template-functions", "-c", strconv.Itoa(l.InFlight),
				"--connections", strconv.Itoa(l.Connections), "-z", l.For.String(), "--duration-stop", "wait", host,
			}
		},
	}
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

// luaScript has wrk repeat a request.
func luaScript(r Request) string {
	var text strings.Builder
	fmt.Fprintf(&text, "wrk.method = %s\n", luaText([]byte(r.Method)))
	if len(r.Body) > 0 {
		fmt.Fprintf(&text, "wrk.body = %s\n", luaText(r.Body))
	}
	for _, h := range headers(r) {
		fmt.Fprintf(&text, "wrk.headers[%s] = %s\n", luaText([]byte(h.name)), luaText([]byte(h.value)))
	}
	return text.String()
}

// luaText is bytes as a string of Lua 5.1, which has no escapes in hexadecimal.
func luaText(data []byte) string {
	var text strings.Builder
	text.WriteByte('"')
	for _, b := range data {
		if b < ' ' || b > '~' || b == '"' || b == '\\' {
			fmt.Fprintf(&text, `\%03d`, b)
			continue
		}
		text.WriteByte(b)
	}
	text.WriteByte('"')
	return text.String()
}

// parser reads the tool's report.
func (t Tool) parser() (audit.Parser, error) { return audit.ParserNamed(t.Name) }
