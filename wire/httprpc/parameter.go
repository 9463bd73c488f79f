package httprpc

import (
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"wirelab/wire/rfc3339"
	"wirelab/wire/status"
)

// Parameter is a part of a request that travels in the URL: as a variable of
// the path where that has one of its name, else in the query. Make one with
// [Text], [Number], [Count], [Time] or [Custom].
type Parameter[T any] struct {
	name  string
	write func(*T) string // "": left out of a query
	read  func(*T, string) error
}

// Text is a parameter that is a text. An absent one is empty.
func Text[T any](name string, field func(*T) *string) Parameter[T] {
	return Parameter[T]{
		name:  name,
		write: func(v *T) string { return *field(v) },
		read: func(v *T, text string) error {
			if !utf8.ValidString(text) {
				return status.Errorf(status.InvalidArgument, "%s is %.64q, which is not UTF-8", name, text)
			}
			*field(v) = text
			return nil
		},
	}
}

// Number is a parameter that is a whole number of 32 bits, in decimal. An
// absent one is 0.
func Number[T any](name string, field func(*T) *int32) Parameter[T] {
	return Parameter[T]{
		name: name,
		write: func(v *T) string {
			if *field(v) == 0 {
				return ""
			}
			return strconv.FormatInt(int64(*field(v)), 10)
		},
		read: func(v *T, text string) error {
			n, err := strconv.ParseInt(text, 10, 32)
			if err != nil {
				return status.Errorf(status.InvalidArgument, "%s is %.64q; want a whole number of 32 bits", name, text)
			}
			*field(v) = int32(n)
			return nil
		},
	}
}

// Count is a parameter that is a whole number of 64 bits, in decimal. An absent
// or empty one is 0.
func Count[T any](name string, field func(*T) *int64) Parameter[T] {
	return Custom(
		name,
		func(v *T) string {
			if *field(v) == 0 {
				return ""
			}
			return strconv.FormatInt(*field(v), 10)
		},
		func(v *T, text string) error {
			if text == "" {
				return nil
			}
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return status.Errorf(status.InvalidArgument, "%s is %.64q; want a whole number of 64 bits", name, text)
			}
			*field(v) = n
			return nil
		},
	)
}

// Time is a parameter that is a time as [rfc3339.Parse] reads it. An absent or
// empty one is the zero time.
func Time[T any](name string, field func(*T) *time.Time) Parameter[T] {
	return Custom(
		name,
		func(v *T) string { return rfc3339.Text(*field(v)) },
		func(v *T, text string) (err error) {
			if *field(v), err = rfc3339.Parse(text); err != nil {
				return status.Errorf(status.InvalidArgument, "%s: %s", name, status.Public(err).Message)
			}
			return nil
		},
	)
}

// Custom is a parameter with its own form. write leaves it out of a query by returning ""; read, which refuses
// with InvalidArgument what it cannot read, is not called where it is absent, and must take "" for absent or
// refuse it.
func Custom[T any](name string, write func(*T) string, read func(*T, string) error) Parameter[T] {
	return Parameter[T]{name: name, write: write, read: read}
}

// names lists the parameters.
func names[T any](all []Parameter[T]) []string {
	list := make([]string, len(all)) // not nil: the route reads its URL
	for i := range all {
		list[i] = all[i].name
	}
	return list
}

// readURL reads a request from the variables of a path and from a query. What
// it cannot place is refused with InvalidArgument, or a caller who misspells a
// parameter would get an answer to another question.
func readURL[T any](all []Parameter[T], place *place, variables []string, query string) (v T, err error) {
	var given uint64 // bit i: all[i]; NewREST takes no more than 64
	take := func(name, text string) error {
		for i := range all {
			if all[i].name != name {
				continue
			}
			if given&(1<<i) != 0 {
				return status.Errorf(status.InvalidArgument, "%s is given more than once", name)
			}
			given |= 1 << i
			return all[i].read(&v, text)
		}
		return unknownParameter(name, names(all))
	}
	for i, text := range variables {
		if err := take(place.names[i], text); err != nil {
			return v, err
		}
	}
	if query == "" {
		return v, nil
	}
	return v, eachPair(query, take)
}

// eachPair calls visit for each name and value of a query. An empty pair says
// nothing, as a trailing & leaves one.
func eachPair(query string, visit func(name, value string) error) error {
	for pair := range strings.SplitSeq(query, "&") {
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		name, err := url.QueryUnescape(name)
		if err == nil {
			value, err = url.QueryUnescape(value)
		}
		if err != nil {
			return status.Errorf(status.InvalidArgument, "query: %.64q has a broken escape", pair)
		}
		if err := visit(name, value); err != nil {
			return err
		}
	}
	return nil
}

// unknownParameter is the error for a query parameter the outcome is unknown.
func unknownParameter(name string, known []string) error {
	if len(known) == 0 {
		return status.Errorf(status.InvalidArgument, "query parameter %.64q: none is known here", name)
	}
	return status.Errorf(status.InvalidArgument, "query parameter %.64q is not known; known: %s", name,
		strings.Join(known, ", "))
}

// template is a path whose variables are to be filled in.
type template[T any] struct {
	words     []string        // what stands before each variable, and after the last
	variables []*Parameter[T] // len(words)-1
	query     []*Parameter[T]
}

// newTemplate panics if the path has a variable that is not among all: a
// mistake in the source.
func newTemplate[T any](path string, all []Parameter[T]) *template[T] {
	t := new(template[T])
	used := make([]bool, len(all))
	word := ""
	for _, part := range splitPath(path) {
		name, ok := variable(part)
		if !ok {
			word += "/" + part
			continue
		}
		i := 0
		for ; i < len(all) && all[i].name != name; i++ {
		}
		if i == len(all) {
			panic("httprpc: " + path + " has a variable that no parameter fills: " + name)
		}
		used[i] = true
		t.words = append(t.words, word+"/")
		t.variables = append(t.variables, &all[i])
		word = ""
	}
	t.words = append(t.words, word)
	for i := range all {
		if !used[i] {
			t.query = append(t.query, &all[i])
		}
	}
	return t
}

// fill makes the URL of v at the scheme and host of base. A variable that
// would make it the URL of something else is refused.
func (t *template[T]) fill(base *url.URL, v *T) (*url.URL, error) {
	at := &url.URL{Scheme: base.Scheme, Host: base.Host, Path: t.words[0]}
	escaped := t.words[0]
	for i, p := range t.variables {
		text := p.write(v)
		if text == "" || text == "." || text == ".." {
			return nil, status.Errorf(status.InvalidArgument, "%s is %q, which no path can hold", p.name, text)
		}
		at.Path += text + t.words[i+1]
		escaped += url.PathEscape(text) + t.words[i+1]
	}
	if escaped != at.Path {
		at.RawPath = escaped
	}
	for _, p := range t.query {
		text := p.write(v)
		if text == "" {
			continue
		}
		if at.RawQuery != "" {
			at.RawQuery += "&"
		}
		at.RawQuery += p.name + "=" + url.QueryEscape(text)
	}
	return at, nil
}
