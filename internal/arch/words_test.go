package arch

import (
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// The project had a language of its own once. The words below mark it, and lines that are too wide to read.
// testdata/words.txt says for each folder at the root how many of each are left: a number there may only fall.
// A folder that is not in it has none.

var updateWords = flag.Bool("update", false, "write testdata/words.txt anew")

const wordsFile = "testdata/words.txt"

// placesShown bounds what a failure shows of a folder.
const placesShown = 30

// columns is the width of a line, a tab being one.
const columns = 120

// dialect are the words that mark sentences of the old language, in comments and texts.
var dialect = regexp.MustCompile(`(?i)\b(nobody|somebody|whoever|anybody|everybody|meanwhile|beside|as it is|` +
	`of its own|(?:is|are) told|(?:tells?|told) of|goes on)\b`)

// whatIs finds "what is" and the word before it. After a verb such as tell it asks, and is plain; elsewhere it
// stands for a noun that the sentence does not name.
var (
	whatIs = regexp.MustCompile(`(?i)([a-z,;:.(]*)\s*\bwhat is\b`)
	asks   = regexp.MustCompile(`(?i)^(says?|said|tells?|told|knows?|shows?|shown|asks?|asked|sees?|reports?|notes?|` +
		`decides?|judges?|about|learns?|looks?|finds?|proves?|matters?)$`)
)

// oldNames are parts of names that the field calls otherwise: docs/adr/0066-words.md has the table.
var oldNames = []string{
	"acquaintance", "audience", "bury", "camel", "conductor", "crossing", "debut", "deed", "deeds", "door", "doors",
	"entrant", "fate", "handover", "hog", "keeper", "lane", "lanes", "outlet", "podium", "sitting", "sittings",
	"trouble", "twin", "twins", "upkeep", "witness",
}

// ordinary are those of them that a sentence may have with their usual meaning.
var ordinary = []string{"crossing", "fate", "hog", "trouble", "twin", "witness"}

// left counts the marks in a folder.
type left struct {
	dialect, names, wide int
	places               []string // of them all
}

func (l *left) sentence(at, text string) {
	found := dialect.FindAllString(text, -1)
	for _, m := range whatIs.FindAllStringSubmatch(text, -1) {
		if !asks.MatchString(m[1]) {
			found = append(found, m[0])
		}
	}
	l.dialect += len(found)
	for _, f := range found {
		l.places = append(l.places, at+": "+f)
	}
}

// parts cuts a name where a capital begins a word.
func parts(name string) (words []string) {
	begin := 0
	for i, r := range name {
		if i > begin && (unicode.IsUpper(r) && !unicode.IsUpper(rune(name[i-1])) || r == '_') {
			words = append(words, name[begin:i])
			begin = i
		}
	}
	return append(words, name[begin:])
}

func (l *left) name(at, name string) {
	for _, w := range parts(name) {
		if slices.Contains(oldNames, strings.ToLower(strings.Trim(w, "_"))) {
			l.names++
			l.places = append(l.places, at+": "+name)
		}
	}
}

func (l *left) lines(at, text string) {
	raw := false // inside of a text between backquotes, which cannot be broken
	number := 0
	for line := range strings.Lines(text) {
		number++
		began := raw
		raw = raw != (strings.Count(line, "`")%2 == 1)
		if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > columns && !began && !strings.Contains(line, "`") &&
			!strings.Contains(line, "://") && !strings.HasPrefix(line, "//go:") {
			l.wide++
			l.places = append(l.places, fmt.Sprintf("%s:%d: above %d columns", at, number, columns))
		}
	}
}

func (l *left) source(f file) {
	at := func(p token.Pos) string { return f.fset.Position(p).String() }
	for _, group := range f.ast.Comments {
		text := strings.Fields(group.Text())
		l.sentence(at(group.Pos()), strings.Join(text, " "))
		for _, word := range text {
			if word = strings.ToLower(strings.Trim(word, "[](),.;:\"")); !slices.Contains(ordinary, word) {
				l.name(at(group.Pos()), word)
			}
		}
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			l.name(at(n.Pos()), n.Name)
		case *ast.BasicLit:
			if n.Kind == token.STRING {
				l.sentence(at(n.Pos()), n.Value)
			}
		}
		return true
	})
}

// pages counts the sentences of a folder's texts that are not Go.
func pages(t *testing.T, count func(folder string) *left) {
	t.Helper()
	err := filepath.WalkDir("../..", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := entry.Name()
		if entry.IsDir() {
			if name != "../.." && (strings.HasPrefix(base, ".") || base == "testdata" || base == "node_modules") {
				return filepath.SkipDir
			}
			return nil
		}
		if !slices.Contains([]string{".md", ".proto", ".graphqls"}, filepath.Ext(base)) {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		name = strings.TrimPrefix(filepath.ToSlash(name), "../../")
		count(rootOf(name)).sentence(name, strings.Join(strings.Fields(string(text)), " "))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// rootOf is the folder that a file is counted for: one at the root, or a program.
func rootOf(path string) string {
	steps := strings.Split(path, "/")
	switch {
	case len(steps) == 1:
		return "."
	case steps[0] == "cmd" && len(steps) > 2:
		return "cmd/" + steps[1]
	default:
		return steps[0]
	}
}

func counted(t *testing.T) map[string]*left {
	t.Helper()
	all := map[string]*left{}
	count := func(folder string) *left {
		if all[folder] == nil {
			all[folder] = &left{}
		}
		return all[folder]
	}
	for _, f := range load(t) {
		if f.generated || f.path == "internal/arch/words_test.go" {
			continue
		}
		folder := rootOf(f.path)
		text, err := os.ReadFile("../../" + f.path)
		if err != nil {
			t.Fatal(err)
		}
		count(folder).source(f)
		count(folder).lines(f.path, string(text))
	}
	pages(t, count)
	return all
}

const wordsHead = "# folder, marks of the old dialect, old names, lines above 120 columns that are left: each may " +
	"only fall.\n" +
	"# Once sentences are mended: go test ./internal/arch -run TestWords -update\n"

func TestWords(t *testing.T) {
	t.Parallel()
	now := counted(t)
	if *updateWords {
		text := wordsHead
		for _, folder := range slices.Sorted(func(yield func(string) bool) {
			for f := range now {
				if !yield(f) {
					return
				}
			}
		}) {
			if l := now[folder]; len(l.places) > 0 {
				text += fmt.Sprintf("%s %d %d %d\n", folder, l.dialect, l.names, l.wide)
			}
		}
		if err := os.WriteFile(wordsFile, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(wordsFile)
	if err != nil {
		t.Fatal(err)
	}
	may := map[string]left{}
	for line := range strings.Lines(string(text)) {
		var folder string
		var l left
		if strings.HasPrefix(line, "#") {
			continue
		}
		if _, err := fmt.Sscan(line, &folder, &l.dialect, &l.names, &l.wide); err != nil {
			t.Fatalf("%s: %q: %v", wordsFile, line, err)
		}
		may[folder] = l
	}
	for folder, l := range now {
		was, more := may[folder], false
		for _, c := range []struct {
			what     string
			now, may int
		}{
			{"sentences of the old dialect", l.dialect, was.dialect},
			{"old names", l.names, was.names},
			{"lines above 120 columns", l.wide, was.wide},
		} {
			switch cmp.Compare(c.now, c.may) {
			case 1:
				t.Errorf("%s has %d %s, and may have %d", folder, c.now, c.what, c.may)
				more = true
			case -1:
				t.Errorf("%s has %d %s, less than %d: write it down with -update", folder, c.now, c.what, c.may)
			}
		}
		if more {
			t.Logf("the first marks in %s:\n%s", folder, strings.Join(l.places[:min(len(l.places), placesShown)], "\n"))
		}
	}
}

// What is counted, and what is not: without this a pattern that finds nothing would pass for a clean house.
func TestWordsAreFound(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"It waits for nobody.": 1, "It is told so, and goes on.": 2, "The node tells what is wrong.": 0,
		"It keeps what is stored.": 1, "What is stored stays.": 1, "A node leads.": 0, "besides": 0,
		"The log tells of it.": 1, "Everybody waits.": 1, "It is told of both.": 1, "It told the leader.": 0,
	} {
		var l left
		if l.sentence("", text); l.dialect != want {
			t.Errorf("%q: %d, want %d", text, l.dialect, want)
		}
	}
	for name, want := range map[string]int{"openDoor": 1, "Door": 1, "doorkeeper": 0, "laneKey": 1, "plan": 0} {
		var l left
		if l.name("", name); l.names != want {
			t.Errorf("%s: %d, want %d", name, l.names, want)
		}
	}
	var l left
	wide := strings.Repeat("x", columns+1)
	if l.lines("", wide+"\n\t// "+wide+"\n`"+wide+"`\n"); l.wide != 2 {
		t.Errorf("%d wide lines, want 2", l.wide)
	}
}
