package tool

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"wirelab"
	"wirelab/lab/audit"
	"wirelab/lab/plan"
)

func k6() Tool {
	return Tool{
		Name: "k6", Untold: "its script checks the status only", step: time.Second,
		Arrivals: plan.Constant,
		single:   always,
		refuses: func(r Request, l Load) string {
			switch {
			case r.SQL():
				return noSQL
			case r.GRPC() && (len(r.Body) < grpcPrefix || len(r.Schema) == 0):
				return noSchema
			case r.HTTP2 && !r.GRPC():
				return "without TLS it speaks only HTTP/1.1 and gRPC; use h2load"
			case l.Connections != l.InFlight:
				return fmt.Sprintf("each of its users keeps one call in flight on its own connection, not "+
					"%d on %d",
					l.InFlight, l.Connections)
			}
			return ""
		},
		files: func(r Request) (map[string][]byte, error) {
			script, err := k6Script(r)
			return map[string][]byte{"script.js": []byte(script), "schema.protoset": r.Schema}, err
		},
		args: func(_ Request, l Load, at func(string) string) []string {
			return []string{
				"run", "--quiet", "--no-usage-report", "--no-thresholds", "--no-color",
				"-e", fmt.Sprintf("USERS=%d", l.InFlight), "-e", fmt.Sprintf("RATE=%v", l.Rate),
				"-e", fmt.Sprintf("SECONDS=%d", int(l.For/time.Second)), at("script.js"),
			}
		},
		report: k6Report,
	}
}

// k6Common is shared by the scripts for HTTP and gRPC: the load, and the summary that is printed at the end.
const k6Common = `import { Counter } from 'k6/metrics';
const wrong = new Counter('wrong');
const users = parseInt(__ENV.USERS), rate = parseFloat(__ENV.RATE), long = __ENV.SECONDS + 's';
const load = rate > 0
  ? { executor: 'constant-arrival-rate', rate: Math.round(rate * 1000), timeUnit: '1000s', duration: long,
      preAllocatedVUs: users, maxVUs: users }
  : { executor: 'constant-vus', vus: users, duration: long };
export const options = { discardResponseBodies: true, scenarios: { load: load } };
export function handleSummary(data) {
  const of = (name) => data.metrics[name] ? data.metrics[name].values.count : 0;
  return { stdout: JSON.stringify({
    calls: of('iterations'), wrong: of('wrong'), milliseconds: data.state.testRunDurationMs }) + '\n' };
}
`

// k6Script returns a k6 script that repeats a request.
func k6Script(r Request) (string, error) {
	if r.GRPC() {
		return k6GRPC(r)
	}
	fields := map[string]string{}
	for _, h := range headers(r) {
		fields[h.name] = h.value
	}
	parameters, err := json.Marshal(map[string]any{"headers": fields})
	if err != nil {
		return "", err
	}
	body := "null"
	if len(r.Body) > 0 {
		body = "new Uint8Array(" + k6Bytes(r.Body) + ").buffer"
	}
	return fmt.Sprintf(`import http from 'k6/http';
%sconst body = %s, parameters = %s;
export default function () {
  const reply = http.request(%q, %q, body, parameters);
  if (reply.status < 200 || reply.status > 299) wrong.add(1);
}
`, k6Common, body, parameters, r.Method, r.URL), nil
}

// k6Bytes writes bytes as a JavaScript array.
func k6Bytes(data []byte) string {
	numbers := make([]string, len(data))
	for i, b := range data {
		numbers[i] = fmt.Sprint(b)
	}
	return "[" + strings.Join(numbers, ",") + "]"
}

// k6GRPC returns a k6 script that repeats a gRPC call, whose message it contains as JSON.
func k6GRPC(r Request) (string, error) {
	host, path, _ := strings.Cut(strings.TrimPrefix(r.URL, "http://"), "/")
	message, err := messageJSON(r.Schema, path, r.Body[grpcPrefix:])
	if err != nil {
		return "", err
	}
	return fmt.Sprintf(`import grpc from 'k6/net/grpc';
%sconst client = new grpc.Client();
client.loadProtoset('schema.protoset');
let connected = false;
export default function () {
  if (!connected) {
    client.connect(%q, { plaintext: true });
    connected = true;
  }
  if (client.invoke(%q, %s).status !== grpc.StatusOK) wrong.add(1);
}
`, k6Common, host, path, message), nil
}

// messageJSON converts the message of a gRPC call to JSON, by the schema of its service.
func messageJSON(schema []byte, path string, data []byte) ([]byte, error) {
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(schema, &set); err != nil {
		return nil, err
	}
	files, err := protodesc.NewFiles(&set)
	if err != nil {
		return nil, err
	}
	service, method, _ := strings.Cut(path, "/")
	found, err := files.FindDescriptorByName(protoreflect.FullName(service + "." + method))
	if err != nil {
		return nil, err
	}
	of, ok := found.(protoreflect.MethodDescriptor)
	if !ok {
		return nil, wirelab.Errorf(wirelab.Internal, "%s is no method", path)
	}
	message := dynamicpb.NewMessage(of.Input())
	if err := proto.Unmarshal(data, message); err != nil {
		return nil, err
	}
	return protojson.Marshal(message)
}

// k6Report reads the last line that the script printed.
func k6Report(o audit.Output) (Told, error) {
	lines := strings.Split(strings.TrimSpace(o.Stdout), "\n")
	var said struct {
		Calls, Wrong uint64
		Milliseconds float64
	}
	err := json.Unmarshal([]byte(lines[len(lines)-1]), &said)
	if err != nil || said.Calls < said.Wrong || said.Milliseconds <= 0 {
		return Told{}, wirelab.Errorf(wirelab.Unavailable, "the output of k6 does not have the form that its script prints")
	}
	elapsed := time.Duration(said.Milliseconds * float64(time.Millisecond))
	return Told{Right: said.Calls - said.Wrong, Wrong: said.Wrong, Elapsed: elapsed}, nil
}
