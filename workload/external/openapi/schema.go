package openapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"wirelab/workload/external/request"
)

// mostSchema is how many bytes a schema may have.
const mostSchema = 16 << 20

// component is the beginning of the references that a schema may have.
const component = "#/components/schemas/"

// dropped are the keywords of OpenAPI that do not restrict values.
var dropped = []string{
	"nullable", "discriminator", "xml", "externalDocs", "example", "examples", "deprecated", "readOnly", "writeOnly",
	"description", "title", "default", "allowEmptyValue", "$schema", "$id", "$anchor", "$dynamicAnchor",
}

// ReplySchema returns the JSON Schema, of draft 2020-12, of the reply to expect to an operation. It is whole: what it
// refers to is in it. Nil: the document has none for this operation.
func (d *Document) ReplySchema(op *Operation) ([]byte, error) {
	if op.reply == nil {
		return nil, nil
	}
	root, err := d.generic(op.reply)
	if err != nil {
		return nil, request.Faultf(d.Name, 0, "%s: the schema of the reply cannot be used: %v; check the status alone",
			op.Name, err)
	}
	needed := map[string]any{}
	waiting := []any{root}
	for len(waiting) > 0 {
		last := waiting[len(waiting)-1]
		waiting = waiting[:len(waiting)-1]
		for _, name := range references(last, nil) {
			if _, has := needed[name]; has {
				continue
			}
			schema, err := d.component(name)
			if err != nil {
				return nil, request.Faultf(d.Name, 0,
					"%s: the schema of the reply cannot be used: %v; check the status alone",
					op.Name, err)
			}
			needed[name] = schema
			waiting = append(waiting, schema)
		}
	}
	whole, isObject := root.(map[string]any)
	if !isObject {
		return json.Marshal(root)
	}
	whole = maps.Clone(whole)
	whole["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	if len(needed) > 0 {
		whole["$defs"] = needed
	}
	text, err := json.Marshal(whole)
	if err == nil && len(text) > mostSchema {
		err = request.Faultf(d.Name, 0, "%s: the schema of the reply has more than %d MiB; check the status alone",
			op.Name, mostSchema>>20)
	}
	return text, err
}

// component returns a schema that others refer to.
func (d *Document) component(name string) (any, error) {
	if schema, has := d.schemas[name]; has {
		return schema, nil
	}
	if d.doc.Components == nil || d.doc.Components.Schemas[name] == nil {
		return nil, fmt.Errorf("there is no %s%s", component, request.Short(name))
	}
	schema, err := d.generic(d.doc.Components.Schemas[name])
	if err == nil {
		d.schemas[name] = schema
	}
	return schema, err
}

// generic returns a schema as JSON Schema has it.
func (d *Document) generic(schema any) (any, error) {
	text, err := json.Marshal(schema)
	if err != nil {
		return nil, err
	}
	if len(text) > mostSchema {
		return nil, fmt.Errorf("it has more than %d MiB", mostSchema>>20)
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return nil, err
	}
	return converted(value)
}

// converted turns a schema of OpenAPI into one of JSON Schema.
func converted(value any) (any, error) {
	s, isObject := value.(map[string]any)
	if !isObject {
		return value, nil
	}
	if ref, isRef := s["$ref"].(string); isRef {
		name, inside := strings.CutPrefix(ref, component)
		if !inside || strings.Contains(name, "/") {
			return nil, fmt.Errorf("it refers to %q, which is no schema of the components", request.Short(ref))
		}
		return map[string]any{"$ref": "#/$defs/" + name}, nil
	}
	out := map[string]any{}
	for word, v := range s {
		if slices.Contains(dropped, word) || strings.HasPrefix(word, "x-") {
			continue
		}
		var err error
		switch word {
		case "properties", "patternProperties", "dependentSchemas", "$defs", "definitions":
			v, err = each(v)
		case "allOf", "anyOf", "oneOf", "prefixItems":
			v, err = list(v)
		case "items", "not", "additionalProperties", "contains", "propertyNames", "if", "then", "else",
			"unevaluatedItems", "unevaluatedProperties", "contentSchema":
			v, err = converted(v)
		case "pattern":
			// Patterns of other languages are no patterns here, and a reply is then checked by the rest.
			if text, isText := v.(string); !isText || !compiles(text) {
				continue
			}
		}
		if err != nil {
			return nil, err
		}
		out[word] = v
	}
	bounds(out)
	required(s, out)
	return nullable(s, out), nil
}

// bounds turns the bounds of version 3.0, which are marks, into numbers.
func bounds(out map[string]any) {
	for exclusive, bound := range map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"} {
		if is, isMark := out[exclusive].(bool); isMark {
			delete(out, exclusive)
			if value, has := out[bound]; has && is {
				out[exclusive] = value
				delete(out, bound)
			}
		}
	}
}

// required removes write-only properties from the required ones, since replies do not contain them.
func required(s, out map[string]any) {
	names, has := out["required"].([]any)
	properties, _ := s["properties"].(map[string]any)
	if !has {
		delete(out, "required")
		return
	}
	kept := slices.DeleteFunc(slices.Clone(names), func(name any) bool {
		text, _ := name.(string)
		property, _ := properties[text].(map[string]any)
		return property["writeOnly"] == true
	})
	if out["required"] = kept; len(kept) == 0 {
		delete(out, "required")
	}
}

// nullable adds null to what version 3.0 marks so.
func nullable(s, out map[string]any) any {
	if s["nullable"] != true {
		return out
	}
	return map[string]any{"anyOf": []any{out, map[string]any{"type": "null"}}}
}

func each(v any) (any, error) {
	all, isObject := v.(map[string]any)
	if !isObject {
		return v, nil
	}
	out := make(map[string]any, len(all))
	for name, one := range all {
		var err error
		if out[name], err = converted(one); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func list(v any) (any, error) {
	all, isList := v.([]any)
	if !isList {
		return v, nil
	}
	out := make([]any, len(all))
	for i, one := range all {
		var err error
		if out[i], err = converted(one); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func compiles(pattern string) bool {
	_, err := regexp.Compile(pattern)
	return err == nil
}

// references returns the names of the components that a converted schema refers to.
func references(value any, names []string) []string {
	switch value := value.(type) {
	case map[string]any:
		if ref, isRef := value["$ref"].(string); isRef {
			return append(names, strings.TrimPrefix(ref, "#/$defs/"))
		}
		for _, v := range value {
			names = references(v, names)
		}
	case []any:
		for _, v := range value {
			names = references(v, names)
		}
	}
	return names
}
