// Package browsertest is the Chromium that tests look at pages with. It knows no page.
package browsertest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"wirelab/internal/prereq"
)

// patience is how long a browser has to start, and a page for what it does at once, on a quiet machine.
const patience = 2 * time.Minute

// shared is the browser of a package whose tests [Main] runs.
var shared struct {
	wanted bool // assigned before the first test

	mu      sync.Mutex // guards both
	browser context.Context
	stop    func()
}

// Main runs a package's tests, which look at their pages with one browser, and
// returns the exit code: func TestMain(m *testing.M) { os.Exit(browsertest.Main(m)) }.
// A browser takes seconds to start. It starts with the first test that wants one.
// What a page stores there the next test's finds: for pages that store nothing.
func Main(m *testing.M) int {
	shared.wanted = true
	code := m.Run()
	if shared.stop != nil {
		shared.stop()
	}
	return code
}

// Start returns a browser for as long as the test lasts. Where there is none the test is skipped, and that is
// reported ([prereq]).
func Start(t *testing.T) context.Context {
	t.Helper()
	program := prereq.NeedChromium(t)
	if !shared.wanted {
		ctx, stop := launch(context.WithoutCancel(t.Context()), t, program)
		t.Cleanup(stop)
		return ctx
	}
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.browser == nil {
		shared.browser, shared.stop = launch(context.Background(), t, program)
	}
	return shared.browser
}

// launch starts a browser, which stop ends.
func launch(parent context.Context, t *testing.T, program string) (ctx context.Context, stop func()) {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.Flag("force-color-profile", "srgb"),
		// Its own bound of 20 s is too short for the first start, from a cold disk next to a compiler.
		chromedp.WSURLReadTimeout(patience))
	allocated, end := chromedp.NewExecAllocator(parent, options...)
	silent := func(string, ...any) {} // what it complains of is looked at by [Tab]
	ctx, done := chromedp.NewContext(allocated, chromedp.WithErrorf(silent), chromedp.WithLogf(silent))
	stop = func() {
		done()
		end()
	}
	if err := chromedp.Run(ctx); err != nil {
		stop()
		t.Fatalf("%s does not start: %v", program, err)
	}
	return ctx, stop
}

// Tab is one page in a browser, and what it complained of or asked for.
type Tab struct {
	Ctx context.Context //nolint:containedctx // chromedp's handle of the page

	t          *testing.T
	own        string     // what the addresses it may ask for begin with
	mu         sync.Mutex // guards all below
	complaints []string
}

// Open opens an empty tab of a browser that [Start] started. Its page may ask
// for addresses that begin with own; all else is a complaint.
func Open(ctx context.Context, t *testing.T, own string) *Tab {
	t.Helper()
	ctx, closeTab := chromedp.NewContext(ctx)
	t.Cleanup(closeTab)
	p := &Tab{Ctx: ctx, t: t, own: own}
	chromedp.ListenTarget(ctx, p.listen)
	p.Do(network.Enable(), log.Enable(), runtime.Enable())
	return p
}

// Do does the actions, or fails the test.
func (p *Tab) Do(actions ...chromedp.Action) {
	p.t.Helper()
	if err := chromedp.Run(p.Ctx, actions...); err != nil {
		p.t.Fatal(err)
	}
}

// Until waits for a script to be true of the page that is open and whole by then, for as
// long as a page may take on a busy machine, or fails the test. chromedp's Poll
// asks the document that it knows of when it begins, which just after a
// navigation can be the one before, and gives up when that goes.
func (p *Tab) Until(what, script string) {
	p.t.Helper()
	var err error
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		holds := false
		if err = chromedp.Run(p.Ctx, chromedp.Evaluate("document.readyState === 'complete' && Boolean("+script+")",
			&holds)); err == nil && holds {
			return
		}
	}
	p.t.Fatalf("%s: not within %v; last answer: %v", what, patience, err)
}

// Look gives the page a width, in px, and a scheme: light or dark.
func (p *Tab) Look(width int, scheme string) {
	p.t.Helper()
	p.Do(chromedp.EmulateViewport(int64(width), 900), emulation.SetEmulatedMedia().WithFeatures(
		[]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}))
}

// Complaints are what went wrong on the page so far.
func (p *Tab) Complaints() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.complaints)
}

// listen notes what is wrong, from a goroutine of chromedp's.
func (p *Tab) listen(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		p.complaints = append(p.complaints, e.ExceptionDetails.Error())
	case *runtime.EventConsoleAPICalled:
		p.complaints = append(p.complaints, fmt.Sprintf("console.%s", e.Type))
	case *log.EventEntryAdded:
		p.complaints = append(p.complaints, e.Entry.Text+" "+e.Entry.URL)
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, p.own) && !strings.HasPrefix(e.Request.URL, "data:") {
			p.complaints = append(p.complaints, "asked the network for "+e.Request.URL)
		}
	}
}
