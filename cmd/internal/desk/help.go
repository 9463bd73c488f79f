package desk

import (
	"embed"
	"strings"
)

// helpFiles has the longer help texts.
//
//go:embed help/*.txt
var helpFiles embed.FS

// HelpText returns the text in help/NAME.txt. It panics if there is none, which is a mistake in the source.
func HelpText(name string) string {
	text, err := helpFiles.ReadFile("help/" + name + ".txt")
	if err != nil {
		panic(err) // the name and the file are both in the source
	}
	return strings.TrimSuffix(string(text), "\n")
}
