package tool

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

func wrk() Tool {
	return Tool{
		Name: "wrk", Untold: "it checks the status only", step: time.Second,
		single: always,
		refuses: func(r Request, l Load) string {
			switch {
			case r.SQL():
				return noSQL
			case r.HTTP2:
				return "it speaks HTTP/1.1 only; use h2load"
			case l.Connections != l.InFlight:
				return onePerConnection(l)
			}
			return ""
		},
		files: func(r Request) (map[string][]byte, error) {
			return map[string][]byte{"request.lua": []byte(luaScript(r))}, nil
		},
		args: func(r Request, l Load, at func(string) string) []string {
			return []string{
				"-t" + strconv.Itoa(threads(l)), "-c" + strconv.Itoa(l.Connections),
				"-d" + strconv.Itoa(int(l.For/time.Second)) + "s", "-s", at("request.lua"), r.URL,
			}
		},
	}
}

// luaScript returns a script with which wrk repeats a request.
func luaScript(r Request) string {
	var text strings.Builder
	fmt.Fprintf(&text, "wrk.method = %s\n", luaText([]byte(r.Method)))
	if len(r.Body) > 0 {
		fmt.Fprintf(&text, "wrk.body = %s\n", luaText(r.Body))
	}
	for _, h := range headers(r) {
		fmt.Fprintf(&text, "wrk.headers[%s] = %s\n", luaText([]byte(h.name)), luaText([]byte(h.value)))
	}
	return text.String()
}

// luaText writes bytes as a string literal of Lua 5.1, which has no hexadecimal escapes.
func luaText(data []byte) string {
	var text strings.Builder
	text.WriteByte('"')
	for _, b := range data {
		if b < ' ' || b > '~' || b == '"' || b == '\\' {
			fmt.Fprintf(&text, `\%03d`, b)
			continue
		}
		text.WriteByte(b)
	}
	text.WriteByte('"')
	return text.String()
}
