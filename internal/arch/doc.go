// Package arch holds the project's rules as tests. It parses the source with
// go/parser: a test that asked the go command would be answered from the test
// cache, since the command's inputs are not the test's.
package arch
