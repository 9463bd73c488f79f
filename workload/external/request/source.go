package request

import (
	"fmt"
	"net/url"
	"strings"

	"wirelab"
)

// Sources are the inputs of a reader other than the file itself. If a function is nil, a file that needs it is
// refused.
type Sources struct {
	// Open returns the contents of a file, by the name that the text uses.
	Open func(name string) ([]byte, error)
	// Lookup returns the value of a variable of the environment, and whether it is set.
	Lookup func(name string) (string, bool)
}

// File returns the contents of the file that a line of file name refers to as path.
func (s Sources) File(name string, line int, path string) ([]byte, error) {
	if s.Open == nil {
		return nil, Faultf(name, line, "%q is a file, and none can be read here; write its content in its place", path)
	}
	data, err := s.Open(path)
	if err != nil {
		return nil, Faultf(name, line, "%q cannot be read: %v", path, err)
	}
	return data, nil
}

// Variable returns the value of a variable of the environment.
func (s Sources) Variable(variable string) (string, bool) {
	if s.Lookup == nil {
		return "", false
	}
	return s.Lookup(variable)
}

// Faultf returns the error that all readers use: the file, its line, the mistake and a correction. Line 0 means
// that no line shows the mistake.
func Faultf(name string, line int, format string, args ...any) error {
	return wirelab.Errorf(wirelab.InvalidArgument, "%s%s", Place(name, line), fmt.Sprintf(format, args...))
}

// Place returns "name:line: ", which begins an error or a note. Line 0 is left out.
func Place(name string, line int) string {
	if line <= 0 {
		return name + ": "
	}
	return fmt.Sprintf("%s:%d: ", name, line)
}

// Target returns the URL in a text. It adds "http://" to a text such as "localhost:8080/items", and drops "#part",
// which is never sent. A user and a password are removed from the URL and returned as "user:password", since they
// are sent as a header field.
func Target(text string) (target, user string, err error) {
	if text == "" {
		return "", "", fmt.Errorf("the URL is empty; write one such as http://localhost:8080/items")
	}
	if i := strings.IndexFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f }); i >= 0 {
		return "", "", fmt.Errorf("the URL %q has a %q in it; write a space as %%20", ShownURL(text), text[i])
	}
	text, _, _ = strings.Cut(text, "#")
	if !strings.HasPrefix(text, "/") && !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil {
		return "", "", fmt.Errorf("%q is not a URL; write one such as http://localhost:8080/items", ShownURL(text))
	}
	if strings.HasPrefix(text, "/") {
		return text, "", nil
	}
	switch strings.ToLower(u.Scheme) {
	case "http", "https":
	default:
		return "", "", fmt.Errorf("the URL's scheme is %q; write http or https", Short(u.Scheme))
	}
	if u.Hostname() == "" {
		return "", "", fmt.Errorf("the URL %q names no host; write one such as http://localhost:8080/items",
			ShownURL(text))
	}
	if u.User == nil {
		return text, "", nil
	}
	password, _ := u.User.Password()
	user = u.User.Username() + ":" + password
	scheme, rest, _ := strings.Cut(text, "://")
	end := strings.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	at := strings.LastIndex(rest[:end], "@")
	return scheme + "://" + rest[at+1:], user, nil
}

// ShownURL returns a URL for an error or a note, without the parts that may be secret: user, password and query.
func ShownURL(text string) string {
	text, _, query := strings.Cut(text, "?")
	begin := 0
	if i := strings.Index(text, "://"); i >= 0 {
		begin = i + len("://")
	}
	end := len(text)
	if i := strings.Index(text[begin:], "/"); i >= 0 {
		end = begin + i
	}
	if at := strings.LastIndex(text[begin:end], "@"); at >= 0 {
		text = text[:begin] + "…" + text[begin+at:]
	}
	if text = Short(text); query {
		text += "?…"
	}
	return text
}

// Short returns the beginning of a long text of a file, for an error.
func Short(text string) string {
	const most = 80
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
