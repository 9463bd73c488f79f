package access

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"wirelab/hermes"
	"wirelab/wire/status"
)

// Bounds on a policy. All tokens are compared at each call.
const (
	principalsLimit = 1000
	nameLimit       = 60  // bytes; shorter than any token that this package makes, since names are shown
	tokensLimit     = 4   // of a principal
	patternsLimit   = 256 // of a right
	quotaLimit      = 1 << 40
)

// reader reads a policy by hand: what the library says of an error shows the lines around it, which are no
// place to show when someone wrote a token there.
type reader struct {
	file   string
	owners map[digest]string // of tokens
}

// wrong is an error at a place. Format and args must not have what the file has, but
// for names that were checked.
func (r *reader) wrong(at ast.Node, format string, args ...any) error {
	where := r.file
	if at != nil && at.GetToken() != nil {
		where = fmt.Sprintf("%s:%d", r.file, at.GetToken().Position.Line)
	}
	return status.Errorf(status.InvalidArgument, "%s: %s", where, fmt.Sprintf(format, args...))
}

// parse reads rules. They have no usage yet.
func parse(file string, text []byte) (*rules, error) {
	r := &reader{file: file, owners: map[digest]string{}}
	if deep(text) {
		return nil, r.wrong(nil, "lists and mappings are more than %d deep", depthLimit)
	}
	parsed, err := parser.ParseBytes(text, 0)
	if err != nil {
		var placed yaml.Error
		if errors.As(err, &placed) && placed.GetToken() != nil {
			return nil, status.Errorf(status.InvalidArgument, "%s:%d: this is no YAML; a single * goes in quotes", file,
				placed.GetToken().Position.Line)
		}
		return nil, r.wrong(nil, "this is no YAML")
	}
	var bodies []ast.Node
	for _, doc := range parsed.Docs {
		if doc.Body != nil {
			bodies = append(bodies, doc.Body)
		}
	}
	if len(bodies) != 1 {
		return nil, r.wrong(nil, "a policy is one document with principals; this has %d", len(bodies))
	}
	all := &rules{grants: map[string]*grant{}}
	err = r.mapping(bodies[0], "a policy", "principals", fields{"principals": func(n ast.Node) error {
		return r.list(n, "principals", principalsLimit, func(n ast.Node) error {
			g, err := r.principal(n)
			if err != nil {
				return err
			}
			if all.grants[g.name] != nil {
				return r.wrong(n, "principal %s is here twice", g.name)
			}
			all.grants[g.name] = g
			for _, d := range g.digests {
				all.tokens = append(all.tokens, Principal{g.name, d})
			}
			return nil
		})
	}})
	return all, err
}

// principal reads one.
func (r *reader) principal(n ast.Node) (*grant, error) {
	g := &grant{quota: usual}
	known := fields{
		"name": func(n ast.Node) error {
			return r.text(n, "name", func(text string) error {
				if hermes.CheckGroup(text) != nil || len(text) > nameLimit {
					return status.Errorf(status.InvalidArgument,
						"1 to %d of A-Z a-z 0-9 . _ - are allowed, not beginning with a dot", nameLimit)
				}
				g.name = text
				return nil
			})
		},
		"tokens":  func(n ast.Node) error { return r.list(n, "tokens", tokensLimit, r.token(g)) },
		"cluster": func(n ast.Node) error { return r.yes(n, "cluster", &g.cluster) },
		"metrics": func(n ast.Node) error { return r.yes(n, "metrics", &g.metrics) },
		"quota":   func(n ast.Node) error { return r.quota(n, &g.quota) },
	}
	for i, name := range rightNames {
		known[name] = func(n ast.Node) error { return r.list(n, name, patternsLimit, r.pattern(name, &g.topics[i])) }
	}
	if err := r.mapping(n, "a principal", "name tokens", known); err != nil {
		return nil, err
	}
	for _, d := range g.digests {
		if other, ok := r.owners[d]; ok {
			return nil, r.wrong(n, "a token of %s is also one of %s", g.name, other)
		}
		r.owners[d] = g.name
	}
	g.seen = distinct(g.topics[:]...)
	return g, nil
}

func (r *reader) token(g *grant) func(ast.Node) error {
	return func(n ast.Node) error {
		text, ok := n.(*ast.StringNode)
		if ok {
			var d digest
			if d, ok = parseHash(text.Value); ok {
				g.digests = append(g.digests, d)
			}
		}
		if !ok {
			return r.wrong(n, "of a token only its hash stands here, as %s and 64 hexadecimal digits", hashMark)
		}
		return nil
	}
}

func (r *reader) pattern(name string, to *patterns) func(ast.Node) error {
	return func(n ast.Node) error {
		return r.text(n, name, func(text string) error {
			p, err := parsePattern(text)
			*to = append(*to, p)
			return err
		})
	}
}

func (r *reader) quota(n ast.Node, q *quota) error {
	return r.mapping(n, "a quota", "", fields{
		"messages_per_second": r.count("messages_per_second", &q.messages),
		"bytes_per_second":    r.count("bytes_per_second", &q.bytes),
		"subscriptions":       r.count("subscriptions", &q.subscriptions),
		"groups":              r.share("groups", &q.groups),
		"producers":           r.share("producers", &q.producers),
	})
}

// fields are what a mapping may have.
type fields map[string]func(ast.Node) error

// mapping reads a mapping, in which all that needed names must be. The parser has
// refused a name that is there twice.
func (r *reader) mapping(n ast.Node, what, needed string, known fields) error {
	var entries []*ast.MappingValueNode
	switch n := n.(type) {
	case *ast.MappingNode:
		entries = n.Values
	case *ast.MappingValueNode:
		entries = []*ast.MappingValueNode{n}
	default:
		return r.wrong(n, "%s is a mapping of names to values", what)
	}
	have := map[string]bool{}
	for _, entry := range entries {
		name := ""
		if text, ok := entry.Key.(*ast.StringNode); ok {
			name = text.Value
		}
		take, ok := known[name]
		if !ok {
			return r.unknown(entry.Key, what, name, known)
		}
		have[name] = true
		if err := take(entry.Value); err != nil {
			return err
		}
	}
	for name := range strings.FieldsSeq(needed) {
		if !have[name] {
			return r.wrong(n, "%s needs %s", what, name)
		}
	}
	return nil
}

// unknown tells which names there are. One that is too long for a name may be a
// token, and is not shown.
func (r *reader) unknown(at ast.Node, what, name string, known fields) error {
	if len(name) > 32 || strings.Contains(name, tokenMark) || strings.Contains(name, hashMark) {
		name = "…"
	}
	names := make([]string, 0, len(known))
	for n := range known {
		names = append(names, n)
	}
	return r.wrong(at, "%s: %s", what, status.Public(status.UnknownName("name", name, names)).Message)
}

func (r *reader) list(n ast.Node, name string, most int, each func(ast.Node) error) error {
	list, ok := n.(*ast.SequenceNode)
	if !ok {
		return r.wrong(n, "%s must be a list", name)
	}
	if len(list.Values) == 0 || len(list.Values) > most {
		return r.wrong(n, "%s has %d entries; 1 to %d are allowed", name, len(list.Values), most)
	}
	for _, item := range list.Values {
		if err := each(item); err != nil {
			return err
		}
	}
	return nil
}

// text reads text. What take says must not have it.
func (r *reader) text(n ast.Node, name string, take func(string) error) error {
	text, ok := n.(*ast.StringNode)
	if !ok {
		return r.wrong(n, "%s must be text; put it in quotes", name)
	}
	if err := take(text.Value); err != nil {
		return r.wrong(n, "%s: %s", name, status.Public(err).Message)
	}
	return nil
}

func (r *reader) yes(n ast.Node, name string, to *bool) error {
	b, ok := n.(*ast.BoolNode)
	if !ok {
		return r.wrong(n, "%s must be true or false", name)
	}
	*to = b.Value
	return nil
}

// share reads a number of which 0 is none.
func (r *reader) share(name string, to *int64) func(ast.Node) error {
	return func(n ast.Node) error {
		number, _ := n.(*ast.IntegerNode)
		if number != nil {
			if v, ok := number.Value.(uint64); ok && v <= math.MaxUint32 {
				*to = int64(v)
				return nil
			}
		}
		return r.wrong(n, "%s must be a whole number from 0 to %d; leave it away for the usual", name,
			uint32(math.MaxUint32))
	}
}

func (r *reader) count(name string, to *int64) func(ast.Node) error {
	return func(n ast.Node) error {
		number, _ := n.(*ast.IntegerNode)
		if number != nil {
			if v, ok := number.Value.(uint64); ok && v >= 1 && v <= quotaLimit {
				*to = int64(v)
				return nil
			}
		}
		return r.wrong(n, "%s must be a whole number from 1 to %d; leave it away for the usual", name,
			int64(quotaLimit))
	}
}

// depthLimit bounds lists within lists: a policy needs 4, and the YAML parser calls
// itself for each and takes time with the square of them.
const depthLimit = 32

// deep reports whether brackets, or dashes at the beginning of a line, lie too deep.
// Deeper by indentation is bounded by the size, since every level costs a longer line.
func deep(text []byte) bool {
	brackets, row, start := 0, 0, true
	for _, b := range text {
		switch b {
		case '\n':
			row, start = 0, true
			continue
		case ' ', '\t', '\r':
			continue
		case '[', '{':
			brackets++
		case ']', '}':
			brackets = max(0, brackets-1)
		}
		if start = start && (b == '-' || b == '?' || b == ':'); start {
			row++
		}
		if brackets > depthLimit || row > depthLimit {
			return true
		}
	}
	return false
}
