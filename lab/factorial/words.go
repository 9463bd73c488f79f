package factorial

import (
	"slices"
	"strings"

	"wirelab"
)

// wire is a name for a transport and framing, and tells which protocols have them.
type wire struct {
	name  string
	picks func(p wirelab.Protocol) bool
}

// framingHTTP is the framing of plain HTTP, whose versions have separate names.
const framingHTTP = "HTTP"

// protocolsOf returns the protocols of works that one server speaks, each once, in order.
func protocolsOf(works []wirelab.Work) (all []wirelab.Protocol) {
	for _, w := range works {
		for _, c := range w.Cells {
			if !c.Protocol.Pipeline && !slices.Contains(all, c.Protocol) {
				all = append(all, c.Protocol)
			}
		}
	}
	return all
}

// wires derives the names from the protocols, so that a new protocol has one without further work. Plain HTTP is named
// after its version, and any other transport and framing after the shortest name of a protocol that has it. If an
// earlier protocol has the same transport, framing, encoding and TLS, the later one gets its own name.
func wires(protocols []wirelab.Protocol) (all []wire) {
	for i, p := range protocols {
		same := func(q wirelab.Protocol) bool { return q.Transport == p.Transport && q.Framing == p.Framing }
		if !slices.ContainsFunc(protocols[:i], same) {
			all = append(all, wire{word(p, protocols, same), same})
			continue
		}
		alike := func(q wirelab.Protocol) bool { return same(q) && q.Encoding == p.Encoding && q.Secure == p.Secure }
		if slices.ContainsFunc(protocols[:i], alike) {
			all = append(all, wire{p.Name, func(q wirelab.Protocol) bool { return q.Name == p.Name }})
		}
	}
	return all
}

// word returns the name of a protocol's transport and framing.
func word(p wirelab.Protocol, protocols []wirelab.Protocol, same func(wirelab.Protocol) bool) string {
	if p.Framing == framingHTTP { // HTTP/1.1 is http1
		return strings.TrimSuffix(strings.ToLower(strings.ReplaceAll(p.Transport, "/", "")), ".1")
	}
	name := p.Name
	for _, q := range protocols {
		if same(q) && len(q.Name) < len(name) {
			name = q.Name
		}
	}
	return name
}

// Transports returns the names of the transports and framings of works.
func Transports(works []wirelab.Work) (all []string) {
	for _, w := range wires(protocolsOf(works)) {
		all = append(all, w.name)
	}
	return all
}

// Encodings returns the names of the encodings of works, the usual ones first.
func Encodings(works []wirelab.Work) []string {
	words, _ := encodings(protocolsOf(works))
	return words
}

// encodings returns the names of encodings, and the encoding of each. An encoding is named as the protocols of plain
// HTTP that have it end (http1-proto), or otherwise after itself.
func encodings(protocols []wirelab.Protocol) (words []string, names map[string]string) {
	names = map[string]string{}
	called := map[string]string{}
	for _, p := range protocols {
		if p.Framing == framingHTTP && called[p.Encoding] == "" {
			called[p.Encoding] = p.Name[strings.LastIndex(p.Name, "-")+1:]
		}
	}
	for _, p := range protocols {
		text := called[p.Encoding]
		if text == "" {
			text = strings.ReplaceAll(strings.ToLower(p.Encoding), " ", "-")
		}
		if _, known := names[text]; !known {
			words = append(words, text)
		}
		names[text] = p.Encoding
	}
	usual := slices.DeleteFunc(usualEncodings(), func(w string) bool { return !slices.Contains(words, w) })
	rest := slices.DeleteFunc(words, func(w string) bool { return slices.Contains(usual, w) })
	return append(usual, rest...), names
}
