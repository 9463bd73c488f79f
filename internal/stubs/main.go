// Command stubs writes the code that follows from a workload's Service: for
// each method the one that puts the hooks around it; and, with the schema of
// Protocol Buffers and the converters in bind, the checks before a call, and
// the server and the client of the operation over net/rpc, gRPC, Connect, and
// the wires that speak package exchange. It reads the source with go/parser and
// knows no workload. It must not import the code that it reads: a workload
// that lacks a method does not compile, and could not be generated.
//
// It is run by `make generate` from the root of the module, with the argument
// hooks before gqlgen, and after it without. What does not
// follow from the Service is written by hand: the generator leaves out a method
// that the package already has.
package main

import (
	"io"
	"os"

	"wirelab/internal/generated"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

func run(args []string, out, errs io.Writer) int {
	generate := Generate
	if len(args) > 0 && args[0] == "hooks" {
		// gqlgen loads the workload's package, which does not compile while its
		// hooks lack a method; and the rest is made of what gqlgen writes.
		generate, args = Hooks, args[1:]
	}
	return generated.Run("stubs", generate, args, out, errs)
}
