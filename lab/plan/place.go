package plan

import (
	"reflect"
	"regexp"
	"strings"

	"wirelab"
	"wirelab/internal/yamlform"
)

// The two ways in which an error of [Plan.Complete] names its field: at the beginning of the message, or as the kind
// of an unknown name.
var (
	fieldFirst   = regexp.MustCompile(`^[a-z_]+(\[[0-9]+\])?(\.[a-z0-9_]+(\[[0-9]+\])?)*`)
	fieldUnknown = regexp.MustCompile(`^(?:([a-z_\[\]0-9.]+): )?unknown ([a-z_\[\]0-9.]+) "`)
)

// unknownName matches an unknown name in an error of [wirelab.UnknownName].
var unknownName = regexp.MustCompile(`^unknown [a-zA-Z ]+ "([^"]+)"`)

// At adds to an error of [Plan.Complete] the line of the plan's file that it concerns, and shows the line as the
// errors of [Parse] do. If the field is missing from the file, the line is that of the element it belongs to. An
// error that concerns no field is returned unchanged.
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
		return err // it concerns no field
	}
	return yamlform.OfField(fileName, data, path, message)
}
