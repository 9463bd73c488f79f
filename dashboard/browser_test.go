package dashboard

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"wirelab/plan"
	"wirelab/store"
)

var shots = flag.String("shots", "", "write pictures of the pages into this folder, to be looked at")

// browser starts a browser that lives as long as the test. A machine without
// one fails, and is told what to do.
func browser(t *testing.T) context.Context {
	t.Helper()
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			program = path
			break
		}
	}
	if program == "" {
		t.Fatal("there is no Chromium here, so no page can be looked at; scripts/browser installs it (as root: apt-get install --no-install-recommends chromium)")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.Flag("force-color-profile", "srgb"))
	allocated, stop := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), options...)
	ctx, done := chromedp.NewContext(allocated, chromedp.WithErrorf(t.Logf), chromedp.WithLogf(func(string, ...any) {}))
	t.Cleanup(func() {
		done()
		stop()
	})
	if err := chromedp.Run(ctx); err != nil {
		t.Fatalf("%s does not start: %v", program, err)
	}
	return ctx
}

// tab is one page in a browser, and what it complained of or asked for.
type tab struct {
	ctx    context.Context
	t      *testing.T
	own    string     // the address that it may ask
	mu     sync.Mutex // guards all below
	errors []string
}

func openTab(parent context.Context, t *testing.T, s *site) *tab {
	t.Helper()
	ctx, closeTab := chromedp.NewContext(parent)
	t.Cleanup(closeTab)
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	t.Cleanup(cancel)
	p := &tab{ctx: ctx, t: t, own: s.address + "/"}
	chromedp.ListenTarget(ctx, p.listen)
	p.do(network.Enable(), log.Enable(), runtime.Enable())
	return p
}

func (p *tab) do(actions ...chromedp.Action) {
	p.t.Helper()
	if err := chromedp.Run(p.ctx, actions...); err != nil {
		p.t.Fatal(err)
	}
}

func (p *tab) listen(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		p.errors = append(p.errors, e.ExceptionDetails.Error())
	case *runtime.EventConsoleAPICalled:
		p.errors = append(p.errors, fmt.Sprintf("console.%s", e.Type))
	case *log.EventEntryAdded:
		p.errors = append(p.errors, e.Entry.Text+" "+e.Entry.URL)
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, p.own) && !strings.HasPrefix(e.Request.URL, "data:") {
			p.errors = append(p.errors, "asked the network for "+e.Request.URL)
		}
	}
}

func (p *tab) complaints() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string{}, p.errors...)
}

func (p *tab) open(path string) {
	p.t.Helper()
	p.do(chromedp.Navigate(strings.TrimSuffix(p.own, "/") + path))
}

func (p *tab) look(width int, scheme string) {
	p.t.Helper()
	p.do(chromedp.EmulateViewport(int64(width), 900), emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}))
}

// text is that of the first element a selector finds.
func (p *tab) text(selector string) string {
	p.t.Helper()
	var text string
	p.do(chromedp.Text(selector, &text, chromedp.ByQuery))
	return text
}

// running is news of an experiment in its third round.
func running(round int) store.Running {
	r := store.StartRunning("r-20261121-220000-00aa", time.Now().Add(-90*time.Second), plan.Plan{
		Name: "quick", Workload: "routeguide", Operation: "GetFeature",
		Arms: []plan.Arm{{Name: "grpc", Protocol: "grpc"}, {Name: "http1-json", Protocol: "http1-json"}}, Loads: []plan.Load{{InFlight: 1}},
	}, "lab")
	r.Phase, r.Round, r.RoundsMin, r.RoundsMax, r.Step, r.Steps = "measuring", round, 10, 100, 3, 40
	r.Arm, r.Load, r.Width, r.Goal = "grpc", "1 call in flight", 0.034, 0.02
	r.Elapsed, r.Left = plan.Duration(90*time.Second), plan.Duration(4*time.Minute)
	r.Standing = &store.Standing{Round: round - 1, Analysis: []byte(`{"loads":[{"name":"1 in flight","arms":[{"name":"grpc","checks":[{"gate":"answers","ok":true},{"gate":"steal","ok":false,"detail":"the hypervisor took 7 % <b>of</b> the CPUs"}]}]}]}`)}
	return r
}

// TestLook writes pictures, for people; it checks nothing.
func TestLook(t *testing.T) {
	if *shots == "" {
		t.Skip("without -shots there is nobody to look")
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
	p := openTab(browser(t), t, s)
	for name, path := range map[string]string{
		"list": "/", "filtered": "/?protocol=connect", "empty": "/?workload=none",
		"compare": comparing([]string{list[20].ID, list[15].ID, list[2].ID}), "elsewhere": comparing([]string{list[20].ID, list[0].ID}),
		"history": "/history?arm=grpc", "history-bytes": "/history?arm=grpc&metric=wire-sent", "running": "/running", "error": "/nothing",
		"report": "/results/" + list[3].ID,
	} {
		for _, width := range []int{360, 1280} {
			for _, scheme := range []string{"light", "dark"} {
				p.look(width, scheme)
				p.open(path)
				var picture []byte
				p.do(chromedp.FullScreenshot(&picture, 100))
				if err := os.WriteFile(filepath.Join(*shots, fmt.Sprintf("%s-%d-%s.png", name, width, scheme)), picture, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}
