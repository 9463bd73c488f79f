package main

import (
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/chromedp/chromedp"

	"wirelab/internal/browsertest"
)

var shots = flag.String("shots", "", "write pictures of the console into this folder, to be looked at")

// The console is where the HTTP API is, and shows a real node what it shows of the one in memory: what its own
// test does not see is which node tells what.
func TestConsoleOfANode(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	node := start(t, 1, dev...).nodes[0]
	must(t, nil, "", "pub", "greetings", "hello", "--create", "--server", node.GRPC)
	p := browsertest.Open(browsertest.Start(t), t, "http://"+node.HTTP+"/")
	p.Look(1280, "light")
	p.Do(chromedp.Navigate("http://" + node.HTTP + "/console"))
	press := func(at string) { p.Do(chromedp.Evaluate(`document.querySelector('`+at+`').click()`, nil)) }
	says := func(at, text string) {
		t.Helper()
		p.Until(at+" says "+text,
			`(document.querySelector('`+at+`')?.textContent ?? "").includes(`+strconv.Quote(text)+`)`)
	}
	says("#state.good", "leads 1 node")
	says("#members", "this one")
	says("#topic-rows", "greetings")
	press(`#topic-rows tr:has([aria-label="Delete greetings…"]) .link`)
	press("#send")
	says("#published.good", "stored at offset 1")
	p.Do(chromedp.Evaluate(`{
		const from = document.querySelector("#from");
		from.value = "group";
		from.dispatchEvent(new Event("change"));
		document.querySelector("#group").value = "console";
	}`, nil))
	press("#listen")
	says("#listening.good", "2 messages came")
	says("#messages", "hello from the console")
	says("#group-rows", "console")
	press("#ack-all")
	p.Until("the group is through", `document.querySelector("#group-rows").rows[0].cells[1].textContent === "0"`)
	if *shots != "" {
		var picture []byte
		p.Do(chromedp.FullScreenshot(&picture, 100))
		if err := os.WriteFile(filepath.Join(*shots, "console-node.png"), picture, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, complaint := range p.Complaints() {
		t.Error(complaint)
	}
}

// With a dead node the leader's console is not green, and shows no figure of that node.
func TestConsoleOfAClusterWithADeadNode(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	browser := browsertest.Start(t)
	t.Setenv(playHermes, "yes")
	l := start(t, 3, "cluster", "--nodes", "3", "--log-level", "error")
	must(t, l.at(), "", "pub", "orders", "one", "--create")
	must(t, l.at(), "", "cluster", "transfer", "1")
	victim, err := os.FindProcess(l.nodes[2].PID)
	if err != nil {
		t.Fatal(err)
	}
	if err := victim.Kill(); err != nil {
		t.Fatal(err)
	}
	p := browsertest.Open(browser, t, "http://"+l.nodes[0].HTTP+"/")
	p.Look(1280, "light")
	p.Do(chromedp.Navigate("http://" + l.nodes[0].HTTP + "/console"))
	p.Until("the header says it",
		`(document.querySelector("#state.warn")?.textContent ?? "").includes("2 of 3 nodes reached")`)
	p.Until("the dead node has no figure", `document.querySelector("#members").rows[2].cells[3].textContent === "–"`)
	p.Until("the dead node is marked, and no other is",
		`[...document.querySelector("#members").rows].map((row) => row.classList.contains("dead")).join() === "false,false,true"`)
	if *shots != "" {
		var picture []byte
		p.Do(chromedp.FullScreenshot(&picture, 100))
		if err := os.WriteFile(filepath.Join(*shots, "console-dead.png"), picture, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
