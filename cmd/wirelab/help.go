package main

import (
	"embed"
	"strings"
)

// helpFiles are the longer texts of the help, which are no code.
//
//go:embed help/*.txt
var helpFiles embed.FS

// helpText is the text in help/NAME.txt. It panics if there is none, which is a mistake in the source.
func helpText(name string) string {
	text, err := helpFiles.ReadFile("help/" + name + ".txt")
	if err != nil {
		panic(err) // the name and the file are both in the source
	}
	return strings.TrimSuffix(string(text), "\n")
}
