package plan

import (
	"reflect"
	"regexp"
	"strings"

	"wirelab"
	"wirelab/internal/yamlform"
)

// The ways in which an error of [Plan.Complete] names its field: at its beginning,
// and as the kind of a name that is not known.
var (
	fieldFirst   = regexp.MustCompile(`^[a-z_]+(\[[0-9]+\])?(\.[a-z0-9_]+(\[[0-9]+\])?)*`)
	fieldUnknown = regexp.MustCompile(`^(?:([a-z_\[\]0-9.]+): )?unknown ([a-z_\[\]0-9.]+) "`)
)

// unknownName is a name that is not known, as [wirelab.UnknownName] has it behind what it would be of.
var unknownName = regexp.MustCompile(`^unknown [a-zA-Z ]+ "([^"]+)"`)

// At says at which line of a plan's file an error of [Plan.Complete] is, and shows
// the line as the errors of [Parse] do. Where the file has nothing of the field, since
// it is missing, the line is that of what the field belongs to. An error that is of no
// field comes back as it is.
func At(fileName string, data []byte, err error) error {
	message := wirelab.Public(err).Message
	path := fieldFirst.FindString(message)
	if unknown := fieldUnknown.FindStringSubmatch(message); unknown != nil {
		path = strings.TrimPrefix(unknown[1]+"."+unknown[2], ".")
	}
	top, _, _ := strings.Cut(path, ".")
	top, _, _ = strings.Cut(top, "[")
	if name := unknownName.FindStringSubmatch(message); name != nil {
		if placed := yamlform.OfValue(fileName, data, name[1], message); placed != nil {
			return placed
		}
	}
	if _, ok := yamlform.FieldsOf(reflect.TypeFor[Plan]())[top]; !ok {
		return err // it is of no field
	}
	return yamlform.OfField(fileName, data, path, message)
}
