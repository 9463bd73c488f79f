package services

import (
	"net/url"
	"regexp"
	"strings"

	"wirelab"
	"wirelab/workload/external/request"
)

// TypedHeaders reads headers as they are typed. The value of a secret header is stored separately, and replaced by a
// variable.
func (s *Services) TypedHeaders(typed []string) (map[string]string, error) {
	if len(typed) == 0 {
		return nil, nil //nolint:nilnil // there are none
	}
	headers := map[string]string{}
	for _, text := range typed {
		name, value, ok := strings.Cut(text, ":")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return nil, wirelab.Errorf(wirelab.InvalidArgument, "--header %q: want 'Name: value'", text)
		}
		value = strings.TrimSpace(value)
		if request.Secret(name) && !strings.Contains(value, "${") {
			value = s.keptApart("HEADER_"+name, value)
		}
		headers[name] = value
	}
	return headers, nil
}

// notVariable matches characters that a variable's name cannot have.
var notVariable = regexp.MustCompile(`[^A-Z0-9]+`)

// keptApart stores a secret that was typed, and returns the variable that stands for it.
func (s *Services) keptApart(name, value string) string {
	variable := notVariable.ReplaceAllString(strings.ToUpper(name), "_")
	if s.Given == nil {
		s.Given = map[string]string{}
	}
	for other, given := s.Given[variable]; given && other != value; other, given = s.Given[variable] {
		variable += "_2"
	}
	s.Given[variable] = value
	return "${" + variable + "}"
}

// typedQuery is a path with its query. If the name of a parameter marks it as secret, its value is replaced by a
// variable.
func (s *Services) typedQuery(path string) string {
	return inQuery(path, func(name, value string) string {
		plain, err := url.QueryUnescape(value)
		if err != nil {
			plain = value
		}
		return s.keptApart("QUERY_"+name, plain)
	})
}

// WithoutQuerySecrets hides the values of such parameters in a URL.
func WithoutQuerySecrets(text string) string {
	if !strings.Contains(text, "://") {
		return text
	}
	return inQuery(text, func(string, string) string { return wirelab.Hidden })
}

// inQuery changes the values of secret parameters. Variables and templates are left unchanged.
func inQuery(text string, change func(name, value string) string) string {
	path, query, ok := strings.Cut(text, "?")
	if !ok {
		return text
	}
	pairs := strings.Split(query, "&")
	for i, pair := range pairs {
		if name, value, _ := strings.Cut(pair, "="); request.Secret(name) && value != "" &&
			!strings.Contains(value, "${") && !strings.Contains(value, "{{") {
			pairs[i] = name + "=" + change(name, value)
		}
	}
	return path + "?" + strings.Join(pairs, "&")
}

// WithoutHeaderSecret hides the value of a header whose name marks it as secret.
func WithoutHeaderSecret(header string) string {
	name, value, ok := strings.Cut(header, ":")
	if !ok || !request.Secret(name) || strings.Contains(value, "${") {
		return header
	}
	return name + ": " + wirelab.Hidden
}
