package conformance

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"wirelab"
)

// toyPatience is short: an injected fault that hangs is given this long.
const toyPatience = time.Second

// findings is a reporter that keeps the findings.
type findings struct {
	mu   sync.Mutex // guards below
	list []string
}

func (f *findings) Helper()             {}
func (f *findings) Logf(string, ...any) {}

func (f *findings) Errorf(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = append(f.list, fmt.Sprintf(format, args...))
}

func (f *findings) Failed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.list) > 0
}

func toyWorkload(bindings ...wirelab.Binding[toy]) wirelab.Workload[toy] {
	return wirelab.Workload[toy]{
		Name: "toy", New: func() toy { return toyReference{} },
		Wrap:       func(service toy, hooks wirelab.Hooks) toy { return toyHooked{service, hooks} },
		Operations: toyOperations(1), Bindings: bindings,
		Data: []wirelab.Data[toy]{
			{Name: "short", New: func() toy { return toyReference{} }, Operations: toyOperations(1)},
			{Name: "long", New: func() toy { return toyReference{} }, Operations: toyOperations(1000)},
		},
	}
}

// judgeToy runs the named checks, or all, over a toy wire and returns what they found.
func judgeToy(t *testing.T, w toyWire, patience time.Duration, names ...string) []string {
	t.Helper()
	id, err := newIdentity()
	if err != nil {
		t.Fatal(err)
	}
	b := w.binding()
	c := &cell[toy]{
		workload: toyWorkload(b), suite: toySuite(), binding: b, server: b.Servers[0], client: b.Clients[0],
		identity: id, pace: shortPace, seed: defaultSeed, patience: patience, quiet: 100 * time.Millisecond,
	}
	found := &findings{}
	for _, k := range checks[toy]() {
		if len(names) == 0 || slices.Contains(names, k.name) {
			c.judge(k, found)
		}
	}
	return found.list
}

// TestSoundBindingPasses is the other half of the table below: a suite that
// always fails would catch every fault.
func TestSoundBindingPasses(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for _, p := range toyProtocols() {
		t.Run(p.Name, func(t *testing.T) {
			for _, fault := range judgeToy(t, toyWire{protocol: p}, 20*time.Second) {
				t.Error(fault)
			}
		})
	}
}

func TestInjectedFaultsAreNamed(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	const h2c, h2, h1, h1tls = 0, 1, 2, 3
	faults := []struct {
		fault string
		over  int
		check string
		want  string // in the message
	}{
		{"wrong-code", h2c, "transcript", "wrong code internal (message \"nothing at"},
		{"lost-error-text", h2c, "transcript", `wrong message ""`},
		{"dropped", h2c, "transcript", "items lost"},
		{"dropped", h2c, "scripts", "short stream as success: 1 of 2 items"},
		{"reordered", h2c, "transcript", "items reordered"},
		{"reordered", h2c, "concurrent", "want {Name:item 0"},
		{"swapped", h2c, "transcript", "At:{Lat:2 Long:74}}, want {Name:place 74 At:{Lat:74 Long:2}}"},
		{"swapped", h2c, "scripts", "{Lat:3 Long:12}}, want {Name:place 12 At:{Lat:12 Long:3}}"},
		{"lost-text", h2c, "transcript", "is {Text: "},
		{"large-lost", h2c, "data", "data long, Chat [{Text:note "},
		{"truncated", h2c, "transcript", "takes a failed call as complete"},
		{"truncated", h2c, "early-break", "short stream as success"},
		{"code-table", h2c, "errors", "Find, code conflict: wrong code not_found"},
		{"code-table", h2c, "errors", "List, code conflict after 3 items: wrong code not_found"},
		{"text-in-header", h2c, "errors", "a message of two lines: wrong message"},
		{"tells-all", h2c, "errors", `an unclassified error: wrong message "injected secret`},
		{"local", h2c, "transcript", "no bytes moved"},
		{"own-dialer", h2c, "transcript", "opens connections by itself"},
		{"half-duplex", h2c, "probes", "no reply before the next note"},
		{"hole-passes", h2c, "holes", "declared hole starts to pass: remove it"},
		{"hole-wrong-code", h2c, "holes", "declared hole answers error internal"},
		{"hole-without-reason", h1, "holes", "not a sentence"},
		{"undeclared-hole", h1, "transcript", "unimplemented: Chat needs both"},
		{"other-protocol", h2c, "wire", "no HTTP/2 preface"},
		{"other-protocol", h2, "wire", `the server chose ALPN "http/1.1", want "h2"`},
		{"content-type", h1, "wire", `content type "text/plain", want one with json`},
		{"content-type", h2, "wire", `content type "text/plain", want one with json`},
		{"tls-1.2", h1tls, "wire", "negotiated TLS 1.2"},
		{"tls-1.2", h2, "wire", "accepts TLS 1.2"},
		{"connection-per-call", h1, "connections", "4 allowed (multiplexed false)"},
		// How many calls it took is left open: on a busy machine a burst may open few.
		{"connection-limit-ignored", h1, "connections", "calls, 16 at once; 4 allowed"},
		{"connection-limit-ignored", h2, "connections", "calls, 16 at once; 1 allowed"},
		{"serial", h2c, "connections", "at most 1 came together"},
		{"deadline-lost", h2c, "deadline", "deadline is lost on the way"},
		{"deadline-doubled", h2c, "deadline", "of the caller's 200ms"},
		{"deadline-halved", h2c, "deadline", "before the caller's"},
		{"port-held", h2c, "restart", "the port is still open after Serve returned"},
		{"client-ignores-cancel", h2c, "cancel", "ignores cancel"},
		{"server-ignores-cancel", h2c, "cancel", "cancel does not stop the work"},
		{"server-ignores-cancel", h2c, "deadline", "the service's context has none"},
		{"panic-drops", h2c, "panic", "want the code internal"},
		{"panic-tells", h2c, "panic", "shown what the service panicked with"},
		{"panic-stops", h2c, "panic", "harms the next call"},
		{"unbounded", h2c, "slow-reader", "a reader that stopped is not bounded"},
		{"break-ignored", h2c, "early-break", "the service's stream went on for"},
		{"cut-at-stop", h2c, "drain", "a stop cuts a call in flight"},
		{"drain-ignored", h2c, "cut", "outlives the drain time"},
		{"never-stops", h2c, "facts transcript", "server does not stop"},
		{"no-reconnect", h2c, "restart", "no reconnect"},
		{"leak", h2c, "transcript", "leaks a goroutine"},
	}
	for _, f := range faults {
		t.Run(f.fault+"/"+toyProtocols()[f.over].Name+"/"+f.check, func(t *testing.T) {
			leak := make(chan struct{})
			defer close(leak)
			w := toyWire{fault: f.fault, protocol: toyProtocols()[f.over], leak: leak}
			named := func(s string) bool { return strings.Contains(s, f.want) }
			var found []string
			// A slow machine may hang for so long before a check comes to the fault.
			for patience := toyPatience; !slices.ContainsFunc(found, named) && patience < time.Minute; patience *= 4 {
				found = judgeToy(t, w, patience, strings.Fields(f.check)...)
			}
			if !slices.ContainsFunc(found, named) {
				t.Errorf("%s was not named by %q; findings:\n%s", f.fault, f.want, strings.Join(found, "\n"))
			}
		})
	}
}

// A fault only with large messages is not seen by requests from the first data set.
func TestFurtherDataSetsAreAskedToo(t *testing.T) {
	if found := judgeToy(t, toyWire{fault: "large-lost", protocol: toyProtocols()[0]}, time.Minute,
		"transcript"); len(found) > 0 {
		t.Errorf("the transcript finds %q: the fault shows without the data check", found)
	}
}

func TestDrainJudgesSequencesByTheirCalls(t *testing.T) {
	t.Parallel()
	right, wrong := answer{items: []string{"right"}}, answer{items: []string{"wrong"}}
	refused := answer{err: &wirelab.Error{Code: wirelab.Unavailable, Message: "gone"}}
	cut := answer{err: &wirelab.Error{Code: wirelab.Canceled, Message: "cut"}}
	for _, c := range []struct {
		why      string
		got      answer
		sequence bool
		fault    bool
	}{
		{"a call that is answered", right, false, false},
		{"a call that is answered wrongly", wrong, false, true},
		{"a call that is refused", refused, false, true},
		{"calls that are all answered", right, true, false},
		{"calls of which one is answered wrongly", wrong, true, true},
		{"calls of which a later one is refused", refused, true, false},
		{"calls of which one is cut", cut, true, true},
	} {
		if fault := drainFault(c.got, right, c.sequence); (fault != "") != c.fault {
			t.Errorf("%s: %q", c.why, fault)
		}
	}
}

// A failed unary call of the Connect protocol is JSON, and no other reply is.
func TestConnectFailuresAreJSON(t *testing.T) {
	t.Parallel()
	const proto, json = "application/proto", "application/json"
	for _, c := range []struct {
		why, protocol string
		message       message
		fault         bool
	}{
		{"a right reply", "connect", message{request: proto, reply: proto}, false},
		{"a failure", "connect", message{request: proto, reply: json, failed: true}, false},
		{"a failure over HTTP/1.1", "connect-http1", message{request: proto, reply: json, failed: true}, false},
		{"a right reply in another encoding", "connect", message{request: proto, reply: json}, true},
		{"a request in another encoding", "connect", message{request: json, reply: json, failed: true}, true},
		{"a failure in HTML", "connect", message{request: proto, reply: "text/html", failed: true}, true},
		{"a failure of another protocol", "http1-proto", message{request: proto, reply: json, failed: true}, true},
	} {
		p := wirelab.Protocol{Name: c.protocol, Encoding: "Protocol Buffers"}
		if faults := judgeMessages(p, []message{c.message}); (len(faults) > 0) != c.fault {
			t.Errorf("%s: %q", c.why, faults)
		}
	}
}

func TestRunNamesEveryCell(t *testing.T) {
	Run(t, toyWorkload(toyWire{protocol: toyProtocols()[0]}.binding()), toySuite())
}

func TestAbsencesNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	good, holed := toyWire{protocol: toyProtocols()[0]}.binding(), toyWire{protocol: toyProtocols()[2]}.binding()
	holed.Holes = map[string]string{"Find": " ", "Fly": "There is no such thing."}
	works := []wirelab.Work{toyWorkload(good, holed, good).Erase(), {Name: "bare"}}
	got := strings.Join(Absences(works, []string{"grpc"}), "\n")
	for _, want := range []string{
		"toy has no binding of grpc: write workload/toy/bind/grpc.go",
		"bare has no binding of h2c-json: write workload/bare/bind/h2c_json.go",
		"toy/http1-json has a hole Find without a reason",
		`toy/http1-json has a hole "Fly", which is no operation`,
		"toy/h2c-json/toy→toy is there twice",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is absent from\n%s", want, got)
		}
	}
	if full := Absences([]wirelab.Work{toyWorkload(good).Erase()}, []string{"h2c-json"}); len(full) > 0 {
		t.Errorf("a full matrix has absences: %v", full)
	}
}
