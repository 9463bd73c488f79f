package external

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"wirelab"
)

// variable is ${NAME} in a description.
var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// secretLeast is the minimum length of a value of the environment to be hidden in texts: shorter ones would be
// found in unrelated words.
const secretLeast = 4

// environment looks up variables, and remembers their values as secrets.
type environment struct {
	get     func(string) string
	secrets []string
}

// expand replaces ${NAME} by its value.
func (e *environment) expand(field, text string) (string, error) {
	return e.expandAs(field, text, func(value string) string { return value })
}

// expandAs is expand, with the values converted by form.
func (e *environment) expandAs(field, text string, form func(string) string) (string, error) {
	var missing string
	text = variable.ReplaceAllStringFunc(text, func(found string) string {
		name := variable.FindStringSubmatch(found)[1]
		value := e.get(name)
		if value == "" {
			missing = name
		} else {
			e.hide(value)
		}
		return form(value)
	})
	if missing != "" {
		return "", wirelab.Public(wirelab.Errorf(wirelab.InvalidArgument,
			"${%s} is not set; set it in the environment: %s=… wirelab …", missing, missing)).Behind(field + ": ")
	}
	return text, nil
}

// hide registers a value as secret and, of a value such as "Bearer abc", its secret part alone.
func (e *environment) hide(value string) {
	_, token, _ := strings.Cut(value, " ")
	for _, v := range []string{value, token} {
		if len(v) >= secretLeast && !slices.Contains(e.secrets, v) {
			e.secrets = append(e.secrets, v)
		}
	}
}

// path expands a path with its query, and escapes characters of a value that would end either.
func (e *environment) path(field, text string) (string, error) {
	path, query, asks := strings.Cut(text, "?")
	path, err := e.expandAs(field, path,
		func(value string) string { return (&url.URL{Path: "/" + value}).EscapedPath()[1:] })
	if err != nil || !asks {
		return path, err
	}
	query, err = e.expandAs(field, query, url.QueryEscape)
	return path + "?" + query, err
}

// within expands every text in a JSON value.
func (e *environment) within(field string, value any) (any, error) {
	var err error
	switch v := value.(type) {
	case string:
		return e.expand(field, v)
	case []any:
		all := slices.Clone(v)
		for i := range all {
			if all[i], err = e.within(field, all[i]); err != nil {
				return nil, err
			}
		}
		return all, nil
	case map[string]any:
		all := make(map[string]any, len(v))
		for name := range v {
			if all[name], err = e.within(field+"."+name, v[name]); err != nil {
				return nil, err
			}
		}
		return all, nil
	}
	return value, nil
}
