package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"wirelab/workload/external/request"
)

// parameters adds the required parameters, and sets the URL.
func (m *maker) parameters(path string, all []*openapi3.Parameter) {
	q := &m.op.Request
	var query, cookies []string
	for _, p := range all {
		if !p.Required && p.In != openapi3.ParameterInPath {
			continue
		}
		switch p.In {
		case openapi3.ParameterInPath:
			if place := "{" + p.Name + "}"; strings.Contains(path, place) {
				path = strings.ReplaceAll(path, place, m.inPath(p))
			}
		case openapi3.ParameterInQuery:
			query = append(query, m.inQuery(p)...)
		case openapi3.ParameterInHeader:
			// OpenAPI has these fields elsewhere.
			if name := strings.ToLower(p.Name); name == "accept" || name == "content-type" || name == "authorization" {
				continue
			}
			if request.FieldName(p.Name) && !request.OfConnection(p.Name) {
				q.Fields = append(q.Fields, request.Field{Name: p.Name, Value: m.inField(p, "header ")})
			}
		case openapi3.ParameterInCookie:
			if request.FieldName(p.Name) {
				cookies = append(cookies, p.Name+"="+m.inField(p, "cookie "))
			}
		}
	}
	q.URL = m.filled(path)
	if len(query) > 0 {
		q.URL += "?" + strings.Join(query, "&")
	}
	if len(cookies) > 0 {
		q.Fields = append(q.Fields, request.Field{Name: "Cookie", Value: strings.Join(cookies, "; ")})
	}
}

// filled returns a path with placeholders for names in braces that have no parameter.
func (m *maker) filled(path string) string {
	var b strings.Builder
	for {
		begin := strings.IndexByte(path, '{')
		if begin < 0 {
			b.WriteString(path)
			return b.String()
		}
		b.WriteString(path[:begin])
		path = path[begin:]
		if place := strings.Index(path, "}}"); place > 0 && strings.HasPrefix(path, "{{.") {
			b.WriteString(path[:place+2])
			path = path[place+2:]
			continue
		}
		name, after, closed := strings.Cut(path[1:], "}")
		if !closed {
			b.WriteString("%7B")
			path = path[1:]
			continue
		}
		b.WriteString("{{." + m.lack("path "+name) + "}}")
		path = after
	}
}

// parameter returns the example of a parameter, and whether there is one.
func parameter(p *openapi3.Parameter) (any, bool) {
	if v, ok := example(p.Example, p.Examples, p.Schema); ok {
		return v, true
	}
	if _, content := chosen(p.Content); content != nil {
		if v, ok := example(content.Example, content.Examples, content.Schema); ok {
			text, err := json.Marshal(v)
			return string(text), err == nil
		}
	}
	// A list has an example if its elements have one.
	if p.Schema != nil && p.Schema.Value != nil && p.Schema.Value.Type.Is("array") {
		if v, ok := example(nil, nil, p.Schema.Value.Items); ok {
			return []any{v}, true
		}
	}
	return nil, false
}

// inPath returns the text of a parameter of the path.
func (m *maker) inPath(p *openapi3.Parameter) string {
	v, ok := parameter(p)
	if ok && (p.Style == "" || p.Style == "simple") {
		if text, ok := joined(v, ",", url.PathEscape); ok && text != "" {
			return text
		}
	}
	return "{{." + m.lack("path "+p.Name) + "}}"
}

// inField returns the text of a parameter that is a header field or a cookie.
func (m *maker) inField(p *openapi3.Parameter, kind string) string {
	if v, ok := parameter(p); ok {
		text, ok := joined(v, ",", func(s string) string { return s })
		if ok && request.FieldValue(text) && (kind == "header " || !strings.ContainsAny(text, "; ,")) {
			return text
		}
	}
	return "{{." + m.lack(kind+p.Name) + "}}"
}

// inQuery returns the pairs of a parameter of the query.
func (m *maker) inQuery(p *openapi3.Parameter) []string {
	name := url.QueryEscape(p.Name)
	lacking := func() []string { return []string{name + "={{." + m.lack("query "+p.Name) + " | urlquery}}"} }
	v, ok := parameter(p)
	if !ok {
		return lacking()
	}
	separator, explode := ",", true
	switch p.Style {
	case "spaceDelimited":
		separator, explode = "%20", false
	case "pipeDelimited":
		separator, explode = "|", false
	}
	if p.Explode != nil {
		explode = *p.Explode
	}
	switch v := v.(type) {
	case []any:
		if !explode {
			break
		}
		var pairs []string
		for _, one := range v {
			text, ok := joined(one, ",", url.QueryEscape)
			if !ok {
				return lacking()
			}
			pairs = append(pairs, name+"="+text)
		}
		return pairs
	case map[string]any:
		if !explode && p.Style != "deepObject" {
			break
		}
		var pairs []string
		for _, key := range slices.Sorted(maps.Keys(v)) {
			text, ok := joined(v[key], ",", url.QueryEscape)
			if !ok {
				return lacking()
			}
			pair := url.QueryEscape(key)
			if p.Style == "deepObject" {
				pair = name + "%5B" + pair + "%5D"
			}
			pairs = append(pairs, pair+"="+text)
		}
		return pairs
	}
	text, ok := joined(v, separator, url.QueryEscape)
	if !ok {
		return lacking()
	}
	return []string{name + "=" + text}
}

// joined returns a value as text: the elements of a list, or the names and values of an object, with a separator.
func joined(v any, separator string, escape func(string) string) (string, bool) {
	var parts []any
	switch v := v.(type) {
	case []any:
		parts = v
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, key, v[key])
		}
	default:
		parts = []any{v}
	}
	var texts []string
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			texts = append(texts, escape(p))
		case []any, map[string]any, nil:
			return "", false
		default:
			text, err := json.Marshal(p)
			if err != nil {
				return "", false
			}
			texts = append(texts, escape(string(text)))
		}
	}
	return strings.Join(texts, separator), true
}

// body adds the body, if one is required or has an example.
func (m *maker) body(ref *openapi3.RequestBodyRef) {
	if ref == nil || ref.Value == nil || len(ref.Value.Content) == 0 {
		return
	}
	kind, content := chosen(ref.Value.Content)
	if content == nil {
		return
	}
	value, given := example(content.Example, content.Examples, content.Schema)
	if !given && !ref.Value.Required && !m.shows(content.Schema, 0) {
		return
	}
	m.op.BodyType = strings.Replace(kind, "*/*", "application/json", 1)
	sendable := isJSON(kind) || isForm(kind)
	if !given && sendable {
		value = m.value(content.Schema, "body", 0)
		if fields, isObject := value.(map[string]any); isObject && len(fields) == 0 {
			given = false
		} else {
			given = true
		}
	}
	if text, isText := value.(string); given && !sendable {
		// An example of XML or text is sent as given. One of another format is not: its bytes are not in the
		// document.
		given = isText && !strings.HasPrefix(kind, "multipart/") && text != ""
	}
	if !given {
		value = m.place("body")
	}
	m.op.Body = value
	body, err := written(value, kind)
	if err != nil {
		m.op.Body = m.place("body")
		body = fmt.Append(nil, m.op.Body)
	}
	q := &m.op.Request
	q.Body = body
	if request.FieldValue(m.op.BodyType) {
		q.Fields = append(q.Fields, request.Field{Name: "Content-Type", Value: m.op.BodyType})
	}
}

// written encodes a body for sending.
func written(value any, kind string) ([]byte, error) {
	text, isText := value.(string)
	if isText && (!isJSON(kind) || strings.HasPrefix(text, "{{.")) {
		return []byte(text), nil
	}
	if fields, isObject := value.(map[string]any); isObject && isForm(kind) {
		var pairs []string
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			text, ok := joined(fields[name], ",", func(s string) string {
				if strings.HasPrefix(s, "{{.") {
					return strings.TrimSuffix(s, "}}") + " | urlquery}}"
				}
				return url.QueryEscape(s)
			})
			if !ok {
				return nil, fmt.Errorf("a form has no objects in it")
			}
			pairs = append(pairs, url.QueryEscape(name)+"="+text)
		}
		return []byte(strings.Join(pairs, "&")), nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
