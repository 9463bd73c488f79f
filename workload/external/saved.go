package external

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"wirelab"
	"wirelab/workload/external/request"
)

// source is the position in a reply of a value that a step saves.
type source struct {
	name   string
	text   string   // as in the description
	header string   // "": it is in the body
	parts  []string // of the JSON pointer
}

// pointerDepth is the maximum number of parts of a JSON pointer.
const pointerDepth = 32

// sourcesOf parses the values that a step saves, sorted by name.
func sourcesOf(save map[string]string) (all []source, err error) {
	for _, name := range slices.Sorted(maps.Keys(save)) {
		s := source{name: name, text: save[name]}
		if !savedName.MatchString(name) {
			return nil, bad(name[:min(len(name), 40)], "it must be a name like token, of letters, digits and _")
		}
		header, is := strings.CutPrefix(s.text, "header:")
		if is {
			s.header = strings.TrimSpace(header)
			if !request.FieldName(s.header) {
				return nil, bad(name, "%.60q names no header; write for example header:Location", s.text)
			}
			all = append(all, s)
			continue
		}
		rest, is := strings.CutPrefix(s.text, "/")
		if !is {
			return nil, bad(name, "%.60q is no JSON pointer; one begins with a slash: /token, /items/0/id. "+
				"A header is header:Location", s.text)
		}
		for part := range strings.SplitSeq(rest, "/") {
			if len(s.parts) == pointerDepth {
				return nil, bad(name, "JSON pointer %.60q has more than %d parts", s.text, pointerDepth)
			}
			s.parts = append(s.parts, strings.ReplaceAll(strings.ReplaceAll(part, "~1", "/"), "~0", "~"))
		}
		all = append(all, s)
	}
	return all, nil
}

// unsaved is the cause of a reply that lacks a value to save.
const unsaved wirelab.Cause = "nothing to save"

// find returns the value in a reply. body is the body of the reply as JSON.
func (s source) find(reply request.Reply, body []byte, w Wire, target string) (any, error) {
	if s.header != "" {
		value := request.Get(reply.Fields, s.header)
		switch {
		case value == "":
			return nil, s.missing("no header " + s.header)
		case len(value) > savedLimit:
			return nil, s.tooLarge()
		case strings.EqualFold(s.header, "location"), strings.EqualFold(s.header, "content-location"):
			return pathOf(value, w, target), nil
		}
		return value, nil
	}
	raw, found := pointed(body, s.parts)
	switch {
	case !found:
		return nil, s.missing("nothing at " + s.text)
	case len(raw) > savedLimit:
		return nil, s.tooLarge()
	}
	from := json.NewDecoder(bytes.NewReader(raw))
	from.UseNumber()
	var value any
	if err := from.Decode(&value); err != nil || value == nil {
		return nil, s.missing("null at " + s.text)
	}
	return value, nil
}

// missing returns the error for a reply without the value.
func (s source) missing(what string) error {
	return wirelab.Caused(unsaved, wirelab.Internal, "the reply has %s, which is to be saved as %s", what, s.name)
}

func (s source) tooLarge() error {
	return wirelab.Caused(unsaved, wirelab.ResourceExhausted,
		"the value at %s has more than %d KiB: save a part of it", s.text, savedLimit>>10)
}

// pointed returns the value at a JSON pointer.
func pointed(document []byte, parts []string) (json.RawMessage, bool) {
	at := json.RawMessage(document)
	for _, part := range parts {
		at = bytes.TrimSpace(at)
		switch {
		case len(at) > 0 && at[0] == '{':
			var members map[string]json.RawMessage
			if json.Unmarshal(at, &members) != nil {
				return nil, false
			}
			inner, has := members[part]
			if !has {
				return nil, false
			}
			at = inner
		case len(at) > 0 && at[0] == '[':
			var items []json.RawMessage
			n, err := strconv.Atoi(part)
			if err != nil || n < 0 || json.Unmarshal(at, &items) != nil || n >= len(items) {
				return nil, false
			}
			at = items[n]
		default:
			return nil, false
		}
	}
	return at, true
}

// pathOf converts a Location on the service itself to a path for calls: without scheme, host and the prefix of the
// target's URL. A Location on another host is returned unchanged, and no request can be made of it.
func pathOf(value string, w Wire, target string) string {
	at, err := url.Parse(value)
	if err != nil || at.Host != "" && !strings.EqualFold(at.Host, w.Authority) ||
		at.Scheme != "" && at.Scheme != w.scheme() {
		return value
	}
	path := at.EscapedPath()
	if base, err := url.Parse(target); err == nil {
		rest, under := strings.CutPrefix(path, strings.TrimSuffix(base.EscapedPath(), "/"))
		if under && strings.HasPrefix(rest, "/") {
			path = rest
		}
	}
	if at.RawQuery != "" {
		path += "?" + at.RawQuery
	}
	return path
}

// hidden replaces a saved value in texts, like a secret in results.
const hidden = "(secret)"

// hidingWhole is the length below which a value is hidden only where it is a separate word: it would be found
// inside unrelated words.
const hidingWhole = 4

// secretTexts adds the texts of a saved value, including nested ones.
func secretTexts(all []string, value any) []string {
	switch v := value.(type) {
	case string:
		if v != "" {
			all = append(all, v)
		}
	case json.Number:
		all = append(all, v.String())
	case []any:
		for _, one := range v {
			all = secretTexts(all, one)
		}
	case map[string]any:
		for _, one := range v {
			all = secretTexts(all, one)
		}
	}
	return all
}

// cutMost is the maximum length of the beginning of a secret that is searched at the end of a text: texts are cut
// at less.
const cutMost = 1 << 10

// hide replaces secrets in a text, in all encodings that they have in requests.
func hide(text string, secrets []string) string {
	secrets = slices.Clone(secrets)
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	for _, secret := range slices.Compact(secrets) {
		quoted, _ := json.Marshal(secret) // a string can always be encoded
		forms := []string{secret, url.QueryEscape(secret), url.PathEscape(secret), strings.Trim(string(quoted), `"`)}
		for _, form := range forms {
			if len(form) < hidingWhole {
				text = hideWords(text, form)
				continue
			}
			text = strings.ReplaceAll(text, form, hidden)
		}
	}
	return text
}

// hideCut is hide for a text that may have been cut inside a secret.
func hideCut(text string, secrets []string) string {
	text = hide(text, secrets)
	body := strings.TrimRight(text, "…\"")
	for _, secret := range secrets {
		for n := min(len(secret)-1, cutMost); n >= hidingWhole; n-- {
			if strings.HasSuffix(body, secret[:n]) {
				return body[:len(body)-n] + hidden + text[len(body):]
			}
		}
	}
	return text
}

// hideIn returns a document without secrets: as JSON if it is JSON.
func hideIn(document []byte, secrets []string) []byte {
	from := json.NewDecoder(bytes.NewReader(document))
	from.UseNumber()
	var value any
	if !json.Valid(document) || from.Decode(&value) != nil {
		return []byte(hide(string(document), secrets))
	}
	text, err := encode("", hideValue(value, secrets))
	if _, is := value.(string); is || err != nil {
		text, _ = json.Marshal(hide(string(document), secrets)) // a string can always be encoded
	}
	return text
}

// hideValue returns a decoded JSON value without secrets.
func hideValue(value any, secrets []string) any {
	switch v := value.(type) {
	case string:
		return hide(v, secrets)
	case json.Number:
		if slices.Contains(secrets, v.String()) {
			return hidden
		}
	case []any:
		for i := range v {
			v[i] = hideValue(v[i], secrets)
		}
	case map[string]any:
		all := make(map[string]any, len(v))
		for name, inner := range v {
			all[hide(name, secrets)] = hideValue(inner, secrets)
		}
		return all
	}
	return value
}

// hideWords hides a short secret where it is a separate word.
func hideWords(text, word string) string {
	inner := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, word)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		left, _ := utf8.DecodeLastRuneInString(before)
		right, _ := utf8.DecodeRuneInString(after)
		if before != "" && inner(left) || after != "" && inner(right) {
			b.WriteString(word)
		} else {
			b.WriteString(hidden)
		}
		text = after
	}
}

// fieldsOfHeader returns the header fields of a reply.
func fieldsOfHeader(header http.Header) (all []request.Field) {
	for _, name := range slices.Sorted(maps.Keys(header)) {
		for _, value := range header[name] {
			all = append(all, request.Field{Name: name, Value: value})
		}
	}
	return all
}
