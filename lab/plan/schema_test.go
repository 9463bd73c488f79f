package plan_test

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"wirelab"
	"wirelab/lab/kind/kinds"
	"wirelab/lab/plan"
)

const schemaFile = "../../docs/plan.schema.json"

func loadSchema(t testing.TB) *jsonschema.Schema {
	t.Helper()
	schema, err := jsonschema.NewCompiler().Compile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// schemaAccepts validates a plan in YAML against the schema.
func schemaAccepts(schema *jsonschema.Schema, data []byte) error {
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

func TestSchemaAcceptsPresets(t *testing.T) {
	t.Parallel()
	schema := loadSchema(t)
	for _, p := range plan.Presets() {
		done, err := p.Complete()
		if err != nil {
			t.Fatal(err)
		}
		for _, version := range []plan.Plan{p, done} {
			data, err := json.Marshal(version)
			if err != nil {
				t.Fatal(err)
			}
			if err := schemaAccepts(schema, data); err != nil {
				t.Errorf("%s: %v", p.Name, err)
			}
			back, err := plan.Parse(p.Name, data)
			if err != nil || !reflect.DeepEqual(back, version) {
				t.Errorf("%s does not survive JSON: %v", p.Name, err)
			}
		}
	}
}

// badPlans are refused. shape marks those that a schema can and must refuse too; the others need arithmetic, or two
// fields together.
var badPlans = map[string]struct {
	text, say string
	shape     bool
}{
	"empty":        {"", "empty", true},
	"comment only": {"# nothing\n", "empty", true},
	"a list":       {"- a\n", "mapping", true},
	"text":         {"plan", "mapping", true},
	"no workload":  {"operation: GetFeature\narms: [{protocol: grpc}]", "workload is missing", true},
	"no operation": {"workload: routeguide\narms: [{protocol: grpc}]", "operation is missing", true},
	"no arms":      {"workload: routeguide\noperation: GetFeature", "arms is missing", true},
	"a corner that is no arm": {
		least + "explain: {to: soap}",
		`explain.to is "soap"; it must be the name or the protocol of an arm`, false,
	},
	"a corner of two lines": {least + "explain: {from: \"a\\nb\"}", "explain.from", false},
	"arms empty":            {"workload: routeguide\noperation: GetFeature\narms: []", "arms is missing", true},
	"arm without protocol": {
		"workload: routeguide\noperation: GetFeature\narms: [{client: x}]",
		"arms[0].protocol is missing", true,
	},
	"unknown field": {
		least + "colour: red",
		`unknown field "colour"; known: about, advice, arms, contrasts, data`, true,
	},
	"unknown field in an arm": {
		least + "loads: [{inflight: 5}]", `unknown field "inflight"; did you mean in_flight?`,
		true,
	},
	"null":                      {least + "name:", "plan.name must be text", true},
	"number for text":           {least + "name: 5", "plan.name must be text", true},
	"bool for text":             {least + "name: yes\npin: true", "plan.pin must be text", true},
	"text for number":           {least + "slices: '5'", "plan.slices must be a whole number", true},
	"fraction for whole":        {least + "slices: 2.5", "plan.slices must be a whole number", true},
	"rate as text":              {least + "loads: [{rate: 2k}]", "plan.loads[0].rate must be a number", true},
	"mapping for list":          {least + "loads: {rate: 2}", "plan.loads must be a list", true},
	"list for mapping":          {least + "rounds: [1, 2]", "plan.rounds must be a mapping", true},
	"duration without unit":     {least + "slice: 50", "such as 50ms", true},
	"duration without unit (2)": {least + "slice: '50'", "number with a unit", true},
	"duration negative":         {least + "for: -5s", "for is -5s", true},
	"workload upper case": {
		strings.Replace(least, "routeguide", "RouteGuide", 1), `workload is "RouteGuide"`,
		true,
	},
	"operation with dot": {strings.Replace(least, "GetFeature", "rg.GetFeature", 1), "operation is", true},
	"requests":           {least + "requests: A B", "requests is", true},
	"name too long":      {least + "name: " + strings.Repeat("x", 101), "at most 100", true},
	"too many arms": {
		"workload: w\noperation: O\narms: [" + strings.Repeat("{protocol: grpc},", 65) + "]",
		"1 to 64", true,
	},
	"too many loads": {least + "loads: [" + strings.Repeat("{},", 17) + "]", "1 to 16", true},
	"library": {
		strings.Replace(least, "grpc}", "grpc, client: 'a,b'}", 1), "arms[0].client is",
		true,
	},
	"connections":              {strings.Replace(least, "grpc}", "grpc, connections: -1}", 1), "1 to 10000", true},
	"target":                   {strings.Replace(least, "grpc}", "grpc, target: localhost}", 1), "HOST:PORT", true},
	"target's port":            {strings.Replace(least, "grpc}", "grpc, target: 'a:70000'}", 1), "1 to 65535", false},
	"slices":                   {least + "slices: 1001", "slices is 1001; it must be 1 to 1000", true},
	"slices negative":          {least + "slices: -1", "slices is -1", true},
	"slice too short":          {least + "slice: 29ms", "slice is 29ms; it must be 30ms to 10m0s", false},
	"slice too long":           {least + "slice: 11m", "30ms to 10m0s", false},
	"warm_up":                  {least + "warm_up: 1h", "warm_up is 1h0m0s", false},
	"until":                    {least + "until: 2", "until is 2; it must be 0.001 to 0.5", true},
	"until too small":          {least + "until: 0.0001", "0.001 to 0.5", false},
	"until not a number":       {least + "until: .nan", "until must be a number", true},
	"until infinite":           {least + "until: .inf", "until must be a number", true},
	"for":                      {least + "for: 200h", "for is 200h0m0s", false},
	"seed negative":            {least + "seed: -1", "seed", true},
	"seed too large":           {least + "seed: 18446744073709551616", "seed", true},
	"driver_cores":             {least + "driver_cores: -1", "driver_cores is -1", true},
	"driver_cores, not pinned": {least + "pin: none\ndriver_cores: 1", "left out with pin none", false},
	"pin":                      {least + "pin: always", `unknown pin "always"; known: auto, none`, true},
	"deadline":                 {least + "deadline: 2h", "1ms to 1h0m0s", false},
	"primary": {
		least + "primary: speed",
		`unknown primary "speed"; did you mean throughput? wirelab help metrics lists all`, true,
	},
	"practical":            {least + "practical: 1", "practical is 1", true},
	"equivalent":           {least + "equivalent: -0.1", "equivalent is -0.1", true},
	"rounds":               {least + "rounds: {min: 1001}", "rounds.min is 1001", true},
	"rounds the wrong way": {least + "rounds: {min: 5, max: 4}", "at most rounds.max, which is 4", false},
	"in flight":            {least + "loads: [{in_flight: 10001}]", "1 to 10000", true},
	"rate": {
		least + "loads: [{rate: 10000001}]",
		"loads[0].rate is 10000001; it must be 0.1 to 10000000", true,
	},
	"arrivals": {
		least + "loads: [{rate: 5, arrivals: uniform}]",
		"known: constant, log-normal, poisson, recorded, sampled", true,
	},
	"arrivals in a closed loop": {
		least + "loads: [{in_flight: 5, arrivals: poisson}]", "left out in a closed loop",
		false,
	},
	"rate and stages": {
		least + "loads: [{rate: 5, stages: [{for: 1s, from: 1, to: 2}]}]",
		"left out where stages", false,
	},
	"stage without for": {least + "loads: [{stages: [{from: 1, to: 2}]}]", "stages[0].for is missing", true},
	"stages at rest":    {least + "loads: [{stages: [{for: 1s, from: 0, to: 0}]}]", "a rate above 0", false},
	"slice and stages": {
		least + "slice: 1s\nloads: [{stages: [{for: 1s, from: 1, to: 2}]}]",
		"slice is 1s; it must be left out", false,
	},
	"open and closed loads": {least + "loads: [{in_flight: 5}, {rate: 5}]", "loads[1] is 5/s poisson", false},
	"a load twice":          {least + "loads: [{}, {in_flight: 1}]", "different from the loads before it", false},
	"names twice": {strings.Replace(least, "{protocol: grpc}",
		"{protocol: a, name: x}, {protocol: b, name: x}", 1), "arms[1].name", false},
	"throughput, open": {least + "primary: throughput\nloads: [{rate: 5}]", "in an open loop", false},
	"server's CPU, elsewhere": {
		strings.Replace(least, "grpc}", "grpc, target: 'a:1'}", 1) + "primary: server-cpu",
		"which wirelab did not start", false,
	},
	"published arm": {
		least + "published: [{source: s, machine: m, arm: x, mean: 5us}]",
		"the name of an arm", false,
	},
	"published without mean": {least + "published: [{source: s, machine: m, arm: grpc}]", "mean is missing", true},
	"published mean and rate": {
		least + "published: [{source: s, machine: m, arm: grpc, mean: 5us, rate: 7}]",
		"one of mean, rate, p99 and gap_p99", true,
	},
	"published width of none": {
		least + "published: [{source: s, machine: m, arm: grpc, mean: 5us, plus_minus: 7}]",
		"left out where rate is", false,
	},
	"published operation": {
		least + "published: [{source: s, machine: m, arm: grpc, mean: 5us, operation: Get}]",
		"the operation of a load", false,
	},
	"a load's operation": {least + "loads: [{operation: Get.Feature}]", "loads[0].operation is", true},
	"a load's requests":  {least + "loads: [{requests: A}]", "loads[0].requests is", true},
	"a load twice, in words": {
		least + "loads: [{}, {operation: GetFeature}]",
		"different from the loads before it", false,
	},
	"data":          {least + "data: A B", "data is", true},
	"an arm's data": {strings.Replace(least, "grpc}", "grpc, data: 'a,b'}", 1), "arms[0].data is", true},
	"published flaw": {
		least + "published: [{source: s, machine: m, arm: grpc, mean: 5us, flaws: [M01]}]",
		"an id like duh-M01", true,
	},
	"control characters":  {least + `name: "a\u0007"`, "printable", false},
	"field twice":         {least + "name: a\nname: b", "name", true},
	"field twice, quoted": {least + "name: a\n'name': b", "name", true},
	"two documents":       {least + "---\n" + least, "2 documents", true},
	"anchor":              {"name: &a x\n" + least, "must be text", false},
	"tag":                 {"name: !!str x\n" + least, "must be text", false},
	"not YAML":            {"a: [", "test.yaml", true},
}

func TestBadPlansAreRefusedBySchemaToo(t *testing.T) {
	t.Parallel()
	schema := loadSchema(t)
	for name, c := range badPlans {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := plan.Parse("test.yaml", []byte(c.text))
			if err == nil {
				_, err = p.Complete()
			}
			if err == nil || !strings.Contains(err.Error(), c.say) {
				t.Errorf("error %v; want one with %q", err, c.say)
			} else if wirelab.CodeOf(err) != wirelab.InvalidArgument {
				t.Errorf("code %v", wirelab.CodeOf(err))
			}
			// What the YAML reader refuses never gets to the schema; that counts.
			if refused := schemaAccepts(schema, []byte(c.text)) != nil; c.shape && !refused && name != "two documents" {
				t.Error("the schema accepts it")
			} else if !c.shape && refused {
				t.Error("the schema refuses it: mark it as a matter of shape")
			}
		})
	}
}

func TestErrorsPointAtTheLine(t *testing.T) {
	t.Parallel()
	_, err := plan.Parse("my.yaml", []byte(least+"rounds:\n  mim: 5\n"))
	if err == nil {
		t.Fatal("accepted")
	}
	for _, part := range []string{
		"my.yaml", "[5:3]", `unknown field "mim"; did you mean min? Known: max, min`,
		"mim: 5", "^",
	} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error lacks %q:\n%v", part, err)
		}
	}
}

func TestSizeAndDepthAreBounded(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"long":                    least + strings.Repeat("#", plan.SizeLimit),
		"deep":                    least + "loads: " + strings.Repeat("[", 1000),
		"lists that start a list": strings.Repeat("- ", 30_000),
		"keys that start a key":   "  " + strings.Repeat("? ", 30_000),
	} {
		if _, err := plan.Parse(name, []byte(text)); err == nil || wirelab.CodeOf(err) != wirelab.InvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := plan.Parse("wide", []byte("a: "+strings.Repeat("b", plan.SizeLimit/2)))
	if err == nil || len(err.Error()) > 2000 {
		t.Errorf("an error repeats the whole file: %d bytes", len(err.Error()))
	}
}

func TestMetricIDsAreThoseThatResultsCompare(t *testing.T) {
	t.Parallel()
	var want []string
	for _, m := range kinds.Metrics() {
		if !m.Counted {
			want = append(want, m.ID)
		}
	}
	if !slices.Equal(plan.MetricIDs(), want) {
		t.Errorf("plans know %q, results compare %q", plan.MetricIDs(), want)
	}
}

// The schema is written by hand because of its descriptions. This test keeps its fields and metric ids equal to those
// of the Go types.
func TestSchemaHasTheFieldsOfTheTypes(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	type object struct {
		Properties map[string]struct {
			AnyOf []struct {
				Enum []string `json:"enum"`
			} `json:"anyOf"`
		} `json:"properties"`
	}
	var schema struct {
		object
		Defs map[string]object `json:"$defs"`
	}
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		goType reflect.Type
		object object
	}{
		"plan":      {reflect.TypeFor[plan.Plan](), schema.object},
		"arm":       {reflect.TypeFor[plan.Arm](), schema.Defs["arm"]},
		"load":      {reflect.TypeFor[plan.Load](), schema.Defs["load"]},
		"stage":     {reflect.TypeFor[plan.Stage](), schema.Defs["stage"]},
		"corners":   {reflect.TypeFor[plan.Corners](), schema.Defs["corners"]},
		"rounds":    {reflect.TypeFor[plan.Rounds](), schema.Defs["rounds"]},
		"tls":       {reflect.TypeFor[plan.TLS](), schema.Defs["tls"]},
		"external":  {reflect.TypeFor[plan.External](), schema.Defs["external"]},
		"published": {reflect.TypeFor[plan.Published](), schema.Defs["published"]},
		"contrast":  {reflect.TypeFor[plan.Contrast](), schema.Defs["contrast"]},
		"advice":    {reflect.TypeFor[plan.Advice](), schema.Defs["advice"]},
	} {
		var want, got []string
		for i := range c.goType.NumField() {
			tag, _, _ := strings.Cut(c.goType.Field(i).Tag.Get("json"), ",")
			inYAML, _, _ := strings.Cut(c.goType.Field(i).Tag.Get("yaml"), ",")
			if tag != inYAML {
				t.Errorf("%s: %q in JSON, %q in YAML", name, tag, inYAML)
			}
			want = append(want, tag)
		}
		for property := range c.object.Properties {
			got = append(got, property)
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: schema has %q, the type %q", name, got, want)
		}
	}
	if got := schema.Properties["primary"].AnyOf[0].Enum[1:]; !slices.Equal(got, plan.MetricIDs()) {
		t.Errorf("primary: schema has %q, want %q", got, plan.MetricIDs())
	}
}

// FuzzParse checks that nothing panics, that the schema accepts every plan that wirelab accepts, and that a complete
// plan survives being written and read.
func FuzzParse(f *testing.F) {
	for _, c := range badPlans {
		f.Add([]byte(c.text))
	}
	for _, p := range plan.Presets() {
		data, err := yaml.Marshal(p)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	schema := loadSchema(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := plan.Parse("fuzz", data)
		if err != nil {
			return
		}
		done, err := p.Complete()
		if err != nil {
			return
		}
		if err := schemaAccepts(schema, data); err != nil {
			t.Errorf("the schema refuses what wirelab takes: %v", err)
		}
		written, err := json.Marshal(done)
		if err != nil {
			t.Fatal(err)
		}
		back, err := plan.Parse("written", written)
		if err != nil {
			t.Fatalf("%v\nwritten: %s", err, written)
		}
		again, err := back.Complete()
		if err != nil || !reflect.DeepEqual(again, done) {
			t.Errorf("got  %+v, %v\nwant %+v", again, err, done)
		}
		for _, a := range done.Arms {
			text, err := plan.ParseArm(a.String())
			if a.Name == text.String() {
				text.Name = a.Name
			}
			if err != nil || text != a {
				t.Errorf("arm %+v is written %q and read %+v, %v", a, a, text, err)
			}
		}
	})
}

// The example in the documentation is a valid plan, matches the schema, and has comments.
func TestExampleIsAPlan(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/examples/plan.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := schemaAccepts(loadSchema(t), text); err != nil {
		t.Errorf("the schema: %v", err)
	}
	p, err := plan.Parse("plan.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Arms) < 3 || p.About == "" || strings.Count(string(text), "#") < 10 {
		t.Errorf("the example has %d arms and %d comments, and is about %q", len(p.Arms),
			strings.Count(string(text), "#"), p.About)
	}
}
