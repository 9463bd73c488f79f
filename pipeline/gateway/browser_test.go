package gateway_test

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"wirelab"
	"wirelab/internal/browsertest"
	"wirelab/pipeline/gateway"
	"wirelab/workload/logging"
)

var shots = flag.String("shots", "", "write pictures of the page into this folder, to be looked at")

// sight is what a person would see wrong.
type sight struct {
	Overflow float64
	Unnamed  []string // controls without a name
	Headings int
	Injected int // elements that came from text
}

const lookScript = `({
	Overflow: document.scrollingElement.scrollWidth - document.documentElement.clientWidth,
	Unnamed: [...document.querySelectorAll("button, input, textarea")].filter((el) =>
		!(el.textContent.trim() || el.getAttribute("aria-label") || (el.labels && el.labels.length))).map((el) => el.outerHTML.slice(0, 80)),
	Headings: document.querySelectorAll("h1").length,
	Injected: document.querySelectorAll("img, b.evil").length,
})`

// replyInView: the verdict and the beginning of the reply are on the screen, without scrolling.
const replyInView = `["verdict", "reply"].every((id) => {
	const box = document.getElementById(id).getBoundingClientRect();
	return box.top >= 0 && box.top + Math.min(box.height, 60) <= innerHeight;
})`

// press presses a button by its address and waits for the exchange to be shown.
func press(p *browsertest.Tab, address string, exchange int) (request, reply, verdict string) {
	p.Do(chromedp.Click(`button[data-path="`+address+`"]:not([data-method="GET"][data-path="/"])`, chromedp.ByQuery))
	p.Until("the exchange is shown",
		`document.querySelectorAll("#past tr td.number").length === `+strconv.Itoa(exchange))
	p.Until("the reply is in view", replyInView)
	p.Do(chromedp.Text("#request", &request, chromedp.ByQuery), chromedp.Text("#reply", &reply, chromedp.ByQuery),
		chromedp.Text("#verdict", &verdict, chromedp.ByQuery))
	return request, reply, verdict
}

// TestPageInABrowser tries each path from the page and checks that request and reply are shown, on a phone and on a
// desktop, in light and dark mode. Text from a server stays text (ms-D20), and the page makes requests to the
// gateway only.
func TestPageInABrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	const evil = `<img src=x onerror="document.title='owned'"><b class=evil>boo</b>`
	to := &way{log: func(_ context.Context, e logging.Entry) error {
		if e.Name == "fail" {
			return wirelab.Errorf(wirelab.Conflict, "%s", evil)
		}
		return nil
	}}
	o := all(to)
	o.Absent["log-hermes-direct"] = evil
	address, _ := serve(t, handler(t, o), gateway.Timeouts{})
	p := browsertest.Open(browsertest.Start(t), t, "http://"+address+"/")
	p.Do(chromedp.Navigate("http://" + address + "/"))
	p.Until("the state", `document.querySelector("#state.good")`)
	var state string
	p.Do(chromedp.Text("#state", &state, chromedp.ByQuery))
	if state != "8 of 9 paths work" {
		t.Errorf("state %q", state)
	}
	known := gateway.Known()
	for i, name := range known[:len(known)-1] {
		request, reply, verdict := press(p, "/"+name, i+1)
		if !strings.HasPrefix(request, "POST /"+name+"\n") ||
			!strings.Contains(request, `"hello from the gateway’s page"`) ||
			!strings.Contains(reply, "HTTP 202 Accepted") || !strings.Contains(reply, `"message": "logged`) ||
			verdict != "202" {
			t.Errorf("%s: %q, %q, %q", name, request, reply, verdict)
		}
	}
	if got := len(to.arrived()); got != len(known)-1 {
		t.Errorf("%d entries arrived", got)
	}
	for _, complaint := range p.Complaints() {
		t.Error(complaint)
	}
	// Failures are shown as what they are. A browser notes each in its console,
	// so that its complaints are of no use from here on.
	p.Do(chromedp.SetValue("#name", "fail", chromedp.ByQuery),
		chromedp.Evaluate(`document.getElementById("name").dispatchEvent(new Event("input"))`, nil))
	if _, reply, verdict := press(p, "/log-grpc", len(known)); !strings.Contains(reply, `onerror=`) ||
		verdict != "409" {
		t.Errorf("a failure: %q, %q", reply, verdict)
	}
	p.Do(chromedp.SetValue("#body", "{", chromedp.ByQuery))
	if _, reply, verdict := press(p, "/handle", len(known)+1); !strings.Contains(reply, "ends within its JSON value") ||
		verdict != "400" {
		t.Errorf("half a body: %q, %q", reply, verdict)
	}
	if _, reply, verdict := press(p, "/log-hermes-direct", len(known)+2); !strings.Contains(reply,
		"ends within its JSON value") || verdict != "400" {
		t.Errorf("half a body to an unknown address: %q, %q", reply, verdict)
	}
	if _, reply, _ := press(p, "/health", len(known)+3); !strings.Contains(reply, `"path": "log-http"`) {
		t.Errorf("health: %q", reply)
	}
	looks(t, p)
	// On a phone the reply is far below the paths: a press brings it into view.
	p.Look(375, "light")
	p.Do(chromedp.Navigate("http://" + address + "/"))
	for i, path := range []string{"/log-http", "/handle", "/ping"} {
		p.Do(chromedp.Evaluate(`scrollTo(0, 0)`, nil))
		press(p, path, i+1)
	}
}

// looks looks at the page in every width and scheme.
func looks(t *testing.T, p *browsertest.Tab) {
	t.Helper()
	for _, width := range []int{360, 375, 1280, 1440} {
		for _, scheme := range []string{"light", "dark"} {
			var seen sight
			p.Look(width, scheme)
			p.Do(chromedp.Evaluate(lookScript, &seen))
			if seen.Overflow > 0.5 || len(seen.Unnamed) > 0 || seen.Headings != 1 || seen.Injected != 0 {
				t.Errorf("at %d px, %s: %+v", width, scheme, seen)
			}
			if *shots == "" {
				continue
			}
			var picture []byte
			p.Do(chromedp.FullScreenshot(&picture, 100))
			name := filepath.Join(*shots, "gateway-"+strconv.Itoa(width)+"-"+scheme+".png")
			if err := os.WriteFile(name, picture, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	var title string
	p.Do(chromedp.Title(&title))
	if strings.Contains(title, "owned") {
		t.Error("text became script")
	}
}
