package main

import (
	"encoding/binary"
	"fmt"
	"path/filepath"
	"strconv"

	"google.golang.org/protobuf/proto"

	"wirelab/workload/routeguide/gen"
)

// The raw driver's names among the tools: with our own binding, and as wirelab load has it, by a description of a service
// that it does not know.
const (
	ours = "wirelab raw"
	load = "wirelab load"
)

// scenario is a server with the connections and calls that it is put under.
type scenario struct {
	name        string
	protocol    string
	null        bool // the null responder, else the protocol's usual server
	connections int
	streams     int // calls in flight on each connection
	tools       []string
	targets     map[string]float64 // rival to the most that ours may cost by its
	load        map[string]float64 // the same of load
}

// scenarios are those that the engine's figures are held against.
func scenarios() []scenario {
	grpc := []string{ours, load, "h2load", "ghz", "k6"}
	loads := map[string]float64{ours: 1.05, "wrk": 0.9, "ghz": 0.1, "k6": 0.1}
	return []scenario{
		{
			"HTTP/1.1, 50 connections, null responder", "http1-json", true, 50, 1,
			[]string{ours, load, "wrk", "h2load", "k6"},
			map[string]float64{"wrk": 1},
			loads,
		},
		{
			"gRPC, 10 connections x 10 calls, null responder", "grpc", true, 10, 10,
			grpc,
			map[string]float64{"h2load": 0.6, "ghz": 0.15},
			loads,
		},
		{
			"gRPC, 1 connection x 100 calls, null responder", "grpc", true, 1, 100,
			grpc,
			map[string]float64{"h2load": 0.6, "ghz": 0.15},
			loads,
		},
		{
			"gRPC, 50 connections x 1 call, grpc-go server", "grpc", false, 50, 1,
			grpc,
			map[string]float64{"h2load": 0.95, "ghz": 0.4},
			nil,
		},
	}
}

// The request that rivals repeat. Ours sends 256 different ones in turn.
const (
	requestJSON = `{"latitude":407838351,"longitude":-746143763}`
	httpPath    = "/v1/route.getFeature"
	grpcPath    = "/routeguide.RouteGuide/GetFeature"
)

// requestFiles are what rivals read, by name.
func requestFiles() map[string]string {
	return map[string]string{
		"body.json": requestJSON,
		"post.lua": fmt.Sprintf("wrk.method = \"POST\"\nwrk.body = '%s'\nwrk.headers[\"Content-Type\"] = \"application/json\"\n",
			requestJSON),
		// Replies are compared with the first one, as load does.
		"http.js": fmt.Sprintf(`import http from 'k6/http';
import { check } from 'k6';
let first = null;
export default function () {
  const reply = http.post(__ENV.URL, '%s', { headers: { 'Content-Type': 'application/json' } });
  if (first === null) first = reply.body;
  check(reply, { right: (r) => r.status === 200 && r.body === first });
}
`, requestJSON),
		"grpc.js": fmt.Sprintf(`import grpc from 'k6/net/grpc';
const client = new grpc.Client();
client.load([__ENV.FOLDER], 'guide.proto');
let connected = false;
export default function () {
  if (!connected) {
    client.connect(__ENV.ADDRESS, { plaintext: true });
    connected = true;
  }
  client.invoke('routeguide.RouteGuide/GetFeature', %s);
}
`, requestJSON),
		"body.proto": point(),
		// As gRPC has it in a body: not compressed, its length, itself.
		"body.grpc": "\x00" + string(binary.BigEndian.AppendUint32(nil, uint32(len(point())))) + point(),
		"guide.proto": `syntax = "proto3";
package routeguide;
service RouteGuide { rpc GetFeature(Point) returns (Feature) {} }
message Point { int32 latitude = 1; int32 longitude = 2; }
message Feature { string name = 1; Point location = 2; }
`,
	}
}

// point is the request in protobuf.
func point() string {
	data, err := proto.Marshal(&gen.Point{Latitude: 407838351, Longitude: -746143763})
	if err != nil {
		panic(err) // a message without required fields or text
	}
	return string(data)
}

// arguments are a rival's for a scenario against the server at address.
func (b *bench) arguments(s scenario, tool, address string) []string {
	file := func(name string) string { return filepath.Join(b.files, name) }
	seconds, connections := strconv.Itoa(b.seconds), strconv.Itoa(s.connections)
	switch {
	case tool == "k6" && s.protocol != "grpc":
		return []string{
			"run", "--quiet", "--no-usage-report", "--vus", connections, "--duration", seconds + "s",
			"-e", "URL=http://" + address + httpPath, file("http.js"),
		}
	case tool == "k6":
		return []string{
			"run", "--quiet", "--no-usage-report", "--vus", strconv.Itoa(s.connections * s.streams), "--duration", seconds + "s",
			"-e", "ADDRESS=" + address, "-e", "FOLDER=" + b.files, file("grpc.js"),
		}
	case tool == "wrk":
		return []string{"-t1", "-c" + connections, "-d" + seconds + "s", "-s", file("post.lua"), "http://" + address + httpPath}
	case tool == "h2load" && s.protocol != "grpc":
		return []string{
			"--h1", "-t1", "-c" + connections, "-m1", "-D" + seconds, "-d", file("body.json"),
			"-H", "content-type: application/json", "http://" + address + httpPath,
		}
	case tool == "h2load":
		return []string{
			"-t1", "-c" + connections, "-m" + strconv.Itoa(s.streams), "-D" + seconds, "-d", file("body.grpc"),
			"-H", "content-type: application/grpc", "-H", "te: trailers", "http://" + address + grpcPath,
		}
	}
	return []string{ // without the templates it is three times as cheap
		"--insecure", "--proto", file("guide.proto"), "--call", "routeguide.RouteGuide/GetFeature",
		"--binary-file", file("body.proto"), "--disable-template-data", "--disable-template-functions",
		"-c", strconv.Itoa(s.connections * s.streams), "--connections", connections, "-z", seconds + "s",
		"--duration-stop", "wait", address,
	}
}
