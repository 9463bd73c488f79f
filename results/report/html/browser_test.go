package html_test

import (
	"bytes"
	"context"
	_ "embed" // the script that looks at a page
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"wirelab/internal/browsertest"
	"wirelab/lab/result"
	"wirelab/lab/result/resulttest"
	"wirelab/results/report/html"
)

//go:embed testdata/check.js
var check string

// sight is what check.js found.
type sight struct {
	Charts, Figures, Labels int
	Empty                   []string
	Overlaps                []string
	Outside                 []string
	Overflow                float64
	Background              string
}

// TestMain has all tests look with one browser.
func TestMain(m *testing.M) { os.Exit(browsertest.Main(m)) }

// openTab opens a page file.
func openTab(ctx context.Context, t *testing.T, file string, width int, dark bool) *browsertest.Tab {
	t.Helper()
	p := browsertest.Open(ctx, t, "file://")
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	p.Look(width, scheme)
	p.Do(chromedp.Navigate((&url.URL{Scheme: "file", Path: file}).String()))
	return p
}

// write writes a result's page to a file.
func write(t *testing.T, r *result.Result) (file string, size int) {
	t.Helper()
	var page bytes.Buffer
	if err := html.Write(&page, r); err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(file, page.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return file, page.Len()
}

// pages are the results whose pages are looked at, with how many charts each
// has at least.
func pages() map[string]struct {
	r      *result.Result
	charts int
} {
	return map[string]struct {
		r      *result.Result
		charts int
	}{
		"two arms":                {resulttest.Two(), 8},
		"two loads":               {resulttest.Closed(), 14},
		"twelve arms":             {resulttest.Wide(), 8},
		"five operations":         {resulttest.Operations(), 35},
		"refused arms":            {resulttest.Troubled(), 7},
		"a rising rate":           {resulttest.Rising(), 3},
		"a curve":                 {resulttest.Curves(), 3},
		"capacities":              {resulttest.Capacity(), 1},
		"one arm":                 {resulttest.Certified(), 5},
		"an open loop":            {resulttest.Open(), 12},
		"nothing":                 {resulttest.Short(0), 0},
		"few rounds":              {resulttest.Short(4), 10},
		"long names":              {resulttest.LongNames(), 7},
		"messages":                {resulttest.Messages(), 8},
		"scenarios":               {resulttest.MessageScenarios(), 20},
		"streams":                 {resulttest.Streams(), 9},
		"a database":              {resulttest.Ledger(), 14},
		"a database elsewhere":    {resulttest.LedgerElsewhere(), 14},
		"thirty-three long names": {resulttest.Crowded(), 7},
		"a pipeline":              {resulttest.Pipeline(), 16},
		"factors": {resulttest.Factorial(5,
			resulttest.Effects{"HTTP/2": 0.1, "gRPC": 0.25, "Avro": -0.1, "TLS": 0.08}), 9},
	}
}

// At every width and in both schemes: all charts drew, no words lie over
// others, nothing is wider than the page, nothing complains and no network is
// asked.
func TestPagesInABrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	ctx := browsertest.Start(t)
	for name, c := range rendered() {
		t.Run(name, func(t *testing.T) {
			if c.err != nil {
				t.Fatal(c.err)
			}
			file := filepath.Join(t.TempDir(), "page.html")
			if err := os.WriteFile(file, c.text, 0o600); err != nil {
				t.Fatal(err)
			}
			p := openTab(ctx, t, file, 375, false)
			backgrounds := map[string]bool{}
			for _, width := range []int{375, 500, 768, 1440} {
				for _, scheme := range []string{"light", "dark"} {
					var s sight
					var folded, whole float64
					err := chromedp.Run(
						p.Ctx, chromedp.EmulateViewport(int64(width), 900),
						emulation.SetEmulatedMedia().
							WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}),
						chromedp.Evaluate(unfold(false), &folded),
						chromedp.Evaluate(unfold(true), &whole),
						chromedp.Evaluate(check, &s),
					)
					if err != nil {
						t.Fatal(err)
					}
					if folded > 0.6*whole && c.charts >= 7 {
						t.Errorf("%d px: the page is %v px high before anything is opened, and %v in all", width,
							folded, whole)
					}
					s.judge(t, fmt.Sprintf("%d px, %s", width, scheme), c.charts)
					backgrounds[s.Background] = true
				}
			}
			if len(backgrounds) != 2 {
				t.Errorf("dark and light have the backgrounds %v", backgrounds)
			}
			for _, complaint := range p.Complaints() {
				t.Error(complaint)
			}
		})
	}
}

// unfold opens, or closes, what readers may open, and gives the page's height.
func unfold(open bool) string {
	return fmt.Sprintf(`document.querySelectorAll("details.more").forEach((d) => { d.open = %v }); document.documentElement.scrollHeight`, open)
}

// judge tells what is wrong with a page.
func (s sight) judge(t *testing.T, where string, charts int) {
	t.Helper()
	if s.Charts < charts {
		t.Errorf("%s: %d charts are seen, there should be at least %d", where, s.Charts, charts)
	}
	if s.Labels < 20 {
		t.Errorf("%s: only %d lines of text were found: the check looks at nothing", where, s.Labels)
	}
	if s.Overflow > 0.5 {
		t.Errorf("%s: the page is %v px wider than its window", where, s.Overflow)
	}
	for what, list := range map[string][]string{
		"did not draw": s.Empty, "lie over each other": s.Overlaps,
		"outside": s.Outside,
	} {
		if len(list) > 0 {
			t.Errorf("%s: %d %s:\n%s", where, len(list), what, strings.Join(list[:min(len(list), 12)], "\n"))
		}
	}
}

// Hints come by keyboard, and the switch turns the page dark.
func TestKeyboardAndSwitch(t *testing.T) {
	file, _ := write(t, resulttest.Closed())
	p := openTab(browsertest.Start(t), t, file, 1100, false)
	var before, after, tip, live string
	err := chromedp.Run(
		p.Ctx,
		chromedp.Evaluate(unfold(true), nil),
		chromedp.Evaluate(`document.querySelector("#fig-spectrum-1 svg.wide").focus(); getComputedStyle(document.body).backgroundColor`, &before),
		chromedp.Evaluate(`document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight", bubbles: true}))`, nil),
		chromedp.Evaluate(`document.getElementById("tip").hidden ? "" : document.getElementById("tip").textContent`,
			&tip),
		chromedp.Evaluate(`document.getElementById("live").textContent`, &live),
		chromedp.Evaluate(`document.getElementById("theme").click(); getComputedStyle(document.body).backgroundColor`,
			&after),
	)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"http1-proto", "95 % CI", "30 rounds", "checks passed"} {
		if !strings.Contains(tip, want) {
			t.Errorf("the hint lacks %q: %q", want, tip)
		}
	}
	if live != tip {
		t.Errorf("a screen reader gets %q", live)
	}
	if before == after {
		t.Errorf("the switch leaves the background %s", before)
	}
	if all := p.Complaints(); len(all) > 0 {
		t.Errorf("%q", all)
	}
}

// The page of twelve arms in 30 rounds is small. The time it took to draw is
// logged and not judged, since the machine may be busy.
func TestSizeAndTime(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	began := time.Now()
	file, size := write(t, resulttest.Wide())
	written := time.Since(began)
	const most = 2_000_000
	if size > most {
		t.Errorf("the page of 12 arms in 30 rounds has %d bytes, more than %d", size, most)
	}
	p := openTab(browsertest.Start(t), t, file, 1440, false)
	var times struct{ Load, Paint float64 }
	err := chromedp.Run(p.Ctx, chromedp.Evaluate(`new Promise((done) => setTimeout(() => {
		const paint = performance.getEntriesByName("first-contentful-paint")[0];
		done({Load: performance.getEntriesByType("navigation")[0].loadEventEnd, Paint: paint ? paint.startTime : 0});
	}, 100))`, &times, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("12 arms in 30 rounds: %d bytes, written in %v; loaded %.0f ms and first painted %.0f ms after the browser "+
		"began (the aim is 1,000 ms)", size, written.Round(time.Millisecond), times.Load, times.Paint)
}
