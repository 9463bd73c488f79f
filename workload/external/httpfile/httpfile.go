// Package httpfile reads files of requests as editors have them, .http and .rest: the form of VS Code's REST client,
// and that of the IDEs of JetBrains where it is the same. It runs no scripts, and asks no server for the value of a
// variable: what a file leaves to them is refused, or left out with a note.
package httpfile

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"wirelab/workload/external/request"
)

// Limits of the input.
const (
	MostBytes    = 16 << 20
	MostRequests = 65_536
	mostBody     = 64 << 20
)

// reader reads one file.
type reader struct {
	name  string
	from  request.Sources
	lines []string
	// vars are the variables of the file. A request sees the definition above it, or else the first below.
	vars  map[string]string
	out   []request.Request
	notes []string
	// spent is how many bytes the values of variables have taken in all.
	spent int
}

var (
	definition = regexp.MustCompile(`^@([^\s=]+)\s*=\s*(.*?)\s*$`)
	named      = regexp.MustCompile(`^(?:#|//)\s*@name(?:\s+|\s*=\s*)(\S+)\s*$`)
	version    = regexp.MustCompile(`^HTTP/[0-9.]+$`)
	verb       = regexp.MustCompile(`^[A-Z]{3,20}$`)
)

// Read returns the requests of a file, and notes on what was left out.
func Read(name string, data []byte, from request.Sources) ([]request.Request, []string, error) {
	if len(data) > MostBytes {
		return nil, nil, request.Faultf(name, 0,
			"the file has %d MiB; at most %d are read, so put bodies into files: < FILE",
			len(data)>>20, MostBytes>>20)
	}
	text := string(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return nil, nil, request.Faultf(name, 0, "the file is not a text in UTF-8; save it as UTF-8")
	}
	r := &reader{name: name, from: from, vars: map[string]string{}}
	for line := range strings.Lines(text) {
		r.lines = append(r.lines, strings.TrimRight(line, "\r\n"))
	}
	for _, line := range r.lines {
		if d := definition.FindStringSubmatch(line); d != nil {
			if _, known := r.vars[d[1]]; !known {
				r.vars[d[1]] = d[2]
			}
		}
	}
	for begin := 0; begin <= len(r.lines); {
		end := begin
		for end < len(r.lines) && !strings.HasPrefix(r.lines[end], "###") {
			end++
		}
		title := ""
		if begin > 0 {
			title = strings.TrimSpace(strings.TrimLeft(r.lines[begin-1], "#"))
		}
		if err := r.part(title, begin, end); err != nil {
			return nil, nil, err
		}
		begin = end + 1
	}
	if r.out == nil {
		return nil, nil, request.Faultf(name, 1,
			"there is no request; write one such as: GET http://localhost:8080/items")
	}
	return r.out, r.notes, nil
}

func (r *reader) notef(line int, format string, args ...any) {
	const most = 100
	if len(r.notes) < most {
		r.notes = append(r.notes, request.Place(r.name, line)+fmt.Sprintf(format, args...))
	} else if len(r.notes) == most {
		r.notes = append(r.notes, r.name+": there are more notes")
	}
}

// faultf returns an error of the line with an index.
func (r *reader) faultf(i int, format string, args ...any) error {
	return request.Faultf(r.name, i+1, format, args...)
}

// part reads the lines between two separators: one request, or none.
func (r *reader) part(title string, i, end int) error {
	q := request.Request{Name: title}
	i, err := r.before(&q, i, end)
	if err != nil || i >= end {
		return err
	}
	if len(r.out) >= MostRequests {
		return r.faultf(i, "there are more than %d requests; split the file", MostRequests)
	}
	q.At = fmt.Sprintf("%s:%d", r.name, i+1)
	first := i
	if i, err = r.requestLine(&q, i, end); err != nil {
		return err
	}
	if i, err = r.fields(&q, i, end); err != nil {
		return err
	}
	if err := r.body(&q, i, end); err != nil {
		return err
	}
	if err := r.finish(&q, first); err != nil {
		return err
	}
	r.out = append(r.out, q)
	return nil
}

// before reads what may stand above a request: comments, names, variables, scripts.
func (r *reader) before(q *request.Request, i, end int) (int, error) {
	for i < end {
		line := strings.TrimSpace(r.lines[i])
		switch {
		case line == "":
		case strings.HasPrefix(line, "#") || strings.HasPrefix(line, "//"):
			if n := named.FindStringSubmatch(line); n != nil {
				q.Name = n[1]
			}
		case definition.MatchString(line):
			d := definition.FindStringSubmatch(line)
			r.vars[d[1]] = d[2]
		case strings.HasPrefix(line, "@"):
			return 0, r.faultf(i, "%q sets no variable; write @name = value", request.Short(line))
		case strings.HasPrefix(line, "<"):
			i = r.script(i, end, "a script that runs before the request is left out; wirelab runs none")
			continue
		case strings.HasPrefix(line, "{{") && !strings.Contains(line, "}}"):
			i = r.block(i, end)
			continue
		default:
			return i, nil
		}
		i++
	}
	return i, nil
}

// block leaves out a script of httpYac, from {{ to }}, each on its own line.
func (r *reader) block(i, end int) int {
	r.notef(i+1, "a script is left out; wirelab runs none")
	for i++; i < end; i++ {
		if strings.TrimSpace(r.lines[i]) == "}}" {
			return i + 1
		}
	}
	return end
}

// script leaves out a script, which is a file or is between {% and %}, and returns the line after it.
func (r *reader) script(i, end int, why string) int {
	r.notef(i+1, "%s", why)
	if !strings.Contains(r.lines[i], "{%") {
		return i + 1
	}
	for ; i < end; i++ {
		if strings.Contains(r.lines[i], "%}") {
			return i + 1
		}
	}
	return end
}

// requestLine reads the method and the URL, which may go on on lines that begin with a space.
func (r *reader) requestLine(q *request.Request, i, end int) (int, error) {
	first := i
	line := strings.TrimSpace(r.lines[i])
	i++
	for ; i < end; i++ {
		more := strings.TrimSpace(r.lines[i])
		if more == "" || r.lines[i][0] != ' ' && r.lines[i][0] != '\t' {
			break
		}
		if !strings.HasPrefix(more, "#") && !strings.HasPrefix(more, "//") {
			line += more
		}
	}
	line, err := r.filled(first, line)
	if err != nil {
		return 0, err
	}
	q.Method = "GET"
	word, rest, more := strings.Cut(line, " ")
	if rest = strings.TrimSpace(rest); more && verb.MatchString(word) {
		q.Method, line = word, rest
	}
	if cut := strings.LastIndex(line, " "); cut >= 0 && version.MatchString(line[cut+1:]) {
		line = strings.TrimSpace(line[:cut])
	}
	switch q.Method {
	case "GRAPHQL":
		return 0, r.faultf(first,
			"GRAPHQL is no method of HTTP; write POST, and the header field X-Request-Type: GraphQL")
	case "WEBSOCKET", "WS", "GRPC", "RSOCKET", "MQTT", "SSE", "AMQP", "EVENTSOURCE":
		return 0, r.faultf(first,
			"%s is no method of HTTP; requests over other protocols are written into the description",
			q.Method)
	}
	if strings.HasPrefix(line, "curl ") || line == "curl" {
		return 0, r.faultf(first,
			"a curl command stands in a file of requests; write it into a file of curl commands, "+
				"or as: GET http://localhost:8080/items")
	}
	if strings.HasPrefix(line, "HTTP/") {
		return 0, r.faultf(first, "a reply stands where a request is expected; keep replies in other files")
	}
	// Editors send a space as people type it in the only way that there is.
	target, user, err := request.Target(strings.ReplaceAll(line, " ", "%20"))
	if err != nil {
		return 0, r.faultf(first, "%v", err)
	}
	q.URL = target
	if user != "" {
		q.Fields = append(q.Fields, request.Field{Name: "Authorization", Value: basic(user)})
	}
	return i, nil
}

// fields reads the header fields.
func (r *reader) fields(q *request.Request, i, end int) (int, error) {
	for ; i < end; i++ {
		line := strings.TrimSpace(r.lines[i])
		switch {
		case line == "":
			return i + 1, nil
		case strings.HasPrefix(line, "#"), strings.HasPrefix(line, "//"):
			if n := named.FindStringSubmatch(line); n != nil {
				q.Name = n[1]
			}
			continue
		case handler.MatchString(line), kept.MatchString(line):
			return i, nil
		case strings.HasPrefix(line, "?? "):
			r.notef(i+1, "a check of the reply is left out; say what a right reply is in the description")
			continue
		}
		name, value, colon := strings.Cut(line, ":")
		name = strings.TrimSpace(name)
		if !colon || !request.FieldName(name) {
			return 0, r.faultf(i, "%q is no header field; write Name: value, and an empty line before the body",
				request.Short(firstWord(line)))
		}
		value, err := r.filled(i, strings.TrimSpace(value))
		if err != nil {
			return 0, err
		}
		if value, err = r.fieldValue(i, name, value); err != nil {
			return 0, err
		}
		if !request.OfConnection(name) {
			q.Fields = append(q.Fields, request.Field{Name: name, Value: value})
		}
	}
	return i, nil
}

// firstWord returns the first word of a line, since the others may be a secret.
func firstWord(line string) string {
	word, _, more := strings.Cut(line, " ")
	if more {
		return word + " …"
	}
	return word
}

// fieldValue returns the value of a header field for sending: such files contain user and password unencoded.
func (r *reader) fieldValue(i int, name, value string) (string, error) {
	if !request.FieldValue(value) {
		return "", r.faultf(i, "the value of %s has control characters; a header field is one line", name)
	}
	if !strings.EqualFold(name, "Authorization") {
		return value, nil
	}
	scheme, rest, _ := strings.Cut(value, " ")
	rest = strings.TrimSpace(rest)
	switch strings.ToLower(scheme) {
	case "digest":
		if !strings.Contains(rest, "=") {
			return "", r.faultf(i, "the server must be asked first for Digest; write the field in its final form")
		}
	case "aws", "aadtoken", "aadv2token":
		return "", r.faultf(i, "%s is generated by an editor; write the field in its final form", scheme)
	case "basic":
		if user, password, two := strings.Cut(rest, " "); two {
			return basic(user + ":" + strings.TrimSpace(password)), nil
		}
		if strings.Contains(rest, ":") {
			return basic(rest), nil
		}
	}
	return value, nil
}

func basic(user string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(user)) }

// finish joins the parts of a request that stand apart in the file.
func (r *reader) finish(q *request.Request, first int) error {
	if strings.HasPrefix(q.URL, "/") {
		for i, f := range q.Fields {
			if strings.EqualFold(f.Name, "Host") {
				target, _, err := request.Target("http://" + f.Value + q.URL)
				if err != nil {
					return r.faultf(first, "%v", err)
				}
				q.URL = target
				q.Fields = append(q.Fields[:i], q.Fields[i+1:]...)
				break
			}
		}
	}
	return r.graphQL(q, first)
}
