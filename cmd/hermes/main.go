// Command hermes runs nodes of Hermes and speaks to them. This package knows
// flags, files and the terminal, and joins the rooms; what a broker does it
// leaves to them.
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the process at once
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv))
}

// run is the program: args without its name; the result is the exit code. It
// may be called many times in one process, as tests do.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, getenv func(string) string) int {
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr, getenv: getenv}
	root := newRootCommand(a)
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	command, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	code, text := exitCodeOf(err), describe(err)
	if !a.started { // the flags or arguments are wrong, by cobra's word
		code, text = exitUsage, text+"; see "+command.CommandPath()+" --help"
	}
	var said *exit
	if errors.As(err, &said) && said.err == nil {
		return code
	}
	a.note("hermes: %s", strings.TrimSpace(text))
	return code
}
