// Package doctest reads README.md and the pages in docs for the tests that run
// what they show: which blocks of code there are, where, and in which language.
// It knows the pages and not the programs: those run the blocks themselves.
package doctest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Block is a piece of code of a page.
type Block struct {
	Page     string // below the root, such as "docs/hermes.md"
	Line     int    // of its first line
	Language string // "sh", "console"; "" where the page names none
	Text     string
}

// Pages are README.md and the pages in docs, by their paths below the root. Decision records are left out: they
// say what was so when they were written. So is the reference, which is generated.
func Pages(root string) ([]string, error) {
	pages := []string{"README.md"}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains([]string{"adr", "reference"}, d.Name()) {
			return filepath.SkipDir
		}
		below, err := filepath.Rel(root, path)
		if filepath.Ext(path) == ".md" {
			pages = append(pages, below)
		}
		return err
	})
	return pages, err
}

// Blocks returns the blocks of all pages.
func Blocks(root string) ([]Block, error) {
	pages, err := Pages(root)
	if err != nil {
		return nil, err
	}
	var all []Block
	for _, page := range pages {
		text, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			return nil, err
		}
		all = append(all, blocks(page, string(text))...)
	}
	return all, nil
}

// In returns the blocks in a language.
func In(language string, all []Block) []Block {
	return slices.DeleteFunc(slices.Clone(all), func(b Block) bool { return b.Language != language })
}

func blocks(page, text string) []Block {
	var all []Block
	var open *Block
	number := 0
	for line := range strings.Lines(text) {
		number++
		fence, isFence := strings.CutPrefix(strings.TrimSpace(line), "```")
		switch {
		case isFence && open == nil:
			open = &Block{Page: page, Line: number + 1, Language: fence}
		case isFence:
			all = append(all, *open)
			open = nil
		case open != nil:
			open.Text += line
		}
	}
	if open != nil { // never closed: the page ends in it
		all = append(all, *open)
	}
	return all
}

var (
	word    = regexp.MustCompile(`'[^']*'|"[^"]*"|[^\s'"]+`)
	comment = regexp.MustCompile(`(^|\s)#.*`)
)

// Lines are the command lines of a block. Those that end with a backslash go on
// in the next one, and comments are left out. Of a transcript only what follows
// a "$ " is a command.
func (b Block) Lines() []string {
	var all []string
	for line := range strings.Lines(strings.ReplaceAll(b.Text, "\\\n", " ")) {
		if b.Language == "console" {
			command, ok := strings.CutPrefix(line, "$ ")
			if !ok {
				continue
			}
			line = command
		}
		if line = strings.TrimSpace(comment.ReplaceAllString(line, "")); line != "" {
			all = append(all, line)
		}
	}
	return all
}

// Commands are the [Block.Lines] as words.
func (b Block) Commands() [][]string {
	var all [][]string
	for _, line := range b.Lines() {
		all = append(all, Words(line))
	}
	return all
}

// Words splits a line as a shell does, as far as the pages need it.
func Words(line string) []string {
	var words []string
	for _, w := range word.FindAllString(line, -1) {
		words = append(words, strings.Trim(w, `'"`))
	}
	return words
}
