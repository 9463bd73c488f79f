package launch

import (
	"os"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"wirelab"
)

// commandLimit is the longest command that is read, in bytes.
const commandLimit = 64 << 10

// ParseCommand splits a command like a shell, with quotes and backslashes, but runs no shell: signals and measurements
// then apply to the server itself, and not to a shell in front of it. $PORT and $HOST stay, and [Start] replaces them.
// For syntax that only a shell can handle, the error says what to write instead.
func ParseCommand(text string) ([]string, error) {
	bad := func(format string, args ...any) ([]string, error) {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "command %.200q: "+format, append([]any{text}, args...)...)
	}
	if len(text) > commandLimit || strings.ContainsRune(text, 0) {
		return bad("it is longer than %d bytes, or has a byte 0 in it", commandLimit)
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(text), "")
	if err != nil {
		return bad("%v", err)
	}
	if len(file.Stmts) == 0 {
		return bad("it is empty")
	}
	const shell = `; a shell can: sh -c '…'`
	if len(file.Stmts) > 1 {
		return bad("it is several commands" + shell)
	}
	one := file.Stmts[0]
	call, ok := one.Cmd.(*syntax.CallExpr)
	switch {
	case !ok || one.Negated || one.Semicolon.IsValid() && one.Background:
		return bad("it is more than a program and its arguments" + shell)
	case len(one.Redirs) > 0:
		return bad("it redirects" + shell)
	case len(call.Assigns) > 0:
		return bad("it begins with a variable; write env before it")
	}
	var lacking string
	syntax.Walk(call, func(node syntax.Node) bool {
		switch n := node.(type) {
		case *syntax.ParamExp:
			if name := n.Param.Value; name != "PORT" && name != "HOST" || !n.Short && !plain(n) {
				lacking = "it uses $" + name +
					", and only $PORT and $HOST are known (the program gets the environment unchanged)"
			}
		case *syntax.CmdSubst, *syntax.ArithmExp, *syntax.ProcSubst:
			lacking = "it is more than a program and its arguments"
		}
		return lacking == ""
	})
	if lacking != "" {
		return bad("%s", lacking+shell)
	}
	words, err := expand.Fields(&expand.Config{Env: expand.FuncEnviron(func(name string) string {
		switch name {
		case "PORT", "HOST":
			return "${" + name + "}"
		case "HOME": // for ~
			return os.Getenv(name)
		}
		return ""
	})}, call.Args...)
	if err != nil {
		return bad("%v", err)
	}
	if len(words) == 0 || words[0] == "" {
		return bad("it names no program")
	}
	return words, nil
}

// plain reports whether a parameter in braces is used only for its value.
func plain(n *syntax.ParamExp) bool {
	return !n.Excl && !n.Length && !n.Width && n.Index == nil && n.Slice == nil && n.Repl == nil && n.Exp == nil
}
