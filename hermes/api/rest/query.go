package rest

import (
	"net/url"
	"strconv"
	"strings"

	"wirelab/wire/status"
)

// query is what a URL asks in addition to its path. The first complaint is kept.
type query struct {
	values map[string]string
	err    error
}

// pairsLimit is how many parameters a query may have: more than any route knows.
const pairsLimit = 32

// parseQuery reads a query. A parameter given twice is refused: which of them
// counts would be a guess.
func parseQuery(raw string) (query, error) {
	q := query{}
	if raw == "" {
		return q, nil
	}
	q.values = map[string]string{}
	for pair := range strings.SplitSeq(raw, "&") {
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		name, err := url.QueryUnescape(name)
		if err == nil {
			value, err = url.QueryUnescape(value)
		}
		switch _, twice := q.values[name]; {
		case err != nil:
			return q, status.Errorf(status.InvalidArgument, "query: %.64q has a broken escape", pair)
		case twice:
			return q, status.Errorf(status.InvalidArgument, "%.64q is given more than once", name)
		case len(q.values) == pairsLimit:
			return q, status.Errorf(status.InvalidArgument, "query of more than %d parameters", pairsLimit)
		}
		q.values[name] = value
	}
	return q, nil
}

// text takes a parameter; "" is one that is absent.
func (q *query) text(name string) string {
	value := q.values[name]
	delete(q.values, name)
	return value
}

// number takes a whole number up to most; an absent one is 0.
func (q *query) number(name string, most uint64) uint64 {
	text := q.text(name)
	if text == "" {
		return 0
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n > most {
		q.complain("%s is %.40q; want a whole number, at most %d", name, text, most)
		return 0
	}
	return n
}

// flag takes true or false; an absent one is false.
func (q *query) flag(name string) bool {
	switch text := q.text(name); text {
	case "", "false":
	case "true":
		return true
	default:
		q.complain("%s is %.40q; want true or false", name, text)
	}
	return false
}

// choice takes one of some words; an absent one is the first.
func (q *query) choice(name string, words ...string) string {
	text := q.text(name)
	if text == "" {
		return words[0]
	}
	for _, word := range words {
		if text == word {
			return word
		}
	}
	q.complain("%s is %.40q; want %s", name, text, strings.Join(words, " or "))
	return words[0]
}

func (q *query) complain(format string, args ...any) {
	if q.err == nil {
		q.err = status.Errorf(status.InvalidArgument, format, args...)
	}
}

// done is the fault of the query, once all known parameters were taken.
func (q *query) done() error {
	if q.err != nil {
		return q.err
	}
	for name := range q.values {
		return status.Errorf(status.InvalidArgument, "query parameter %.64q is not known here: see /v1/openapi.json",
			name)
	}
	return nil
}
