package dashboard

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"wirelab"
	"wirelab/results/store"
)

// query reads the parameters of a request. It keeps the first mistake, which [query.done] returns.
type query struct {
	values url.Values
	taken  []string
	err    error
}

// ask reads a request's parameters. lenient ignores empty ones, which forms send for fields that were not filled in.
func ask(r *http.Request, lenient bool) *query {
	values, err := url.ParseQuery(r.URL.RawQuery)
	q := &query{values: values}
	if err != nil {
		q.err = wirelab.Errorf(wirelab.InvalidArgument, "the query cannot be read: %v", err)
		q.values = url.Values{}
	}
	if lenient {
		for name, all := range q.values {
			if all = slices.DeleteFunc(all, func(s string) bool { return s == "" }); len(all) == 0 {
				delete(q.values, name)
			} else {
				q.values[name] = all
			}
		}
	}
	return q
}

// wrong records a mistake.
func (q *query) wrong(format string, args ...any) {
	if q.err == nil {
		q.err = wirelab.Errorf(wirelab.InvalidArgument, format, args...)
	}
}

// textLimit is the greatest length of a parameter, in characters.
const textLimit = 500

// all returns every value of a parameter.
func (q *query) all(name string) []string {
	q.taken = append(q.taken, name)
	for _, text := range q.values[name] {
		if !utf8.ValidString(text) || utf8.RuneCountInString(text) > textLimit || strings.ContainsRune(text, 0) {
			q.wrong("%s is longer than %d characters, or no text", name, textLimit)
			return nil
		}
	}
	return q.values[name]
}

// text returns a parameter; "" if it is not there.
func (q *query) text(name string) string {
	switch all := q.all(name); {
	case len(all) > 1:
		q.wrong("%s is given %d times; once is enough", name, len(all))
		return ""
	case len(all) == 1:
		return all[0]
	}
	return ""
}

// number returns a parameter that is an integer within bounds.
func (q *query) number(name string, otherwise, least, most int) int {
	if _, ok := q.values[name]; !ok {
		q.taken = append(q.taken, name)
		return otherwise
	}
	text := q.text(name)
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		q.wrong("%s is %.40q; it must be a whole number from %d to %d", name, text, least, most)
		return otherwise
	}
	return n
}

// when returns a parameter that is a date or a time; the zero time if it is not there.
func (q *query) when(name string) time.Time {
	if _, ok := q.values[name]; !ok {
		q.taken = append(q.taken, name)
		return time.Time{}
	}
	text := q.text(name)
	for _, layout := range []string{time.DateOnly, time.RFC3339Nano} {
		// RFC 3339 allows lower case. The space is a + that was not escaped in the address.
		if t, err := time.Parse(layout, strings.ReplaceAll(strings.ToUpper(text), " ", "+")); err == nil {
			if t.Year() >= 1 && t.Year() <= 9999 && !t.Before(earliest()) {
				return t.UTC()
			}
			if t.Before(earliest()) {
				return earliest()
			}
		}
	}
	q.wrong("%s is %.40q; write a day, 2026-11-21, or a time, 2026-11-21T14:05:12Z", name, text)
	return time.Time{}
}

// earliest is before all results. Stores may not be able to represent earlier times.
func earliest() time.Time { return time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC) }

// done returns the first mistake. An unknown parameter is one: otherwise a misspelt filter would seem to find
// everything (grb-D04).
func (q *query) done() error {
	if q.err != nil {
		return q.err
	}
	for name := range q.values {
		if !slices.Contains(q.taken, name) {
			return wirelab.Errorf(wirelab.InvalidArgument, "no parameter is called %.40q; there are %s", name,
				strings.Join(q.taken, ", "))
		}
	}
	return nil
}

// The limits of one page of a list.
const (
	pageDefault = 50
	pageLimit   = 1000
)

// filter reads the filter of a list. size is the default size of a page.
func (q *query) filter(size int) store.Filter {
	f := store.Filter{
		Workload: q.text("workload"), Operation: q.text("operation"), Protocol: q.text("protocol"),
		Name: q.text("preset"), Host: q.text("machine"), Since: q.when("since"), Until: q.when("until"),
		Limit: q.number("limit", size, 1, pageLimit),
	}
	cursor, err := store.ParseCursor(q.text("cursor"))
	if err != nil && q.err == nil {
		q.err = err
	}
	f.After = cursor
	return f
}

// selection returns the parameters that a filter was read from, without its position.
func selection(f store.Filter) url.Values {
	v := url.Values{}
	for _, one := range []struct{ name, value string }{
		{"workload", f.Workload},
		{"operation", f.Operation},
		{"protocol", f.Protocol},
		{"preset", f.Name},
		{"machine", f.Host},
		{"since", stamp(f.Since)},
		{"until", stamp(f.Until)},
	} {
		if one.value != "" {
			v.Set(one.name, one.value)
		}
	}
	if f.Limit != 0 && f.Limit != pageDefault {
		v.Set("limit", strconv.Itoa(f.Limit))
	}
	return v
}

// stamp writes a time as a parameter: as a date if it is the beginning of a day.
func stamp(t time.Time) string {
	switch {
	case t.IsZero():
		return ""
	case t.Equal(t.Truncate(24 * time.Hour)):
		return t.Format(time.DateOnly)
	}
	return t.Format(time.RFC3339Nano)
}
