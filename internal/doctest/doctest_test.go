package doctest_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"wirelab/internal/doctest"
)

const root = "../.."

func all(t *testing.T) []doctest.Block {
	t.Helper()
	blocks, err := doctest.Blocks(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(blocks) < 40 {
		t.Fatalf("only %d blocks are found: the wrong thing is read", len(blocks))
	}
	return blocks
}

// Every block says what it is. What a reader types is "sh" and is run by tests;
// a transcript, or what a test cannot run, is "console". Servers in other languages
// are run by the tests of package launch.
func TestBlocksHaveALanguage(t *testing.T) {
	t.Parallel()
	for _, b := range all(t) {
		if !slices.Contains([]string{"sh", "console", "text", "yaml", "json", "sql", "go", "graphql", "bash", "python"},
			b.Language) {
			t.Errorf("%s:%d: a block in %q: shell commands are sh, transcripts console, other text is text", b.Page,
				b.Line,
				b.Language)
		}
		if len(b.Text) == 0 {
			t.Errorf("%s:%d: an empty block", b.Page, b.Line)
		}
	}
}

// Every shell command is one that a test runs: those of the two programs in the
// tests of cmd, make in this one, and what goes with them.
func TestShellCommandsAreKnown(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range doctest.In("sh", all(t)) {
		for _, words := range b.Commands() {
			switch words[0] {
			case "bin/wirelab", "bin/hermes", "curl", "grpcurl", "kill":
			case "python3": // a server of the examples, which the lines after it call
				if len(words) < 2 || !strings.HasPrefix(words[1], "examples/") {
					t.Errorf("%s:%d: no test runs %q", b.Page, b.Line, words)
				}
			case "make":
				for _, target := range words[1:] {
					if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(target) + `:`).Match(makefile) {
						t.Errorf("%s:%d: make has no target %s", b.Page, b.Line, target)
					}
				}
			default:
				t.Errorf("%s:%d: no test runs %q; a block that cannot be run is console", b.Page, b.Line, words[0])
			}
		}
	}
}

var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// links are where a page's text leads; its code has none.
func links(text string) []string {
	text = regexp.MustCompile("(?s)```.*?```").ReplaceAllString(text, "")
	var all []string
	for _, m := range link.FindAllStringSubmatch(text, -1) {
		if !strings.Contains(m[1], "://") {
			all = append(all, m[1])
		}
	}
	return all
}

// Links between pages lead to files that are there, and to headings in them.
func TestLinksLead(t *testing.T) {
	t.Parallel()
	pages, err := doctest.Pages(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(pages, "CONTRIBUTING.md") {
		for _, at := range links(read(t, page)) {
			file, heading, _ := strings.Cut(at, "#")
			to := filepath.Join(filepath.Dir(page), file)
			if file == "" {
				to = page
			}
			if _, err := os.Stat(filepath.Join(root, to)); err != nil {
				t.Errorf("%s links to %s, which is not there", page, at)
				continue
			}
			if heading != "" && !slices.Contains(headings(read(t, to)), heading) {
				t.Errorf("%s links to %s, which has no such heading", page, at)
			}
		}
	}
}

func read(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// headings are the names by which a page's headings are linked to.
func headings(text string) []string {
	var all []string
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		name := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(m[1]), "")
		all = append(all, strings.ReplaceAll(name, " ", "-"))
	}
	return all
}

// old are words that pages and help texts have no more: there is a usual word for each.
var old = regexp.MustCompile(`(?i)\b(nobody|somebody|whoever|anybody|everybody|meanwhile|beside|(is|are) told|` +
	`(tells?|told) of|goes on|of its own|as it is)\b`)

// Pages and help texts use the usual word. What a program printed is left unchanged.
func TestPagesUseTheUsualWord(t *testing.T) {
	t.Parallel()
	pages, err := doctest.Pages(root)
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")
	for _, page := range append(pages, "CONTRIBUTING.md") {
		for _, word := range old.FindAllString(blocks.ReplaceAllString(read(t, page), ""), -1) {
			t.Errorf("%s says %q: use the usual word", page, word)
		}
	}
	for _, page := range []string{"docs/reference/wirelab.md", "docs/reference/hermes.md"} {
		for _, word := range old.FindAllString(read(t, page), -1) {
			t.Errorf("%s says %q: use the usual word in the help text", page, word)
		}
	}
}

// README is short, and its picture is one that GitHub can show: small, whole,
// for light and dark, and without anything to load.
func TestReadme(t *testing.T) {
	t.Parallel()
	if n := strings.Count(read(t, "README.md"), "\n"); n > 120 {
		t.Errorf("README.md has %d lines, more than 120", n)
	}
	picture := read(t, "docs/report.svg")
	if len(picture) > 100_000 || !strings.HasPrefix(picture, "<svg ") || !strings.HasSuffix(picture, "</svg>\n") {
		t.Errorf("the picture has %d bytes and begins with %.20q", len(picture), picture)
	}
	for _, want := range []string{"prefers-color-scheme: dark", "95 % CI"} {
		if !strings.Contains(picture, want) {
			t.Errorf("the picture lacks %q", want)
		}
	}
}

// Every page can be found from the index, or from a page that it leads to.
func TestPagesAreReachable(t *testing.T) {
	t.Parallel()
	pages, err := doctest.Pages(root)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	var visit func(page string)
	visit = func(page string) {
		if seen[page] || filepath.Ext(page) != ".md" {
			return
		}
		seen[page] = true
		for _, at := range links(read(t, page)) {
			if file, _, _ := strings.Cut(at, "#"); file != "" {
				visit(filepath.Join(filepath.Dir(page), file))
			}
		}
	}
	visit("docs/README.md")
	for _, page := range pages {
		if page != "README.md" && !seen[page] {
			t.Errorf("no link leads from docs/README.md to %s", page)
		}
	}
}
