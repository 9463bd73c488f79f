package curl

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strings"

	"wirelab/workload/external/request"
)

// Limits of the input.
const (
	MostBytes    = 64 << 20
	MostRequests = 65_536
	mostBody     = 64 << 20
)

// several are the parts of a URL that curl makes several URLs of.
var several = regexp.MustCompile(`[{}]|\[[0-9A-Za-z]+-[0-9A-Za-z]+(:[0-9]+)?\]`)

// call is what the options of one request say.
type call struct {
	line    int
	method  string
	urls    []word
	query   []string
	fields  []request.Field
	removed map[string]bool
	data    []byte
	hasData bool
	json    bool
	get     bool
	head    bool
	globoff bool
	upload  *word
	cookies []string
	user    string
	noted   map[string]bool
}

// reader reads one file.
type reader struct {
	name  string
	from  request.Sources
	out   []request.Request
	notes []string
}

// Read returns the requests of the curl commands of a text, and notes on options that are not part of a request.
func Read(name string, data []byte, from request.Sources) ([]request.Request, []string, error) {
	if len(data) > MostBytes {
		return nil, nil, request.Faultf(name, 0,
			"the file has %d MiB; at most %d are read, so put bodies into files: -d @FILE", len(data)>>20,
			MostBytes>>20)
	}
	text := string(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))
	if i := strings.IndexByte(text, 0); i >= 0 {
		return nil, nil, request.Faultf(name, 1+strings.Count(text[:i], "\n"),
			"there is a zero byte; a command is text")
	}
	var commands []command
	if isCmd(text) {
		commands = cmdCommands(text)
	} else {
		s := shell{name: name, text: text, from: from, vars: map[string]string{}}
		var err error
		if commands, err = s.commands(); err != nil {
			return nil, nil, err
		}
	}
	r := &reader{name: name, from: from}
	for _, c := range commands {
		if err := r.command(c); err != nil {
			return nil, nil, err
		}
	}
	if r.out == nil {
		return nil, nil, request.Faultf(name, 1,
			"there is no curl command; write one such as: curl http://localhost:8080/items")
	}
	return r.out, r.notes, nil
}

func (r *reader) faultf(line int, format string, args ...any) error {
	return request.Faultf(r.name, line, format, args...)
}

func (r *reader) notef(line int, format string, args ...any) {
	const most = 100
	if len(r.notes) < most {
		r.notes = append(r.notes, request.Place(r.name, line)+fmt.Sprintf(format, args...))
	} else if len(r.notes) == most {
		r.notes = append(r.notes, r.name+": there are more notes")
	}
}

// command reads one command line.
func (r *reader) command(c command) error {
	words := c.words
	// Documentation shows the prompt of the shell.
	if len(words) > 1 && (words[0].text == "$" || words[0].text == "%") {
		words = words[1:]
	}
	program := words[0]
	switch base := strings.ToLower(path.Base(strings.ReplaceAll(program.text, `\`, "/"))); base {
	case "curl", "curl.exe":
	case "invoke-webrequest", "iwr", "fetch", "wget", "http", "https":
		return r.faultf(program.line, "the command is %q and not curl; copy the request as cURL", base)
	default:
		return r.faultf(program.line, "the command is %q and not curl; leave only curl commands in the file, "+
			"each on its own line or with \\ at the end of a continued line", request.Short(program.text))
	}
	if c.piped != "" {
		r.notef(program.line, "what reads the reply is left out: %s", request.Short(c.piped))
	}
	now := newCall(program.line)
	for i := 1; i < len(words); i++ {
		took, err := r.word(&now, words, i)
		if err != nil {
			return err
		}
		i += took
	}
	return r.finish(now)
}

func newCall(line int) *call {
	return &call{line: line, removed: map[string]bool{}, noted: map[string]bool{}}
}

// word reads the word at i, and returns how many after it belong to it.
func (r *reader) word(now **call, words []word, i int) (int, error) {
	w := words[i]
	switch {
	case strings.HasPrefix(w.text, "--") && len(w.text) > 2:
		name, o, known := find(w.text[2:])
		if !known {
			return 0, r.faultf(w.line, "the option %s is not known; %s", request.Short(w.text), guess(name))
		}
		return r.option(now, w, w.text, name, o, words[i+1:])
	case strings.HasPrefix(w.text, "-") && len(w.text) > 1 && w.text != "--":
		return r.letters(now, w, words[i+1:])
	case w.text == "--":
	case w.text != "":
		(*now).urls = append((*now).urls, w)
	}
	return 0, nil
}

// letters reads a word such as -sXPOST.
func (r *reader) letters(now **call, w word, rest []word) (int, error) {
	for i := 1; i < len(w.text); i++ {
		name, known := short[w.text[i]]
		if !known {
			return 0, r.faultf(w.line, "the option -%s is not known; delete it if it does not change the request",
				strings.ToValidUTF8(w.text[i:i+1], "?"))
		}
		_, o, _ := find(name)
		shown := "-" + w.text[i:i+1]
		if !o.takes {
			if _, err := r.option(now, w, shown, name, o, nil); err != nil {
				return 0, err
			}
			continue
		}
		if i+1 < len(w.text) {
			_, err := r.option(now, w, shown, name, o, []word{{w.text[i+1:], w.line}})
			return 0, err
		}
		return r.option(now, w, shown, name, o, rest)
	}
	return 0, nil
}

// option does what an option says, and returns how many words of rest belong to it.
func (r *reader) option(now **call, w word, shown, name string, o option, rest []word) (int, error) {
	took, value := 0, word{}
	if o.takes {
		if len(rest) == 0 {
			return 0, r.faultf(w.line, "%s is the last word, and takes a value; write the value, in quotes", shown)
		}
		took, value = 1, rest[0]
	}
	switch o.effect {
	case refused:
		return 0, r.faultf(w.line, "%s cannot be read; %s", shown, o.why)
	case noted:
		if !(*now).noted[name] {
			(*now).noted[name] = true
			r.notef(w.line, "%s is left out; %s", shown, o.why)
		}
	case sets:
		if name == "next" {
			if err := r.finish(*now); err != nil {
				return 0, err
			}
			*now = newCall(w.line)
			return 0, nil
		}
		return took, r.set(*now, shown, name, value)
	}
	return took, nil
}

// set does what an option says that sets something.
func (r *reader) set(c *call, shown, name string, v word) (err error) {
	switch name {
	case "request":
		if !request.Method(v.text) {
			return r.faultf(v.line, "%s is followed by %q, which is no method; write one such as POST",
				shown, request.Short(v.text))
		}
		c.method = v.text
	case "get":
		c.get = true
	case "head":
		c.head = true
	case "globoff":
		c.globoff = true
	case "basic":
	case "compressed":
		r.notef(c.line, "%s is left out; write -H 'Accept-Encoding: gzip' to ask for compressed replies", shown)
	case "url":
		c.urls = append(c.urls, v)
	case "url-query":
		return r.urlQuery(c, v)
	case "header":
		return r.header(c, shown, v)
	case "user-agent":
		return r.field(c, v.line, "User-Agent", v.text)
	case "referer":
		return r.field(c, v.line, "Referer", strings.TrimSuffix(v.text, ";auto"))
	case "range":
		if !strings.ContainsAny(v.text, "-,") {
			// curl takes a single number as where the range begins.
			v.text += "-"
		}
		return r.field(c, v.line, "Range", "bytes="+v.text)
	case "oauth2-bearer":
		return r.field(c, v.line, "Authorization", "Bearer "+v.text)
	case "user":
		if !strings.Contains(v.text, ":") {
			return r.faultf(v.line, "%s has no password; write USER:PASSWORD, or USER: for an empty one", shown)
		}
		c.user = v.text
	case "cookie":
		if !strings.Contains(v.text, "=") {
			return r.faultf(v.line,
				"%s names a file of cookies; write the cookies themselves: -b 'name=value; other=value'",
				shown)
		}
		c.cookies = append(c.cookies, v.text)
	case "upload-file":
		c.upload = &v
	default:
		return r.body(c, name, v)
	}
	return nil
}

// field adds a header field. The last one of a name counts, as for the options of curl that set one.
func (r *reader) field(c *call, line int, name, value string) error {
	if !request.FieldValue(value) {
		return r.faultf(line, "the value of %s has control characters; a header field is one line", name)
	}
	for i, f := range c.fields {
		if strings.EqualFold(f.Name, name) {
			c.fields[i].Value = value
			return nil
		}
	}
	c.fields = append(c.fields, request.Field{Name: name, Value: value})
	return nil
}

// header reads -H.
func (r *reader) header(c *call, shown string, v word) error {
	if file, isFile := strings.CutPrefix(v.text, "@"); isFile {
		data, err := r.from.File(r.name, v.line, file)
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(data)) {
			if line = strings.TrimSpace(line); line != "" && line[0] != '@' {
				if err := r.header(c, shown, word{line, v.line}); err != nil {
					return err
				}
			}
		}
		return nil
	}
	name, value, colon := strings.Cut(v.text, ":")
	empty := false
	if !colon {
		name, empty = strings.CutSuffix(strings.TrimSpace(v.text), ";")
		if !empty {
			return r.faultf(v.line, "%s is followed by %q, which has no colon; write 'Name: value'",
				shown, request.Short(hidden(v.text)))
		}
	}
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	// Browsers write pseudo-header fields of HTTP/2, which begin with a colon.
	if strings.HasPrefix(v.text, ":") || request.OfConnection(name) {
		return nil
	}
	if !request.FieldName(name) {
		return r.faultf(v.line, "%s is followed by %q, which is no name of a header field; write 'Name: value'",
			shown, request.Short(name))
	}
	if !request.FieldValue(value) {
		return r.faultf(v.line, "the value of %s has control characters; a header field is one line", name)
	}
	if value == "" && !empty {
		c.removed[strings.ToLower(name)] = true
		return nil
	}
	c.fields = append(c.fields, request.Field{Name: name, Value: value})
	return nil
}

// hidden returns a text for an error without what may be a secret: its first word.
func hidden(text string) string {
	first, _, more := strings.Cut(text, " ")
	if more {
		return first + " …"
	}
	return first
}

// finish makes the requests of one call.
func (r *reader) finish(c *call) error {
	if len(c.urls) == 0 {
		return r.faultf(c.line, "the command has no URL; write one such as http://localhost:8080/items")
	}
	if sent := c.hasData && !c.get; sent && (c.upload != nil || c.head) {
		return r.faultf(c.line, "-d is a body, and the command has -T or -I too; leave one of them")
	}
	made := request.Request{At: strings.TrimSuffix(request.Place(r.name, c.line), ": "), Method: c.verb()}
	if c.upload != nil {
		if c.upload.text == "-" || c.upload.text == "." {
			return r.faultf(c.upload.line, "-T reads the standard input; name a file")
		}
		body, err := r.from.File(r.name, c.upload.line, c.upload.text)
		if err != nil {
			return err
		}
		made.Body = body
	} else if c.hasData && !c.get {
		made.Body = append([]byte{}, c.data...)
	}
	if c.hasData && c.get {
		c.query = append(c.query, string(c.data))
	}
	for _, w := range c.urls {
		if len(r.out) >= MostRequests {
			return r.faultf(w.line, "there are more than %d requests; split the file", MostRequests)
		}
		q := made
		target, user, err := r.target(c, w)
		if err != nil {
			return err
		}
		q.URL = target
		if c.upload != nil && strings.HasSuffix(q.URL, "/") {
			q.URL += url.PathEscape(path.Base(c.upload.text))
		}
		if q.Fields, err = r.allFields(c, user); err != nil {
			return err
		}
		r.out = append(r.out, q)
	}
	return nil
}

// verb returns the method.
func (c *call) verb() string {
	switch {
	case c.method != "":
		return c.method
	case c.head:
		return "HEAD"
	case c.upload != nil:
		return "PUT"
	case c.hasData && !c.get:
		return "POST"
	}
	return "GET"
}

// target returns the URL of a word with what options add to it.
func (r *reader) target(c *call, w word) (target, user string, err error) {
	if !c.globoff && several.MatchString(w.text) {
		return "", "", r.faultf(w.line, "curl makes several URLs of %q; write each of them, or -g if it is one",
			request.ShownURL(w.text))
	}
	target, user, err = request.Target(w.text)
	if err == nil && !strings.Contains(target, "://") {
		err = fmt.Errorf("the URL %q names no host; write one such as http://localhost:8080/items",
			request.ShownURL(target))
	}
	if err != nil {
		return "", "", r.faultf(w.line, "%v", err)
	}
	if len(c.query) == 0 {
		return target, user, nil
	}
	more := strings.Join(c.query, "&")
	if i := strings.IndexFunc(more, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '#' }); i >= 0 {
		return "", "", r.faultf(c.line, "the query has a %q in it; write --data-urlencode in place of -d", more[i])
	}
	switch {
	case !strings.Contains(target, "?"):
		return target + "?" + more, user, nil
	case strings.HasSuffix(target, "?") || strings.HasSuffix(target, "&"):
		return target + more, user, nil
	}
	return target + "&" + more, user, nil
}

// allFields returns the fields that are sent.
func (r *reader) allFields(c *call, user string) ([]request.Field, error) {
	fields := append([]request.Field(nil), c.fields...)
	add := func(name, value string) error {
		if request.Get(fields, name) != "" || c.removed[strings.ToLower(name)] {
			return nil
		}
		if !request.FieldValue(value) {
			return r.faultf(c.line, "the value of %s has control characters; a header field is one line", name)
		}
		fields = append(fields, request.Field{Name: name, Value: value})
		return nil
	}
	if c.user != "" {
		user = c.user
	}
	if user != "" {
		if err := add("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user))); err != nil {
			return nil, err
		}
	}
	if len(c.cookies) > 0 {
		if err := add("Cookie", strings.Join(c.cookies, "; ")); err != nil {
			return nil, err
		}
	}
	if c.json {
		// Neither value can be wrong.
		_, _ = add("Accept", "application/json"), add("Content-Type", "application/json")
	}
	if c.hasData && !c.get && c.upload == nil {
		return fields, add("Content-Type", "application/x-www-form-urlencoded")
	}
	return fields, nil
}
