package factorial

import (
	"slices"
	"strings"

	"wirelab"
)

// wire is a word for a transport and framing, and which protocols it picks.
type wire struct {
	name  string
	picks func(p wirelab.Protocol) bool
}

// framingHTTP is the framing of plain HTTP, whose versions have words of their own.
const framingHTTP = "HTTP"

// protocolsOf are the protocols of works that one server speaks, each once, in order.
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

// wires are the words for what protocols are made of, so that a new protocol has its word by being there: plain HTTP is
// called by its version, and any other transport and framing by the shortest name of a protocol that has it. A protocol
// that no such word can pick, since one before it is made of the same, is called by its own name.
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

// word is what the transport and framing of a protocol are called.
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

// Transports are the words for the transports and framings of works.
func Transports(works []wirelab.Work) (all []string) {
	for _, w := range wires(protocolsOf(works)) {
		all = append(all, w.name)
	}
	return all
}

// Encodings are the words for the encodings of works, the usual ones first.
func Encodings(works []wirelab.Work) []string {
	words, _ := encodings(protocolsOf(works))
	return words
}

// encodings are the words for encodings, and what each stands for: an encoding is called as the protocols of plain HTTP
// that have it end, http1-proto, or else by its name.
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
