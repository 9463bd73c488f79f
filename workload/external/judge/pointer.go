package judge

import (
	"strings"

	"wirelab"
)

// maxPatterns is how many JSON pointers may be ignored: one bit each.
const maxPatterns = 64

// mask is a set of patterns.
type mask uint64

// patterns are JSON pointers (RFC 6901) in which a part "*" stands for any one.
type patterns struct {
	parts [][]part
}

// part is a part of a pattern, spelled as names are in the one form of a document.
type part struct {
	name string
	any  bool
}

// parsePointers reads pointers.
func parsePointers(texts []string) (*patterns, error) {
	if len(texts) > maxPatterns {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "%d JSON pointers to ignore; at most %d", len(texts),
			maxPatterns)
	}
	p := new(patterns)
	for _, text := range texts {
		rest, ok := strings.CutPrefix(text, "/")
		switch {
		case text == "":
			return nil, wirelab.Errorf(wirelab.InvalidArgument,
				`an empty JSON pointer would ignore the whole reply; to compare the status only, say so: mode "status"`)
		case !ok:
			return nil, wirelab.Errorf(wirelab.InvalidArgument,
				"%.100q is no JSON pointer; one begins with a slash: /updatedAt, /items/*/id", text)
		}
		var parts []part
		for token := range strings.SplitSeq(rest, "/") {
			if len(parts) == maxDepth {
				return nil, wirelab.Errorf(wirelab.InvalidArgument, "JSON pointer %.100q has more than %d parts", text,
					maxDepth)
			}
			if bad := strings.ReplaceAll(strings.ReplaceAll(token, "~0", ""), "~1", ""); strings.Contains(bad, "~") {
				return nil, wirelab.Errorf(wirelab.InvalidArgument,
					"JSON pointer %.100q: a ~ is written ~0, and a slash within a name ~1", text)
			}
			parts = append(parts, part{
				name: spelled(strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")), any: token == "*",
			})
		}
		p.parts = append(p.parts, parts)
	}
	return p, nil
}

// spelled is a name as [writer] writes it, without the quotes.
func spelled(name string) string {
	var w writer
	for _, r := range []byte(name) {
		if r < ' ' || r == '"' || r == '\\' {
			w.plain(rune(r))
		} else {
			w.out = append(w.out, r)
		}
	}
	return string(w.out)
}

// all is every pattern.
func (p *patterns) all() mask { return mask(1)<<len(p.parts) - 1 }

// step returns those of open that are still possible when name follows at a depth, and whether one of them ends there.
func (p *patterns) step(open mask, depth int, name []byte) (inner mask, ends bool) {
	for i, parts := range p.parts {
		bit := mask(1) << i
		if open&bit == 0 || depth >= len(parts) || !parts[depth].any && parts[depth].name != string(name) {
			continue
		}
		if depth == len(parts)-1 {
			return 0, true
		}
		inner |= bit
	}
	return inner, false
}
