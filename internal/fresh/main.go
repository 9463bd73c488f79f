// Command fresh tells whether generated code is what the schemas generate, by
// hashes of what goes in and of what came out. The generators are compiled and
// run by "make generate" alone, which has this command write the hashes. It
// knows which files go in and come out, and no generator; the lists of package
// listing are held to by that package's own test.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// sums is the file of the hashes, from the root of the module.
const sums = "internal/fresh/generated.sum"

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string, to io.Writer) error {
	flags := flag.NewFlagSet("fresh", flag.ContinueOnError)
	root := flags.String("root", ".", "the root of the module")
	renew := flags.Bool("write", false, "write the hashes; only what has just generated may do so")
	if err := flags.Parse(args); err != nil {
		return err
	}
	now, err := hashes(os.DirFS(*root))
	if err != nil {
		return err
	}
	name := filepath.Join(*root, filepath.FromSlash(sums))
	if *renew {
		return os.WriteFile(name, now.text(), 0o644) //nolint:gosec // it is checked in
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if bytes.Equal(text, now.text()) {
		_, err := fmt.Fprintln(to, "generated code is fresh")
		return err
	}
	var all []error
	for _, d := range now.differences(parse(text)) {
		all = append(all, errors.New(d))
	}
	return errors.Join(append(all, errors.New("generated code is not fresh; run: make generate"))...)
}
