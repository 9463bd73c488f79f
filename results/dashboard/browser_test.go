package dashboard

import (
	"flag"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"wirelab/internal/browsertest"
	"wirelab/lab/plan"
	"wirelab/results/store"
)

var (
	shots = flag.String("shots", "", "write pictures of the pages into this folder, to be looked at")
	only  = flag.String("only", "", "of -shots only pages whose name begins so")
)

// tab is a page of a site in a browser.
type tab struct {
	*browsertest.Tab
	t       *testing.T
	address string
}

func openTab(t *testing.T, s *site) *tab {
	t.Helper()
	return &tab{browsertest.Open(browsertest.Start(t), t, s.address+"/"), t, s.address}
}

func (p *tab) open(path string) {
	p.t.Helper()
	p.Do(chromedp.Navigate(p.address + path))
}

// text is that of the first element a selector finds. By a script: a node that chromedp looked up
// first may be gone when it is asked for, just after a page was opened.
func (p *tab) text(selector string) string {
	p.t.Helper()
	var text string
	p.Do(chromedp.Evaluate(fmt.Sprintf("document.querySelector(%q).innerText", selector), &text))
	return text
}

// running is news of an experiment in its third round.
func running(round int) store.Running {
	r := store.StartRunning("r-20261121-220000-00aa", time.Now().Add(-90*time.Second), plan.Plan{
		Name: "quick", Workload: "routeguide", Operation: "GetFeature",
		Arms:  []plan.Arm{{Name: "grpc", Protocol: "grpc"}, {Name: "http1-json", Protocol: "http1-json"}},
		Loads: []plan.Load{{InFlight: 1}},
	}, "lab")
	r.Phase, r.Round, r.RoundsMin, r.RoundsMax, r.Step, r.Steps = "measuring", round, 10, 100, 3, 40
	r.Arm, r.Load, r.Width, r.Goal = "grpc", "1 call in flight", 0.034, 0.02
	r.Elapsed, r.Left = plan.Duration(90*time.Second), plan.Duration(4*time.Minute)
	r.Standing = &store.Standing{
		Round:    round - 1,
		Analysis: []byte(`{"loads":[{"name":"1 in flight","arms":[{"name":"grpc","checks":[{"gate":"answers","ok":true},{"gate":"steal","ok":false,"detail":"the hypervisor took 7 % <b>of</b> the CPUs"}]}]}]}`),
	}
	return r
}

// sight is what a reader would see wrong.
type sight struct {
	Overflow float64
	Unnamed  []string // controls without a name
	Headings int
	Charts   int
	Glued    []string // texts of a table that stand in one line without a space
}

const lookScript = `({
	Overflow: document.scrollingElement.scrollWidth - document.documentElement.clientWidth,
	Unnamed: [...document.querySelectorAll("a, button, input, select, progress")].filter((el) => el.checkVisibility() &&
		!(el.textContent.trim() || el.getAttribute("aria-label") || (el.labels && el.labels.length))).map((el) => el.outerHTML.slice(0, 80)),
	Headings: document.querySelectorAll("h1").length,
	Glued: [...document.querySelectorAll(".results td > small")].filter((el) => el.checkVisibility() && el.previousSibling &&
		!/\s$/.test(el.previousSibling.textContent) && getComputedStyle(el).display === "inline").map((el) => el.parentElement.innerText.slice(0, 80)),
	Charts: [...document.querySelectorAll("svg.chart")].filter((el) => el.checkVisibility()).length,
})`

// A person uses the pages in a browser: filters, opens, compares, looks at the past
// and at running experiments. No page logs an error, asks another server, or is wider
// than its window: on a phone and on a desktop, with the light and the dark colours.
func TestInABrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	results := demo(t)
	s := serve(t, results, "")
	p := openTab(t, s)
	of := run(1, 1).Plan
	past := "/history?" + url.Values{"machine": {"lab"}, "arm": {armText(of, 1)}, "load": {loadText(of, 0)}}.Encode()
	list, err := results.List(t.Context(), store.Filter{Name: "quick", Host: "lab", Limit: 40})
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range []struct {
		path   string
		charts int
	}{{"/", 0}, {past, 1}, {comparing([]string{list[0].ID, list[20].ID}), 0}, {"/running", 0}} {
		p.open(page.path)
		for _, width := range []int{360, 1280} {
			for _, scheme := range []string{"light", "dark"} {
				var seen sight
				p.Look(width, scheme)
				p.Do(chromedp.Evaluate(lookScript, &seen))
				if seen.Overflow > 0.5 || len(seen.Unnamed) > 0 || len(seen.Glued) > 0 || seen.Headings != 1 ||
					seen.Charts != page.charts {
					t.Errorf("%s at %d px, %s: %+v", page.path, width, scheme, seen)
				}
			}
		}
	}
	// Filter, by the form.
	p.open("/")
	p.Do(chromedp.SetValue(`select[name=preset]`, "quick", chromedp.ByQuery),
		chromedp.SetValue(`select[name=machine]`, "lab", chromedp.ByQuery),
		chromedp.Click(`.filters button`, chromedp.ByQuery))
	p.Until("the filtered list", `document.body.innerText.includes("Show all")`)
	if got := p.text(".count"); got != "32 results match" {
		t.Errorf("filtered: %q", got)
	}
	// Tick two, by the keyboard, and compare.
	disabled := false
	p.Do(chromedp.Evaluate(`document.querySelector("#compare button").disabled`, &disabled))
	if !disabled {
		t.Error("nothing is ticked, and it can be compared")
	}
	p.Do(chromedp.Focus(`#t-`+list[0].ID, chromedp.ByQuery), chromedp.SendKeys(`#t-`+list[0].ID, " ", chromedp.ByQuery),
		chromedp.SendKeys(`#t-`+list[2].ID, " ", chromedp.ByQuery), chromedp.Click(`#compare button`, chromedp.ByQuery))
	p.Until("the comparison", `document.querySelector(".badge")`)
	if got := p.text(".badge"); got != "comparable" {
		t.Errorf("compared: %q", got)
	}
	// Open a result from there; its report is whole.
	p.Do(chromedp.Click(`.heads a`, chromedp.ByQuery))
	p.Until("the report", `document.querySelector("#verdict")`)
	if got := p.text(".beside"); !strings.Contains(got, "All results") {
		t.Errorf("the line above the report is %q", got)
	}
	// A point of the past has a hint, and leads to its result.
	var hint string
	p.Look(1280, "light")
	p.open(past)
	p.Do(chromedp.Evaluate(`(() => {
		const dot = document.querySelector("svg.wide [data-to]");
		dot.dispatchEvent(new PointerEvent("pointermove", {bubbles: true}));
		return document.getElementById("tip").textContent;
	})()`, &hint))
	if !strings.Contains(hint, "µs") || !strings.Contains(hint, "r-2026") {
		t.Errorf("hint %q", hint)
	}
	p.live(results)
	for _, complaint := range p.Complaints() {
		t.Error(complaint)
	}
}

// live looks at an experiment while it begins, continues and ends.
func (p *tab) live(results store.Store) {
	p.t.Helper()
	p.open("/running")
	p.Until("the stream is open", `document.getElementById("stream").textContent === "Live."`)
	for round := 3; round < 5; round++ {
		if err := results.Report(p.t.Context(), running(round)); err != nil {
			p.t.Fatal(err)
		}
		p.Until("its round",
			fmt.Sprintf(`document.querySelector(".running [data-f=rounds]")?.textContent.startsWith("round %d of 10 to 100") && document.getElementById("idle").hidden`, round))
	}
	p.Until("its checks, as text",
		`document.querySelector(".running [data-f=failed] li").textContent.includes("<b>of</b>")`)
	if err := results.Forget(p.t.Context(), running(3).ID); err != nil {
		p.t.Fatal(err)
	}
	p.Until("its end", `!document.querySelector(".running") && !document.getElementById("idle").hidden`)
}

// TestLook writes pictures, for people; it checks nothing.
func TestLook(t *testing.T) {
	if *shots == "" {
		t.Skip("without -shots there is no folder for the pictures")
	}
	results := demo(t)
	if err := results.Report(t.Context(), running(3)); err != nil {
		t.Fatal(err)
	}
	s := serve(t, results, "")
	list, err := results.List(t.Context(), store.Filter{Name: "quick", Host: "", Limit: 50})
	if err != nil {
		t.Fatal(err)
	}
	p := openTab(t, s)
	for name, path := range map[string]string{
		"list": "/", "filtered": "/?protocol=connect", "empty": "/?workload=none",
		"compare":   comparing([]string{list[20].ID, list[15].ID, list[2].ID}),
		"elsewhere": comparing([]string{list[20].ID, list[0].ID}),
		"history": "/history?" +
			url.Values{
				"machine": {"lab"}, "arm": {armText(run(1, 1).Plan, 1)},
				"load": {loadText(run(1, 1).Plan, 0)},
			}.Encode(),
		"history-bytes": "/history?machine=lab&metric=wire-sent", "running": "/running", "error": "/nothing",
		"report": "/results/" + list[3].ID,
	} {
		if !strings.HasPrefix(name, *only) {
			continue
		}
		for _, width := range []int{360, 1280} {
			for _, scheme := range []string{"light", "dark"} {
				p.Look(width, scheme)
				p.open(path)
				var picture []byte
				p.Do(chromedp.FullScreenshot(&picture, 100))
				if err := os.WriteFile(filepath.Join(*shots, fmt.Sprintf("%s-%d-%s.png", name, width, scheme)), picture,
					0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}
