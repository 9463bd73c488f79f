package console_test

import (
	"context"
	"encoding/json"
	"flag"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"wirelab/hermes"
	"wirelab/hermes/api/console"
	"wirelab/hermes/api/rest"
	"wirelab/hermes/broker"
	"wirelab/hermes/broker/brokertest"
	"wirelab/hermes/record"
	"wirelab/internal/browsertest"
	"wirelab/wire/endpoint"
	"wirelab/wire/status"
)

var shots = flag.String("shots", "", "write pictures of the page into this folder, to be looked at")

// evil is what would be seen if text became markup.
const evil = `<img src=x onerror="document.title='owned'"><b class=evil>boo</b>`

// serve serves the page before a broker, as a node does.
func serve(t *testing.T, b broker.Broker, token string) (address string) {
	t.Helper()
	api, err := rest.New(rest.Config{Broker: b, Token: token, Pages: console.Pages()})
	if err != nil {
		t.Fatal(err)
	}
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- api.Serve(ctx, endpoint.Endpoint{Listener: l}, false) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return "http://" + l.Addr().String() + "/"
}

func memory(t *testing.T) *brokertest.InMemory {
	t.Helper()
	m := brokertest.Memory()
	t.Cleanup(m.Close)
	return m
}

// publish publishes one message and waits for the answer.
func publish(t *testing.T, b broker.Broker, topic string, m hermes.Message) {
	t.Helper()
	done := make(chan error, 1)
	run := broker.Run{Topic: topic, Messages: record.AppendMessage(nil, &m), Count: 1}
	b.Publish(t.Context(), run, func(v broker.Verdict) { done <- v.Err })
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// page is the console in a tab.
type page struct {
	*browsertest.Tab
	t *testing.T
}

// browse opens the console.
func browse(t *testing.T, address string) *page {
	t.Helper()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	p := &page{browsertest.Open(browsertest.Start(t), t, address), t}
	p.Look(1280, "light")
	p.Do(chromedp.Navigate(address))
	return p
}

func (p *page) click(at string) {
	p.t.Helper()
	p.Until(at+" can be pressed", `(() => { const b = document.querySelector('`+at+
		`'); return b && !b.disabled && b.checkVisibility(); })()`)
	p.Do(chromedp.Evaluate(`document.querySelector('`+at+`').click()`, nil))
}

func (p *page) write(at, text string) {
	p.t.Helper()
	value, err := json.Marshal(text) // SetValue of chromedp cannot empty a field
	if err != nil {
		p.t.Fatal(err)
	}
	p.Do(chromedp.Evaluate(`(() => {
		const field = document.querySelector('`+at+`');
		field.value = `+string(value)+`;
		for (const kind of ["input", "change"]) field.dispatchEvent(new Event(kind, {bubbles: true}));
	})()`, nil))
}

// says waits for a part of the page to have a text.
func (p *page) says(at, text string) {
	p.t.Helper()
	p.Until(at+" says "+text, `[...document.querySelectorAll('`+at+`')].some((el) => el.textContent.includes(`+
		strconv.Quote(text)+`))`)
}

func (p *page) quiet() {
	p.t.Helper()
	for _, complaint := range p.Complaints() {
		p.t.Error(complaint)
	}
}

// sight is what a person would see wrong.
type sight struct {
	Overflow float64
	Unnamed  []string // controls without a name
	Headings int
	Injected int      // elements that came from text
	Empty    []string // halves of the page that hold little: the space below their content, in px
}

const lookScript = `({
	Overflow: document.scrollingElement.scrollWidth - document.documentElement.clientWidth,
	Unnamed: [...document.querySelectorAll("a, button, input, textarea, select")].filter((el) =>
		!(el.textContent.trim() || el.getAttribute("aria-label") || (el.labels && el.labels.length))).map((el) => el.outerHTML.slice(0, 80)),
	Headings: document.querySelectorAll("h1").length,
	Injected: document.querySelectorAll("img, b.evil").length,
	Empty: [...document.querySelectorAll(".columns > section")].filter((section) => {
		const last = [...section.children].filter((el) => el.getBoundingClientRect().height > 0).at(-1);
		const below = section.closest(".columns").getBoundingClientRect().bottom - last.getBoundingClientRect().bottom;
		return innerWidth >= 940 && below > 40 && !section.querySelector(".messages li");
	}).map((section) => section.querySelector("h2").textContent),
})`

// looks looks at the page in every width and scheme.
func (p *page) looks(name string) {
	p.t.Helper()
	for _, width := range []int{375, 1440} {
		for _, scheme := range []string{"light", "dark"} {
			var seen sight
			p.Look(width, scheme)
			p.Do(chromedp.Evaluate(lookScript, &seen))
			if seen.Overflow > 0.5 || len(seen.Unnamed) > 0 || seen.Headings != 1 || seen.Injected != 0 ||
				len(seen.Empty) > 0 {
				p.t.Errorf("%s at %d px, %s: %+v", name, width, scheme, seen)
			}
			if *shots == "" {
				continue
			}
			var picture []byte
			p.Do(chromedp.FullScreenshot(&picture, 100))
			file := filepath.Join(*shots, "console-"+name+"-"+strconv.Itoa(width)+"-"+scheme+".png")
			if err := os.WriteFile(file, picture, 0o600); err != nil {
				p.t.Fatal(err)
			}
		}
	}
	var title string
	p.Do(chromedp.Title(&title))
	if strings.Contains(title, "owned") {
		p.t.Error("text became script")
	}
}

// A person makes a topic, publishes to it, reads it as a group, acknowledges one message and gives another
// back, and deletes the topic. What publishers wrote stays text, and the page asks only its node.
func TestConsole(t *testing.T) {
	m := memory(t)
	p := browse(t, serve(t, m, ""))
	p.says("#state.good", "leads 1 node")
	p.says("#members", "leader")

	p.click("#make")
	p.write("#make-name", "orders")
	p.write("#make-age", "24h")
	p.write("#make-bytes", "1073741824")
	p.looks("make")
	p.click("#make-form .main")
	p.says("#topic-rows", "1 GiB, for 24h")
	p.says("#groups-of", "of orders")

	p.write("#payload", evil)
	p.write("#key", "ключ, 1")
	p.write("#headers", "kind: "+evil+"\ncolour: red, green")
	p.click("#send")
	p.says("#published.good", "stored at offset 0")
	p.write("#mode", "eventual")
	p.click("#send")
	p.says("#published.good", "disk")
	p.write("#mode", "consistent")
	p.click("#send")
	p.says("#published.good", "stored at offset 2")

	p.write("#from", "group")
	p.write("#group", "billing")
	p.click("#listen")
	p.says("#listening.good", "3 messages came")
	p.says("#messages", "red, green")
	p.says("#messages", "ключ, 1")
	p.says("#group-rows", "billing")
	p.click(`#messages [aria-label="Acknowledge 0"]`)
	p.says("#messages .done", "acknowledged")
	p.click(`#messages [aria-label="Give back 1"]`)
	p.says("#messages .again", "attempt 2")
	p.Until("the group's numbers are shown", `(() => {
		const [row] = document.querySelector("#group-rows").rows;
		return [1, 2, 3].every((i) => Number(row.cells[i].textContent) === [0, 2, 2, 1][i]);
	})()`)
	p.looks("full")
	p.click("#ack-all")
	p.Until("the group is through", `document.querySelector("#group-rows").rows[0].cells[1].textContent === "0"`)
	p.click("#listen")
	p.says("#listening", "Not subscribed any more")

	// A topic goes only when its name is written.
	p.click(`#topic-rows [aria-label="Delete orders…"]`)
	p.says("#delete-what", "its 3 messages")
	p.write("#delete-name", "order")
	p.Until("half a name deletes nothing", `document.querySelector("#delete-do").disabled`)
	p.looks("delete")
	p.write("#delete-name", "orders")
	p.click("#delete-do")
	p.Until("it is gone", `!document.querySelector("#topic-rows").textContent.includes("orders")`)
	if _, err := m.Topic(t.Context(), "orders", false); status.CodeOf(err) != status.NotFound {
		t.Errorf("the topic after it was deleted: %v", err)
	}
	p.quiet()
}

// A subscriber may begin anywhere, a file may be published, and what comes without
// a group is not to be acknowledged.
func TestConsoleReadsFromAnywhere(t *testing.T) {
	m := memory(t)
	if _, err := m.CreateTopic(t.Context(), broker.Topic{Name: "events"}); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"first", "second", "third"} {
		publish(t, m, "events", hermes.Message{Payload: []byte(text)})
	}
	address := serve(t, m, "")
	p := browse(t, address)
	p.click(`#topic-rows tr:has([aria-label="Delete events…"]) .link`)
	p.says("#groups-of", "of events")
	for _, try := range []struct{ from, offset, want string }{
		{"oldest", "", "3 messages"},
		{"offset", "2", "1 message "},
		{"offset", "1", "2 messages"},
	} {
		p.write("#from", try.from)
		if try.offset != "" {
			p.write("#offset", try.offset)
		}
		p.click("#listen")
		p.says("#listening.good", try.want)
		p.Until("nothing is to be acknowledged", `document.querySelector("#messages .act") === null`)
		p.click("#listen")
		p.says("#listening", "Not subscribed")
	}
	p.write("#from", "tail")
	p.click("#listen")
	p.says("#listening.good", "nothing came yet")
	file := filepath.Join(t.TempDir(), "some.bin")
	if err := os.WriteFile(file, []byte{0xff, 0xfe, 0}, 0o600); err != nil {
		t.Fatal(err)
	}
	p.Do(chromedp.SetUploadFiles("#file", []string{file}, chromedp.ByQuery))
	p.click("#send")
	p.says("#published.good", "offset 3")
	p.says("#messages pre", "//4A (base64)")
	p.write("#payload", "only for who listens")
	p.write("#mode", "performance")
	p.click("#send")
	p.says("#messages", "no offset")
	p.looks("tail")
	p.quiet()
	// The topic goes while a reader reads it.
	if err := m.DeleteTopic(t.Context(), "events"); err != nil {
		t.Fatal(err)
	}
	p.says("#listening.bad", "not_found")
}

// The page is public; what it shows is for those who have the token, which it asks for once and keeps nowhere.
// A browser notes each refusal in its console, so that its complaints are of no use here.
func TestConsoleAsksForTheToken(t *testing.T) {
	m := memory(t)
	if _, err := m.CreateTopic(t.Context(), broker.Topic{Name: "secret"}); err != nil {
		t.Fatal(err)
	}
	p := browse(t, serve(t, m, "open sesame"))
	p.says("#token-dialog[open]", "The node asks who you are")
	p.looks("token")
	// One of the calls is refused late: after the person left the question that the other asked.
	p.Do(chromedp.Evaluate(`(() => {
		const fetched = window.fetch;
		const held = new Promise((go) => { window.letGo = go; });
		window.fetch = async (path, options) => {
			const reply = await fetched(path, options);
			if (String(path).includes("topics")) await held;
			return reply;
		};
	})()`, nil))
	p.write("#token-text", "wrong")
	p.click("#token-form .main")
	p.says("#token-dialog[open]", "does not take this token")
	p.click("#token-cancel")
	p.Do(chromedp.Evaluate(`window.letGo()`, nil))
	p.says("#state.bad", "asks for a token")
	p.Until("who left the question is not asked again", `!document.querySelector("#token-dialog").open`)
	p.click("#token")
	p.write("#token-text", "open sesame")
	p.click("#token-form .main")
	p.says("#state.good", "leads 1 node")
	p.says("#topic-rows", "secret")
	p.write("#subscribe-topic", "secret")
	p.click("#listen")
	p.says("#listening.good", "nothing came yet")
	var kept int
	p.Do(chromedp.Evaluate(`localStorage.length + sessionStorage.length + document.cookie.length + [...document.querySelectorAll("input")].filter((el) => el.value.includes("sesame")).length`, &kept))
	if kept != 0 {
		t.Error("the token is kept somewhere")
	}
}

// A person sets a group back, sees the messages wait again, and removes it, which
// takes its name.
func TestConsoleManagesGroups(t *testing.T) {
	m := memory(t)
	if _, err := m.CreateTopic(t.Context(), broker.Topic{Name: "orders"}); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		publish(t, m, "orders", hermes.Message{Payload: []byte("one")})
	}
	long := strings.Repeat("long-", 20)
	for _, name := range []string{"billing", long} {
		if _, err := m.CreateGroup(t.Context(), broker.Group{Topic: "orders", Name: name}, broker.Start{
			Topic: "orders",
			From:  broker.FromTail,
		}); err != nil {
			t.Fatal(err)
		}
	}
	p := browse(t, serve(t, m, ""))
	p.click(`#topic-rows tr:has([aria-label="Delete orders…"]) .link`)
	p.says("#group-rows", long)
	p.looks("groups")
	reset := func(to, offset, lag string) {
		t.Helper()
		p.click(`#group-rows [aria-label="Reset billing…"]`)
		p.says("#seek-dialog[open] #seek-of", "billing")
		p.write("#seek-to", to)
		if offset != "" {
			p.write("#seek-offset", offset)
		}
		p.click("#seek-form .main")
		p.Until(lag+" wait", `document.querySelector("#group-rows").rows[0].cells[1].textContent === "`+lag+`"`)
	}
	reset("oldest", "", "3")
	reset("offset", "2", "1")
	reset("tail", "", "0")
	p.click(`#group-rows [aria-label="Reset billing…"]`)
	p.looks("reset")
	p.click("#seek-cancel")

	p.click(`#group-rows [aria-label="Remove billing…"]`)
	p.write("#remove-name", "bill")
	p.Until("half a name removes nothing", `document.querySelector("#remove-do").disabled`)
	p.looks("remove")
	p.write("#remove-name", "billing")
	p.click("#remove-do")
	p.Until("it is gone", `!document.querySelector("#group-rows").textContent.includes("billing")`)
	if _, err := m.Group(t.Context(), "orders", "billing"); status.CodeOf(err) != status.NotFound {
		t.Errorf("the group after it was removed: %v", err)
	}
	p.quiet()
}

// Failures are shown as what they are: a node without a leader, a topic that is not
// there, a name that is none. What a caller does not know may have been stored.
func TestConsoleShowsFailures(t *testing.T) {
	m := memory(t)
	if _, err := m.CreateTopic(t.Context(), broker.Topic{Name: "events"}); err != nil {
		t.Fatal(err)
	}
	p := browse(t, serve(t, m, ""))
	p.says("#topic-rows", "events")
	p.write("#publish-topic", "nowhere")
	p.click("#send")
	p.says("#published.bad", "not_found")
	p.says("#verdict", "It was not stored.")
	p.write("#headers", "no colon "+evil)
	p.click("#send")
	p.says("#verdict", "this header has no colon")
	p.write("#headers", "")
	p.write("#subscribe-topic", "nowhere")
	p.click("#listen")
	p.says("#listening.bad", "not_found")
	m.Lead(false)
	p.write("#publish-topic", "events")
	p.click("#send")
	p.says("#published.bad", "unavailable")
	p.says("#verdict", "It is unknown whether it was stored.")
	p.says("#nodes-note", "This node is not ready: this node knows no leader.")
	p.says("#state.bad", "no node leads; this one is not ready") // looked at again at once, since something was done
	p.looks("failed")
}

// More topics than a page holds are turned over, and found by how they begin.
func TestConsoleTurnsPages(t *testing.T) {
	m := memory(t)
	for i := range 130 {
		if _, err := m.CreateTopic(t.Context(), broker.Topic{Name: "topic-" + strconv.Itoa(1000+i)}); err != nil {
			t.Fatal(err)
		}
	}
	p := browse(t, serve(t, m, ""))
	listed := func(n int, last string) {
		t.Helper()
		p.Until(last+" is the last of "+strconv.Itoa(n), `(() => {
			const rows = document.querySelector("#topic-rows").rows;
			return rows.length === `+strconv.Itoa(n)+` && rows[rows.length-1].textContent.includes("`+last+`");
		})()`)
	}
	listed(100, "hermes.dlq") // the broker's own is the last of a page
	p.Until("the broker's own cannot be deleted", `!document.querySelector('[aria-label="Delete hermes.dlq…"]') &&
		document.querySelectorAll('#topic-rows [aria-label^="Delete "]').length === 99`)
	p.click("#later")
	listed(31, "topic-1129")
	p.click("#earlier")
	listed(100, "hermes.dlq")
	p.write("#prefix", "topic-112")
	listed(10, "topic-1129")
	p.write("#prefix", "none")
	p.says("#topic-rows", "No topic’s name begins so.")
	p.quiet()
}

// The files are distinguished by exact path, run nothing of others, and need no token.
func TestPages(t *testing.T) {
	t.Parallel()
	address := serve(t, memory(t), "open sesame")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	ask := func(method, path, site string) (status int, policy string) {
		request, err := http.NewRequestWithContext(t.Context(), method, strings.TrimSuffix(address, "/")+path,
			http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Sec-Fetch-Site", site)
		reply, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = reply.Body.Close()
		return reply.StatusCode, reply.Header.Get("Content-Security-Policy")
	}
	for path := range console.Pages() {
		status, policy := ask(http.MethodGet, path, "cross-site") // a link that was followed
		if status != http.StatusOK || !strings.HasPrefix(policy, "default-src 'none'; ") || strings.Contains(policy,
			"unsafe") {
			t.Errorf("%s: %d, %q", path, status, policy)
		}
		if got, _ := ask(http.MethodPost, path, "same-origin"); got != http.StatusMethodNotAllowed {
			t.Errorf("POST %s: %d", path, got)
		}
	}
	for path, want := range map[string]int{
		"/console/": 404, "/console/console.html": 404, "/index.html": 404,
		"/v1/topics": 401,
	} {
		if got, _ := ask(http.MethodGet, path, "same-origin"); got != want {
			t.Errorf("%s: %d, want %d", path, got, want)
		}
	}
}
