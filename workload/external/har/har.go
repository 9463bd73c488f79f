// Package har reads traffic recorded by browsers and proxies, in the format HAR 1.2: each entry is a request with
// its recorded reply. It does not know how they are used, and returns everything that could be sent again: the
// caller selects hosts and methods.
package har

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"wirelab/workload/external/request"
)

// Limits of the input.
const (
	MostBytes   = 512 << 20
	MostEntries = 65_536
)

// begins is how a HAR file begins.
const begins = `{"log": {"version": "1.2", …`

// elsewhere are the schemes of URLs that a browser records besides those of HTTP.
var elsewhere = []string{
	"data", "blob", "about", "file", "chrome", "chrome-extension", "moz-extension", "ws", "wss",
}

// entry is the part of an entry that is read.
type entry struct {
	Request struct {
		Method   string  `json:"method"`
		URL      string  `json:"url"`
		Headers  []field `json:"headers"`
		PostData *struct {
			MimeType string  `json:"mimeType"`
			Text     *string `json:"text"`
			Encoding string  `json:"encoding"`
			Params   []struct {
				Name     string  `json:"name"`
				Value    string  `json:"value"`
				FileName *string `json:"fileName"`
			} `json:"params"`
		} `json:"postData"`
	} `json:"request"`
	Response *struct {
		Status  int     `json:"status"`
		Headers []field `json:"headers"`
		Content *struct {
			Size     float64 `json:"size"`
			Text     *string `json:"text"`
			Encoding string  `json:"encoding"`
		} `json:"content"`
	} `json:"response"`
}

type field struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// reader reads one file.
type reader struct {
	name  string
	data  []byte
	dec   *json.Decoder
	line  int   // the line of the byte at counted
	up    int64 // how far lines are counted
	begun int   // the line of the entry that is read
	out   []request.Request
	notes []string
}

// Read returns the requests of a HAR file with their recorded replies, and notes on what was left out.
func Read(name string, data []byte) ([]request.Request, []string, error) {
	if len(data) > MostBytes {
		return nil, nil, request.Faultf(name, 0, "the file has %d MiB; at most %d are read, so record less or split it",
			len(data)>>20, MostBytes>>20)
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	r := &reader{name: name, data: data, line: 1, dec: json.NewDecoder(bytes.NewReader(data))}
	if err := r.read(); err != nil {
		return nil, nil, err
	}
	return r.out, r.notes, nil
}

func (r *reader) read() error {
	entries := false
	err := r.object("the file", func(key string) error {
		if key != "log" {
			return r.skip()
		}
		return r.object(`"log"`, func(key string) error {
			if key != "entries" {
				return r.skip()
			}
			entries = true
			return r.entries()
		})
	})
	if err != nil {
		return err
	}
	if !entries {
		return request.Faultf(r.name, 1, `there is no "log" with "entries"; a HAR file begins with %s`, begins)
	}
	if _, err := r.dec.Token(); err == nil {
		return r.faultf("there is more after the end of the log; one file has one log")
	}
	if r.out == nil {
		return request.Faultf(r.name, 1, "there is no entry that can be sent; record some requests%s", r.first())
	}
	return nil
}

// first returns the first note, for an error that it explains.
func (r *reader) first() string {
	if len(r.notes) == 0 {
		return ""
	}
	return " (" + r.notes[0] + ")"
}

// object reads an object and calls f for each key, which reads its value.
func (r *reader) object(what string, f func(key string) error) error {
	token, err := r.dec.Token()
	if err != nil {
		return r.syntax(err)
	}
	if token != json.Delim('{') {
		return r.faultf("%s is no object; a HAR file begins with %s", what, begins)
	}
	for r.dec.More() {
		key, err := r.dec.Token()
		if err != nil {
			return r.syntax(err)
		}
		if err := f(fmt.Sprint(key)); err != nil {
			return err
		}
	}
	if _, err = r.dec.Token(); err != nil {
		return r.syntax(err)
	}
	return nil
}

// skip reads a value that is not needed.
func (r *reader) skip() error {
	var unread json.RawMessage
	if err := r.dec.Decode(&unread); err != nil {
		return r.syntax(err)
	}
	return nil
}

func (r *reader) entries() error {
	token, err := r.dec.Token()
	if err != nil {
		return r.syntax(err)
	}
	if token != json.Delim('[') {
		return r.faultf(`"entries" is no list; write "entries": [ … ]`)
	}
	for n := 1; r.dec.More(); n++ {
		if n > MostEntries {
			return r.faultf("there are more than %d entries; split the file", MostEntries)
		}
		line := r.at(r.next())
		r.begun = line
		var e entry
		if err := r.dec.Decode(&e); err != nil {
			return r.syntax(err)
		}
		if err := r.entry(n, line, &e); err != nil {
			return err
		}
	}
	if _, err = r.dec.Token(); err != nil {
		return r.syntax(err)
	}
	return nil
}

// entry adds one entry, or a note why it is left out.
func (r *reader) entry(n, line int, e *entry) error {
	q := request.Request{At: fmt.Sprintf("%s: entry %d", r.name, n), Method: e.Request.Method, URL: e.Request.URL}
	if scheme, _, _ := strings.Cut(strings.ToLower(q.URL), ":"); slices.Contains(elsewhere, scheme) {
		r.notef(line, "entry %d is left out: its URL is of kind %s: and not HTTP", n, scheme)
		return nil
	}
	if !request.Method(q.Method) {
		return request.Faultf(r.name, line, `entry %d: "method" is %q; it is a word such as "GET"`,
			n, request.Short(q.Method))
	}
	if q.Method == http.MethodConnect {
		r.notef(line, "entry %d is left out: CONNECT opens a tunnel of a proxy and asks no service", n)
		return nil
	}
	target, user, err := request.Target(escaped(q.URL))
	if err != nil || !strings.Contains(target, "://") {
		return request.Faultf(r.name, line, `entry %d: "url" is %q; it is one such as "http://localhost:8080/items"`,
			n, request.ShownURL(q.URL))
	}
	q.URL = target
	if q.Fields, err = r.fields(n, line, e.Request.Headers, q.URL); err != nil {
		return err
	}
	if user != "" && request.Get(q.Fields, "Authorization") == "" {
		q.Fields = append(q.Fields, request.Field{
			Name:  "Authorization",
			Value: "Basic " + base64.StdEncoding.EncodeToString([]byte(user)),
		})
	}
	kept, err := r.body(n, line, e, &q)
	if err != nil || !kept {
		return err
	}
	if q.Reply, err = r.reply(n, line, e); err != nil {
		return err
	}
	r.out = append(r.out, q)
	return nil
}

// body adds what was sent, and reports whether it is known.
func (r *reader) body(n, line int, e *entry, q *request.Request) (bool, error) {
	post := e.Request.PostData
	if post == nil {
		return true, nil
	}
	switch {
	case post.Text != nil && post.Encoding != "":
		body, err := decoded(*post.Text, post.Encoding)
		if err != nil {
			return false, request.Faultf(r.name, line, `entry %d: the "text" of "postData" is not %v`, n, err)
		}
		q.Body = body
	case post.Text != nil && *post.Text != "" || len(post.Params) == 0:
		if post.Text != nil {
			q.Body = []byte(*post.Text)
		}
	case strings.HasPrefix(strings.ToLower(post.MimeType), "application/x-www-form-urlencoded"):
		var pairs []string
		for _, p := range post.Params {
			pairs = append(pairs, form(p.Name)+"="+form(p.Value))
		}
		q.Body = []byte(strings.Join(pairs, "&"))
	default:
		r.notef(line, "entry %d is left out: its body was recorded as parts of %s, without the bytes that were sent",
			n, request.Short(post.MimeType))
		return false, nil
	}
	if len(q.Body) > 0 && post.MimeType != "" && request.Get(q.Fields, "Content-Type") == "" {
		if !request.FieldValue(post.MimeType) {
			return false, request.Faultf(r.name, line, `entry %d: "mimeType" is %q; it is one line`,
				n, request.Short(post.MimeType))
		}
		q.Fields = append(q.Fields, request.Field{Name: "Content-Type", Value: post.MimeType})
	}
	return true, nil
}

// form returns a part of a form as it was sent. Some programs record it encoded, and others decoded.
func form(text string) string {
	if plain, err := url.QueryUnescape(text); err == nil && plain != text {
		return text
	}
	return url.QueryEscape(text)
}

// reply returns the recorded reply; nil: none came.
func (r *reader) reply(n, line int, e *entry) (*request.Reply, error) {
	if e.Response == nil || e.Response.Status < 100 || e.Response.Status > 599 {
		return nil, nil
	}
	reply := &request.Reply{Status: e.Response.Status, BodyUnknown: true}
	for _, f := range e.Response.Headers {
		// The content is recorded as it was before it was compressed and cut into pieces.
		if !request.OfConnection(f.Name) && !strings.EqualFold(f.Name, "Content-Encoding") &&
			request.FieldName(f.Name) {
			reply.Fields = append(reply.Fields, request.Field(f))
		}
	}
	content := e.Response.Content
	if content == nil {
		return reply, nil
	}
	if content.Text == nil {
		reply.BodyUnknown = content.Size != 0
		return reply, nil
	}
	body, err := decoded(*content.Text, content.Encoding)
	if err != nil {
		return nil, request.Faultf(r.name, line, `entry %d: the "text" of "content" is not %v`, n, err)
	}
	reply.Body, reply.BodyUnknown = body, false
	return reply, nil
}

// fields returns the fields that are sent again.
func (r *reader) fields(n, line int, all []field, target string) ([]request.Field, error) {
	var out []request.Field
	for _, f := range all {
		if request.OfConnection(f.Name) {
			continue
		}
		if strings.EqualFold(f.Name, "Host") {
			if u, err := url.Parse(target); err == nil && strings.EqualFold(u.Host, f.Value) {
				continue
			}
		}
		if !request.FieldName(f.Name) {
			return nil, request.Faultf(r.name, line,
				"entry %d: %q is not the name of a header field; correct or delete it",
				n, request.Short(f.Name))
		}
		// Firefox and Fiddler record repeated fields as one, with lines.
		value := strings.TrimSpace(strings.ReplaceAll(strings.ReplaceAll(f.Value, "\r\n", "\n"), "\n", ", "))
		if !request.FieldValue(value) {
			return nil, request.Faultf(r.name, line,
				"entry %d: the value of the header field %s has control characters; delete them", n, f.Name)
		}
		out = append(out, request.Field{Name: f.Name, Value: value})
	}
	return out, nil
}

// decoded returns the bytes of a text in the encoding that the file says. The error names it.
func decoded(text, encoding string) ([]byte, error) {
	switch strings.ToLower(encoding) {
	case "", "utf-8", "utf8":
		return []byte(text), nil
	case "base64":
		body, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
		if err != nil {
			return nil, errors.New(`base64, which its "encoding" says; correct one of them`)
		}
		return body, nil
	}
	return nil, fmt.Errorf(`known in the encoding %q; "base64" is, and none`, request.Short(encoding))
}

// escaped returns a URL with what browsers show and do not send so.
func escaped(text string) string {
	return strings.NewReplacer(" ", "%20", "\t", "%09", "\n", "", "\r", "").Replace(text)
}

func (r *reader) notef(line int, format string, args ...any) {
	const most = 100
	if len(r.notes) < most {
		r.notes = append(r.notes, request.Place(r.name, line)+fmt.Sprintf(format, args...))
	} else if len(r.notes) == most {
		r.notes = append(r.notes, r.name+": more entries are left out")
	}
}

// next returns where the next value begins.
func (r *reader) next() int64 {
	at := r.dec.InputOffset()
	for at < int64(len(r.data)) && strings.IndexByte(" \t\r\n,:", r.data[at]) >= 0 {
		at++
	}
	return at
}

// at returns the line of an offset, which is not before the last one asked for.
func (r *reader) at(offset int64) int {
	offset = min(max(offset, r.up), int64(len(r.data)))
	r.line += bytes.Count(r.data[r.up:offset], []byte("\n"))
	r.up = offset
	return r.line
}

func (r *reader) faultf(format string, args ...any) error {
	return request.Faultf(r.name, r.at(r.dec.InputOffset()), format, args...)
}

// syntax returns the error for one of the decoder.
func (r *reader) syntax(err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return request.Faultf(r.name, r.at(r.dec.InputOffset()), "the JSON is broken: %s; save the log anew as HAR",
			syntax)
	case errors.As(err, &kind):
		return request.Faultf(r.name, max(r.begun, 1), "in the entry that begins here %q is %s; %s is right",
			kind.Field, kind.Value, plain(kind.Type.Kind().String()))
	}
	return request.Faultf(r.name, r.at(int64(len(r.data))), "the file ends too early; save the log anew as HAR")
}

// plain returns a kind of Go's values as one of JSON's.
func plain(kind string) string {
	switch kind {
	case "string", "ptr":
		return "a string"
	case "slice":
		return "a list"
	case "int", "float64":
		return "a number"
	}
	return "an object"
}
