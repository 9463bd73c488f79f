package httpfile

import (
	"encoding/json"
	"regexp"
	"strings"

	"wirelab/workload/external/request"
)

// short shortens a text of the file for an error.
func short(text string) string { return request.Short(text) }

var (
	// included is a line that is replaced by the contents of a file.
	included = regexp.MustCompile(`^<(@\S*)?\s+(.+?)\s*$`)
	// handler is a line that begins a script for the reply.
	handler = regexp.MustCompile(`^>\s+(\{%|\S+\.js\s*$)`)
	// kept is a line that names a file for the reply.
	kept = regexp.MustCompile(`^(>>!?|<>)\s*\S`)
)

// body reads the body, and what stands after it for the reply.
func (r *reader) body(q *request.Request, i, end int) error {
	first := i
	var lines []string
	size, over := 0, false
	for i < end {
		line := r.lines[i]
		switch trimmed := strings.TrimSpace(line); {
		case handler.MatchString(line):
			i, over = r.script(i, end, "a script that reads the reply is left out; wirelab runs none"), true
			continue
		case kept.MatchString(line):
			// Where an editor keeps replies.
			i, over = i+1, true
			continue
		case over && (trimmed == "" || strings.HasPrefix(trimmed, "#") || strings.HasPrefix(trimmed, "//")):
			i++
			continue
		case over:
			return r.faultf(i, "%q follows the handling of the reply; write ### above the next request",
				short(firstWord(trimmed)))
		case strings.HasPrefix(line, "?? "):
			r.notef(i+1, "a check of the reply is left out; say what a right reply is in the description")
			i++
			continue
		case trimmed == "{{" && len(lines) == 0:
			i = r.block(i, end)
			continue
		case included.MatchString(line):
			text, err := r.include(i, included.FindStringSubmatch(line))
			if err != nil {
				return err
			}
			line = text
		default:
			text, err := r.filled(i, line)
			if err != nil {
				return err
			}
			line = text
		}
		if size += len(line); size > mostBody {
			return r.faultf(i, "the body has more than %d MiB; send less", mostBody>>20)
		}
		lines = append(lines, line)
		i++
	}
	return r.sent(q, first, lines)
}

// sent makes the body of its lines, in the way of its media type.
func (r *reader) sent(q *request.Request, first int, lines []string) error {
	for len(lines) > 0 && strings.TrimSpace(lines[len(lines)-1]) == "" {
		lines = lines[:len(lines)-1]
	}
	for len(lines) > 0 && strings.TrimSpace(lines[0]) == "" {
		lines = lines[1:]
	}
	if len(lines) == 0 {
		return nil
	}
	kind := strings.ToLower(request.Get(q.Fields, "Content-Type"))
	switch {
	case strings.HasPrefix(kind, "application/x-www-form-urlencoded"):
		// Editors let a form stand on several lines.
		for i := range lines {
			lines[i] = strings.TrimSpace(lines[i])
		}
		q.Body = []byte(strings.Join(lines, ""))
	case strings.HasPrefix(kind, "multipart/"):
		if !strings.Contains(kind, "boundary=") {
			return r.faultf(first, "the field Content-Type has no boundary; write multipart/form-data; boundary=…")
		}
		q.Body = []byte(strings.Join(lines, "\r\n") + "\r\n")
	case strings.HasPrefix(kind, "application/x-ndjson"):
		q.Body = []byte(strings.Join(lines, "\n") + "\n")
	default:
		q.Body = []byte(strings.Join(lines, "\n"))
	}
	return nil
}

// include returns the contents of the file that a line names.
func (r *reader) include(i int, match []string) (string, error) {
	how, path := match[1], match[2]
	if coding := strings.ToLower(strings.TrimPrefix(how, "@")); coding != "" && coding != "utf8" && coding != "utf-8" {
		return "", r.faultf(i, "the file is read in the encoding %q; save it as UTF-8, and write < %s",
			short(coding), short(path))
	}
	path, err := r.filled(i, path)
	if err != nil {
		return "", err
	}
	data, err := r.from.File(r.name, i+1, path)
	if err != nil {
		return "", err
	}
	if how == "" {
		return string(data), nil
	}
	// An @ asks for the variables in the file.
	return r.filled(i, string(data))
}

// graphQL turns a body of GraphQL, a query and after an empty line its variables, into the JSON that is sent.
func (r *reader) graphQL(q *request.Request, first int) error {
	for i, f := range q.Fields {
		if !strings.EqualFold(f.Name, "X-Request-Type") || !strings.EqualFold(f.Value, "GraphQL") {
			continue
		}
		q.Fields = append(q.Fields[:i], q.Fields[i+1:]...)
		query, variables := strings.ReplaceAll(string(q.Body), "\r", ""), ""
		if last := strings.LastIndex(query, "\n\n"); last >= 0 &&
			strings.HasPrefix(strings.TrimSpace(query[last:]), "{") {
			query, variables = query[:last], query[last:]
		}
		sent := struct {
			Query     string          `json:"query"`
			Variables json.RawMessage `json:"variables,omitempty"`
		}{Query: strings.TrimSpace(query)}
		if variables = strings.TrimSpace(variables); variables != "" {
			if !json.Valid([]byte(variables)) {
				return r.faultf(first, "the variables of this GraphQL query are not JSON; "+
					"write an empty line after the query, and then one JSON object")
			}
			sent.Variables = json.RawMessage(variables)
		}
		body, err := json.Marshal(sent)
		if err != nil {
			return r.faultf(first, "the GraphQL query cannot be written: %v", err)
		}
		q.Body = body
		if request.Get(q.Fields, "Content-Type") == "" {
			q.Fields = append(q.Fields, request.Field{Name: "Content-Type", Value: "application/json"})
		}
		return nil
	}
	return nil
}
