// Package rows reads rows of values, and fills them into templates in texts and JSON values. It does not know the
// purpose of the templates: requests and messages belong to the caller.
package rows

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"wirelab/workload/external/request"
)

// Limits of the input.
const (
	MostBytes  = 64 << 20
	MostRows   = 65_536
	MostValues = 4 << 20 // in all rows of CSV
	mostFields = 4_096
)

// Row is one row.
type Row struct {
	// At is where it was read: "items.ndjson:12".
	At string
	// Fields are its values by name. Values from JSON keep their type; numbers are [json.Number], as they were
	// written. Values from CSV are strings.
	Fields map[string]any
}

// ReadNDJSON returns the rows of a text with one JSON object on each line. It skips empty lines.
func ReadNDJSON(name string, data []byte) ([]Row, error) {
	data, err := text(name, data)
	if err != nil {
		return nil, err
	}
	var out []Row
	number := 0
	for line := range bytes.Lines(data) {
		number++
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if len(out) == MostRows {
			return nil, tooMany(name, number)
		}
		fields, err := object(name, number, line)
		if err != nil {
			return nil, err
		}
		out = append(out, Row{At: at(name, number), Fields: fields})
	}
	if len(out) == 0 {
		return nil, request.Faultf(name, 1,
			`there is no row; write one JSON object on each line, such as {"sku": "a1"}`)
	}
	return out, nil
}

// object parses the object on a line.
func object(name string, number int, line []byte) (map[string]any, error) {
	if line[0] == '[' {
		return nil, request.Faultf(name, number, "the line is a list; write one JSON object on each line, "+
			"as jq -c '.[]' does of a list")
	}
	if line[0] != '{' {
		return nil, request.Faultf(name, number,
			`the line is no JSON object; write one on each line, such as {"sku": "a1"}`)
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.UseNumber()
	var fields map[string]any
	if err := dec.Decode(&fields); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, request.Faultf(name, number,
				"the object does not end on its line; write each object on one line, "+
					"as jq -c . does")
		}
		return nil, request.Faultf(name, number, "the JSON is broken: %v; write one object on each line", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, request.Faultf(name, number, "there is more after the object; write one object on each line")
	}
	return fields, nil
}

// ReadCSV returns the rows of a text whose first line names the fields, separated by commas.
func ReadCSV(name string, data []byte) ([]Row, error) {
	data, err := text(name, data)
	if err != nil {
		return nil, err
	}
	in := csv.NewReader(bytes.NewReader(data))
	in.FieldsPerRecord = -1
	in.ReuseRecord = true
	names, err := in.Read()
	if errors.Is(err, io.EOF) {
		return nil, request.Faultf(name, 1, "there is no row; the first line names the fields, such as sku,quantity")
	}
	if err != nil {
		return nil, csvFault(name, err)
	}
	names = slices.Clone(names)
	if err := header(name, names); err != nil {
		return nil, err
	}
	var out []Row
	for {
		values, err := in.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, csvFault(name, err)
		}
		number, _ := in.FieldPos(0)
		if len(out) == MostRows {
			return nil, tooMany(name, number)
		}
		if (len(out)+1)*len(names) > MostValues {
			return nil, request.Faultf(name, number, "there are more than %d values; use fewer rows or fewer fields",
				MostValues)
		}
		if len(values) != len(names) {
			return nil, request.Faultf(name, number, "the row has %d values, and the first line names %d fields; "+
				"put a value with a comma into quotes", len(values), len(names))
		}
		fields := make(map[string]any, len(names))
		for i, n := range names {
			fields[n] = values[i]
		}
		out = append(out, Row{At: at(name, number), Fields: fields})
	}
	if len(out) == 0 {
		return nil, request.Faultf(name, 1, "there is no row below the names of the fields; add one")
	}
	return out, nil
}

// header validates the names of fields.
func header(name string, names []string) error {
	if len(names) > mostFields {
		return request.Faultf(name, 1, "the first line names %d fields; at most %d are read", len(names), mostFields)
	}
	if len(names) == 1 && strings.ContainsAny(names[0], ";\t") {
		return request.Faultf(name, 1, "the first line has no comma; separate the fields by commas, not by %q",
			names[0][strings.IndexAny(names[0], ";\t")])
	}
	for i, n := range names {
		names[i] = strings.TrimSpace(n)
		if names[i] == "" {
			return request.Faultf(name, 1, "field %d has no name; the first line names all fields", i+1)
		}
		if slices.Contains(names[:i], names[i]) {
			return request.Faultf(name, 1, "two fields are named %q; give each a different name",
				request.Short(names[i]))
		}
	}
	return nil
}

func csvFault(name string, err error) error {
	var parse *csv.ParseError
	if errors.As(err, &parse) {
		return request.Faultf(name, parse.Line,
			`%v; put a value with quotes into quotes, and double those in it: "a ""b"""`,
			parse.Err)
	}
	return request.Faultf(name, 0, "%v", err)
}

// text returns the text of a file.
func text(name string, data []byte) ([]byte, error) {
	if len(data) > MostBytes {
		return nil, request.Faultf(name, 0, "the file has %d MiB; at most %d are read, so use fewer rows",
			len(data)>>20, MostBytes>>20)
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if utf8.Valid(data) {
		return data, nil
	}
	number := 0
	for line := range bytes.Lines(data) {
		if number++; !utf8.Valid(line) {
			break
		}
	}
	return nil, request.Faultf(name, number, "the line is not UTF-8; save the file as UTF-8")
}

func tooMany(name string, number int) error {
	return request.Faultf(name, number, "there are more than %d rows; use fewer", MostRows)
}

func at(name string, number int) string { return fmt.Sprintf("%s:%d", name, number) }
