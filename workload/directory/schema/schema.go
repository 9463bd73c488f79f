// Package schema holds the directory's schemas as text, for those that read
// them themselves. It knows nothing of what they describe.
package schema

import _ "embed" // for the schemas' texts

//go:embed person.proto
var proto string

// Proto returns the service's definition in Protocol Buffers.
func Proto() string { return proto }

//go:embed page.avsc
var page string

// AvroPage returns the Avro schema of a request for a page.
func AvroPage() string { return page }

//go:embed person_id.avsc
var personID string

// AvroPersonID returns the Avro schema of a person's id.
func AvroPersonID() string { return personID }

//go:embed person.avsc
var person string

// AvroPerson returns the Avro schema of a person.
func AvroPerson() string { return person }

//go:embed person_list.avsc
var personList string

// AvroPersonList returns the Avro schema of a list of persons, which refers to
// that of a person.
func AvroPersonList() string { return personList }

//go:embed published_person_list.avsc
var publishedPersonList string

// AvroPublishedPersonList returns the Avro schema of the published service's
// list of persons, which refers to that of a person.
func AvroPublishedPersonList() string { return publishedPersonList }

//go:embed person_link_list.avsc
var personLinkList string

// AvroPersonLinkList returns the Avro schema of a list of links, which refers
// to that of a person.
func AvroPersonLinkList() string { return personLinkList }

//go:embed openapi.json
var openAPI string

// OpenAPI returns the description of the service over plain HTTP, in JSON.
func OpenAPI() string { return openAPI }
