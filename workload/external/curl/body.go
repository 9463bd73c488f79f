package curl

import (
	"bytes"
	"net/url"
	"slices"
	"strings"
)

// body reads an option that adds to the body.
func (r *reader) body(c *call, name string, v word) error {
	var data []byte
	var err error
	switch name {
	case "data":
		if file, isFile := strings.CutPrefix(v.text, "@"); isFile {
			// curl drops the ends of lines of such a file, and zeros.
			if data, err = r.file(v.line, file); err == nil {
				data = slices.DeleteFunc(bytes.Clone(data),
					func(c byte) bool { return c == '\n' || c == '\r' || c == 0 })
			}
			break
		}
		data = []byte(v.text)
	case "data-binary", "json":
		if file, isFile := strings.CutPrefix(v.text, "@"); isFile {
			data, err = r.file(v.line, file)
			break
		}
		data = []byte(v.text)
	case "data-raw":
		data = []byte(v.text)
	case "data-urlencode":
		data, err = r.encoded(v)
	}
	if err != nil {
		return err
	}
	if c.hasData && name != "json" && len(c.data) > 0 {
		c.data = append(c.data, '&')
	}
	if len(c.data)+len(data) > mostBody {
		return r.faultf(v.line, "the body has more than %d MiB; send less", mostBody>>20)
	}
	c.data = append(c.data, data...)
	c.hasData = true
	c.json = c.json || name == "json"
	return nil
}

// file returns the contents of a file that an option names.
func (r *reader) file(line int, name string) ([]byte, error) {
	if name == "-" {
		return nil, r.faultf(line, "@- reads the standard input; name a file: @FILE")
	}
	return r.from.File(r.name, line, name)
}

// encoded returns what --data-urlencode and --url-query add: TEXT, =TEXT, NAME=TEXT, @FILE or NAME@FILE.
func (r *reader) encoded(v word) ([]byte, error) {
	name, text := "", v.text
	if i := strings.IndexAny(v.text, "=@"); i >= 0 {
		name, text = v.text[:i], v.text[i+1:]
		if v.text[i] == '@' {
			data, err := r.file(v.line, text)
			if err != nil {
				return nil, err
			}
			text = string(data)
		}
	}
	// curl writes a space as %20 where a form has a plus.
	out := strings.ReplaceAll(url.QueryEscape(text), "+", "%20")
	if name != "" {
		out = name + "=" + out
	}
	return []byte(out), nil
}

// urlQuery reads --url-query.
func (r *reader) urlQuery(c *call, v word) error {
	if plain, isPlain := strings.CutPrefix(v.text, "+"); isPlain {
		c.query = append(c.query, plain)
		return nil
	}
	data, err := r.encoded(v)
	if err != nil {
		return err
	}
	if len(data) > 0 {
		c.query = append(c.query, string(data))
	}
	return nil
}
