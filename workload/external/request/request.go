// Package request defines a request to a service that is not ours, and its reply, as bytes. Readers of files make
// them, and bindings send them. It knows no file format and no protocol.
package request

import "strings"

// Request is what one call sends. It is complete: it contains no placeholders.
type Request struct {
	// Name is the operation of the request, such as "addItem"; "": its source has no name for it.
	Name string `json:"name,omitempty"`
	// At is where it was read: "items.har: entry 3"; "": it was not read from a file.
	At string `json:"-"`
	// Method and URL are those of HTTP. The URL is absolute, or a path with a query if the address of the service
	// is given elsewhere.
	Method string `json:"method,omitempty"`
	URL    string `json:"url,omitempty"`
	// Fields are the header fields, or the metadata of gRPC, in order.
	Fields []Field `json:"fields,omitempty"`
	Body   []byte  `json:"body,omitempty"`
	// Messages are the encoded messages of a stream of requests, in order; nil: Body is the only one.
	Messages [][]byte `json:"messages,omitempty"`
	// Binary says which of Messages are binary messages of a WebSocket; nil: those that are not UTF-8.
	Binary []bool `json:"binary,omitempty"`
	// Reply is the reply that was recorded with the request; nil: none.
	Reply *Reply `json:"reply,omitempty"`
}

// Field is a header field, or an entry of metadata.
type Field struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Reply is the reply to a request.
type Reply struct {
	Status int     `json:"status,omitempty"`
	Proto  string  `json:"-"` // version of HTTP, "HTTP/1.1"; "" if unknown
	Fields []Field `json:"fields,omitempty"`
	Body   []byte  `json:"body,omitempty"`
	// BodyUnknown is set if the source did not record the body, so that an empty Body means nothing.
	BodyUnknown bool `json:"bodyUnknown,omitempty"`
}

// Get returns the value of the first field with that name, in any letter case; "" if there is none.
func Get(fields []Field, name string) string {
	for _, f := range fields {
		if strings.EqualFold(f.Name, name) {
			return f.Value
		}
	}
	return ""
}
