package main

import (
	"net/url"
	"regexp"
	"strings"

	"wirelab"
	"wirelab/workload/external/request"
)

// notVariable is what the name of a variable has not.
var notVariable = regexp.MustCompile(`[^A-Z0-9]+`)

// keptApart keeps a secret that was typed apart, and returns the variable that stands for it.
func (a *app) keptApart(name, value string) string {
	variable := notVariable.ReplaceAllString(strings.ToUpper(name), "_")
	if a.given == nil {
		a.given = map[string]string{}
	}
	for other, given := a.given[variable]; given && other != value; other, given = a.given[variable] {
		variable += "_2"
	}
	a.given[variable] = value
	return "${" + variable + "}"
}

// typedQuery is a path and a query in which variables stand for the values of parameters that are secrets by their names.
func (a *app) typedQuery(path string) string {
	return inQuery(path, func(name, value string) string {
		plain, err := url.QueryUnescape(value)
		if err != nil {
			plain = value
		}
		return a.keptApart("QUERY_"+name, plain)
	})
}

// withoutQuerySecrets hides the values of such parameters of a URL.
func withoutQuerySecrets(text string) string {
	if !strings.Contains(text, "://") {
		return text
	}
	return inQuery(text, func(string, string) string { return wirelab.Hidden })
}

// inQuery changes the values of parameters that are secrets and were typed.
func inQuery(text string, change func(name, value string) string) string {
	path, query, ok := strings.Cut(text, "?")
	if !ok {
		return text
	}
	pairs := strings.Split(query, "&")
	for i, pair := range pairs {
		if name, value, _ := strings.Cut(pair, "="); request.Secret(name) && value != "" && !strings.Contains(value, "${") && !strings.Contains(value, "{{") {
			pairs[i] = name + "=" + change(name, value)
		}
	}
	return path + "?" + strings.Join(pairs, "&")
}

// withoutHeaderSecret hides the value of a header that is a secret by its name.
func withoutHeaderSecret(header string) string {
	name, value, ok := strings.Cut(header, ":")
	if !ok || !request.Secret(name) || strings.Contains(value, "${") {
		return header
	}
	return name + ": " + wirelab.Hidden
}
