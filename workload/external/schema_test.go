package external_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"wirelab/workload/external"
)

const schemaFile = "../../docs/description.schema.json"

func loadSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	schema, err := jsonschema.NewCompiler().Compile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// accepts validates a description in YAML against the schema.
func accepts(schema *jsonschema.Schema, data []byte) error {
	var value any
	if err := yaml.Unmarshal(data, &value); err != nil {
		return err
	}
	inJSON, err := json.Marshal(value)
	if err != nil {
		return err
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(inJSON))
	if err != nil {
		return err
	}
	return schema.Validate(document)
}

// described are descriptions that are shown: those of the examples, and in docs/external.md.
func described(t *testing.T) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	files, err := filepath.Glob("../../examples/*/shop.yaml")
	if err != nil || len(files) < 3 {
		t.Fatalf("%d examples, %v", len(files), err)
	}
	for _, name := range append(files, "../../docs/external.md") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(name, ".md") {
			all[name] = text
			continue
		}
		for _, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(text, -1) {
			if bytes.HasPrefix(block[1], []byte("service:")) {
				all[name] = block[1]
			}
		}
	}
	return all
}

// TestShownDescriptionsAreRight checks that the descriptions in pages and examples match the schema, and can be
// read.
func TestShownDescriptionsAreRight(t *testing.T) {
	t.Parallel()
	schema := loadSchema(t)
	all := described(t)
	if len(all) < 4 {
		t.Errorf("only %d are shown: %q", len(all), slices.Collect(maps.Keys(all)))
	}
	for name, text := range all {
		if err := accepts(schema, text); err != nil {
			t.Errorf("%s: the schema: %v", name, err)
		}
		if _, err := external.Parse(name, text); err != nil {
			t.Error(err)
		}
	}
}

// What has the wrong shape is refused by both.
func TestSchemaRefusesWhatIsNotRead(t *testing.T) {
	t.Parallel()
	schema := loadSchema(t)
	const right = "service: shop\nwires: {rest: {target: http://localhost:8080}}\noperations: {list: {calls: {rest: " +
		"{path: /items}}}}\n"
	if err := accepts(schema, []byte(right)); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"no service":        strings.Replace(right, "service: shop\n", "", 1),
		"service":           strings.Replace(right, "shop", "Shop", 1),
		"no wires":          strings.Replace(right, "wires: {rest: {target: http://localhost:8080}}\n", "", 1),
		"no operations":     "service: shop\nwires: {rest: {target: http://localhost:8080}}\noperations: {}\n",
		"unknown field":     right + "colour: red\n",
		"name of wire":      strings.ReplaceAll(right, "rest:", "REST:"),
		"name of operation": strings.Replace(right, "list:", "list-all:", 1),
		"kind":              strings.Replace(right, "8080}", "8080, kind: soap}", 1),
		"version":           strings.Replace(right, "8080}", "8080, version: http4}", 1),
		"expect": strings.Replace(right, "calls: {rest: {path: /items}}",
			"calls: {rest: {path: /items}}, expect: wonders", 1),
		"text for a flag": strings.Replace(right, "8080}", "8080, cookies: 'yes'}", 1),
		"no target":       strings.Replace(right, "{target: http://localhost:8080}", "{version: http1}", 1),
		"field of a call": strings.Replace(right, "path: /items", "paht: /items", 1),
		"messages":        strings.Replace(right, "path: /items", "path: /items, messages: -1", 1),
	} {
		if _, err := external.Parse("shop.yaml", []byte(text)); err == nil {
			t.Errorf("%s: it is read", name)
		}
		if accepts(schema, []byte(text)) == nil {
			t.Errorf("%s: the schema accepts it", name)
		}
	}
}

// property is what a schema says of a field.
type property struct {
	Ref         string    `json:"$ref"`
	Type        string    `json:"type"`
	Description string    `json:"description"`
	Enum        []string  `json:"enum"`
	Items       *property `json:"items"`
	Additional  any       `json:"additionalProperties"`
}

// The schema is written by hand, for its descriptions; this keeps its fields and their types those of the Go types, and
// every field described.
func TestDescriptionSchemaIsFresh(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	type object struct {
		Properties map[string]property `json:"properties"`
	}
	var schema struct {
		object
		Defs map[string]object `json:"$defs"`
	}
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	found := map[string]object{"description": schema.object}
	maps.Copy(found, schema.Defs)
	for name, of := range map[string]reflect.Type{
		"description": reflect.TypeFor[external.Description](), "start": reflect.TypeFor[external.Start](),
		"wire": reflect.TypeFor[external.WireText](), "tls": reflect.TypeFor[external.TLSText](),
		"operation": reflect.TypeFor[external.OperationText](), "step": reflect.TypeFor[external.StepText](),
		"call": reflect.TypeFor[external.CallText](),
	} {
		var want []string
		for field := range of.Fields() {
			tag, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			want = append(want, tag)
			p, ok := found[name].Properties[tag]
			if !ok {
				t.Errorf("%s.%s: the schema lacks it; add it to %s, and to docs/external.md", name, tag, schemaFile)
				continue
			}
			if p.Ref == "" && p.Description == "" {
				t.Errorf("%s.%s has no description", name, tag)
			}
			if is := jsonType(field.Type); p.Ref == "" && p.Type != is {
				t.Errorf("%s.%s is %q in the schema, and %q in Go", name, tag, p.Type, is)
			}
		}
		for got := range found[name].Properties {
			if !slices.Contains(want, got) {
				t.Errorf("%s: the schema has %s, and the type does not", name, got)
			}
		}
		delete(found, name)
	}
	if len(found) > 0 {
		t.Errorf("the schema defines names that are no types: %v", slices.Collect(maps.Keys(found)))
	}
	var kinds []string
	for _, k := range external.Kinds() {
		kinds = append(kinds, string(k))
	}
	if got := schema.Defs["wire"].Properties["kind"].Enum; !slices.Equal(slices.Sorted(slices.Values(got)),
		slices.Sorted(slices.Values(kinds))) {
		t.Errorf("kind: the schema has %q, want %q", got, kinds)
	}
}

// jsonType is the type of values in JSON; "" of what can be anything.
func jsonType(of reflect.Type) string {
	switch of.Kind() { //nolint:exhaustive // no field is of the others
	case reflect.Pointer:
		return jsonType(of.Elem())
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Int:
		return "integer"
	case reflect.Slice:
		return "array"
	case reflect.Map, reflect.Struct:
		return "object"
	}
	return ""
}

// Every field is explained in the reference.
func TestReferenceExplainsEveryField(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/external.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range []reflect.Type{
		reflect.TypeFor[external.Description](), reflect.TypeFor[external.Start](),
		reflect.TypeFor[external.WireText](),
		reflect.TypeFor[external.TLSText](), reflect.TypeFor[external.OperationText](),
		reflect.TypeFor[external.StepText](),
		reflect.TypeFor[external.CallText](),
	} {
		for field := range of.Fields() {
			tag, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if !bytes.Contains(page, []byte("| `"+tag+"`")) && !bytes.Contains(page, []byte(", `"+tag+"`")) {
				t.Errorf("docs/external.md lacks %s of %s", tag, of.Name())
			}
		}
	}
}
