// Package files detects the format of a file of requests by its name and contents, and leaves reading it to the
// package for that format.
package files

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"strings"

	"wirelab/workload/external/curl"
	"wirelab/workload/external/har"
	"wirelab/workload/external/httpfile"
	"wirelab/workload/external/openapi"
	"wirelab/workload/external/request"
)

// Kind is one of the kinds of files.
type Kind string

// The kinds. Those of rows have values, and no requests.
const (
	HAR     Kind = "har"
	Curl    Kind = "curl"
	HTTP    Kind = "http"
	OpenAPI Kind = "openapi"
	NDJSON  Kind = "ndjson"
	CSV     Kind = "csv"
	Unknown Kind = ""
)

// endings are those of names that only one kind has.
var endings = map[string]Kind{
	".har": HAR, ".http": HTTP, ".rest": HTTP, ".curl": Curl, ".ndjson": NDJSON, ".jsonl": NDJSON, ".csv": CSV,
}

var (
	curlLine = regexp.MustCompile(`(?im)^\s*(?:[$%>]\s+)?(?:\S*[/\\])?curl(?:\.exe)?\s`)
	httpLine = regexp.MustCompile(`(?m)^\s*(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS)\s+(?:https?://|/|\{\{|localhost)`)
	harStart = regexp.MustCompile(`^\{\s*"log"\s*:`)
	harMark  = regexp.MustCompile(`"(?:log|entries)"\s*:`)
	postman  = regexp.MustCompile(`"_postman_id"|schema\.getpostman\.com`)
)

// sniffed is how much of a file is looked at.
const sniffed = 64 << 10

// KindOf returns the kind of a file.
func KindOf(name string, data []byte) Kind {
	ending := strings.ToLower(path.Ext(strings.ReplaceAll(name, `\`, "/")))
	if kind, sure := endings[ending]; sure {
		return kind
	}
	data = bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))
	start := data[:min(len(data), sniffed)]
	if bytes.HasPrefix(start, []byte("{")) {
		// The version of an OpenAPI document may stand at its end, behind paths that are named as parts of a HAR file.
		if harStart.Match(start) {
			return HAR
		}
		if kind, _ := openapi.Dialect(data); kind != "" {
			return OpenAPI
		}
		if harMark.Match(start) {
			return HAR
		}
		first, _, several := bytes.Cut(data, []byte("\n"))
		if several && bytes.HasSuffix(bytes.TrimSpace(first), []byte("}")) {
			return NDJSON
		}
		return Unknown
	}
	switch {
	case curlLine.Match(start):
		return Curl
	case httpLine.Match(start):
		return HTTP
	}
	if kind, _ := openapi.Dialect(data); kind != "" {
		return OpenAPI
	}
	return Unknown
}

// Read returns the requests of a file of any kind that has some, and notes on what was left out. Requests of an
// OpenAPI document are sent to its first server, and operations that lack a value are left out, with a note.
func Read(name string, data []byte, from request.Sources) ([]request.Request, []string, error) {
	switch kind := KindOf(name, data); kind {
	case HAR:
		return har.Read(name, data)
	case Curl:
		return curl.Read(name, data, from)
	case HTTP:
		return httpfile.Read(name, data, from)
	case OpenAPI:
		return operations(name, data)
	case NDJSON, CSV:
		return nil, nil, request.Faultf(name, 0, "the file has rows of values, and no requests; "+
			"name it as the rows of an operation")
	}
	if postman.Match(data[:min(len(data), sniffed)]) {
		return nil, nil, request.Faultf(name, 0, "the file is a collection of Postman; export its requests as cURL, "+
			"or its API as OpenAPI")
	}
	return nil, nil, request.Faultf(name, 0,
		"the kind of the file is not known; HAR files, curl commands, .http files "+
			"and OpenAPI documents are read: give it the ending .har, .curl, .http or .yaml")
}

// mostNotes is how many operations that are left out are named.
const mostNotes = 100

// operations returns the requests of an OpenAPI document.
func operations(name string, data []byte) ([]request.Request, []string, error) {
	doc, err := openapi.Read(name, data)
	if err != nil {
		return nil, nil, err
	}
	notes := doc.Notes
	var out []request.Request
	left := 0
	for _, op := range doc.Operations {
		if len(op.Lacks) > 0 {
			if left++; left > mostNotes {
				continue
			}
			const most = 5
			var lacks []string
			for _, l := range op.Lacks[:min(len(op.Lacks), most)] {
				lacks = append(lacks, l.Where)
			}
			more := ""
			if len(op.Lacks) > most {
				more = fmt.Sprintf(" and %d more", len(op.Lacks)-most)
			}
			notes = append(notes, fmt.Sprintf("%s: %s is left out: the document has no example of %s%s",
				name, op.Name, strings.Join(lacks, ", "), more))
			continue
		}
		q := op.Request
		if strings.HasPrefix(q.URL, "/") && len(doc.Servers) > 0 {
			q.URL = doc.Servers[0] + q.URL
		}
		out = append(out, q)
	}
	if left > mostNotes {
		notes = append(notes, fmt.Sprintf("%s: %d more operations are left out for such reasons", name, left-mostNotes))
	}
	if out == nil {
		return nil, nil, request.Faultf(name, 0, "each operation lacks a value that the document has no example of; "+
			"begin a description from it, and write them there")
	}
	return out, notes, nil
}
