package bind

import (
	"net/http"

	"wirelab"
	"wirelab/wire/httpbind"
	"wirelab/wire/httprpc"
	"wirelab/wire/sse"
	"wirelab/workload/routeguide"
	"wirelab/workload/routeguide/gen"
	"wirelab/workload/routeguide/schema"
)

// The route guide over plain HTTP, whatever its version: what the protocols of
// http1.go, http2.go, http3.go and sse.go share. Every server answers every
// path in every encoding; a protocol is what its client asks for.

// The paths. The first two are the published service's, whose clients call them
// unchanged (docs/origins.md duh-F07); the published service has no others. Its
// clients open their connection with the second.
const (
	pathGetFeature   = "/v1/route.getFeature"
	pathHello        = "/v1/say.hello"
	pathListFeatures = "/v1/route.listFeatures"
	pathRecordRoute  = "/v1/route.recordRoute"
	pathRouteChat    = "/v1/route.routeChat"
	pathFeatureFeed  = "/v1/route.listFeatures/events"
)

// The messages in JSON. Names are those the published service's JSON has, and
// so does its int32: a number without a fraction. Absent members are zero, as
// in protobuf.
type (
	pointJSON struct {
		Latitude  int32 `json:"latitude"`
		Longitude int32 `json:"longitude"`
	}
	rectangleJSON struct {
		Lo pointJSON `json:"lo"`
		Hi pointJSON `json:"hi"`
	}
	featureJSON struct {
		Name     string    `json:"name"`
		Location pointJSON `json:"location"`
	}
	noteJSON struct {
		Location pointJSON `json:"location"`
		Message  string    `json:"message"`
	}
	summaryJSON struct {
		PointCount   int32 `json:"pointCount"`
		FeatureCount int32 `json:"featureCount"`
		Distance     int32 `json:"distance"`
		ElapsedTime  int32 `json:"elapsedTime"`
	}
)

// restCodecs are the codecs of every message that travels alone or in a stream.
type restCodecs struct {
	point     httprpc.Forms[routeguide.Point]
	feature   httprpc.Forms[routeguide.Feature]
	rectangle httprpc.Codec[routeguide.Rectangle]
	note      httprpc.Codec[routeguide.RouteNote]
	summary   httprpc.Codec[routeguide.RouteSummary]
}

func newRESTCodecs() restCodecs {
	return restCodecs{
		point: httprpc.Forms[routeguide.Point]{
			JSON: httprpc.JSONOf(
				func(p routeguide.Point) pointJSON { return pointJSON(p) },
				func(p pointJSON) routeguide.Point { return routeguide.Point(p) }),
			Proto: httprpc.ProtoOf[routeguide.Point, gen.Point](pointToProto, pointFromProto),
		},
		feature: httprpc.Forms[routeguide.Feature]{
			JSON: httprpc.JSONOf(
				func(f routeguide.Feature) featureJSON {
					return featureJSON{Name: f.Name, Location: pointJSON(f.Location)}
				},
				func(f featureJSON) routeguide.Feature {
					return routeguide.Feature{Name: f.Name, Location: routeguide.Point(f.Location)}
				}),
			Proto: httprpc.ProtoOf[routeguide.Feature, gen.Feature](featureToProto, featureFromProto),
		},
		rectangle: httprpc.JSONOf(
			func(r routeguide.Rectangle) rectangleJSON {
				return rectangleJSON{Lo: pointJSON(r.Lo), Hi: pointJSON(r.Hi)}
			},
			func(r rectangleJSON) routeguide.Rectangle {
				return routeguide.Rectangle{Lo: routeguide.Point(r.Lo), Hi: routeguide.Point(r.Hi)}
			}),
		note: httprpc.JSONOf(
			func(n routeguide.RouteNote) noteJSON {
				return noteJSON{Location: pointJSON(n.Location), Message: n.Message}
			},
			func(n noteJSON) routeguide.RouteNote {
				return routeguide.RouteNote{Location: routeguide.Point(n.Location), Message: n.Message}
			}),
		summary: httprpc.JSONOf(
			func(s routeguide.RouteSummary) summaryJSON { return summaryJSON(s) },
			func(s summaryJSON) routeguide.RouteSummary { return routeguide.RouteSummary(s) }),
	}
}

// restHandler serves service on all paths.
func restHandler(service routeguide.Service) http.Handler {
	c := newRESTCodecs()
	return httprpc.NewHandler(map[string]httprpc.Route{
		pathGetFeature:      httprpc.Unary(c.point, c.feature, service.GetFeature),
		pathHello:           httprpc.Fixed("application/octet-stream", "Hello!"),
		pathListFeatures:    httprpc.ServerStream(c.rectangle, c.feature.JSON, service.ListFeatures),
		pathRecordRoute:     httprpc.ClientStream(c.point.JSON, c.summary, service.RecordRoute),
		pathRouteChat:       httprpc.Bidi(c.note, c.note, service.RouteChat),
		httprpc.PathOpenAPI: httprpc.Described(schema.OpenAPI()),
		pathFeatureFeed:     sse.ServerStream(rectangleQuery(), c.feature.JSON, service.ListFeatures),
	})
}

// noFraming is why the protobuf protocols carry no stream.
const noFraming = "there is no agreed framing of a stream of protobuf messages in a plain HTTP body; " +
	"the agreed ones are gRPC's and Connect's, which are protocols of their own here"

// jsonStub calls every operation in JSON.
func jsonStub(client *httprpc.Client) routeguide.Service {
	c := newRESTCodecs()
	return stub{&functions{
		getFeature:   httprpc.CallUnary(client, pathGetFeature, c.point.JSON, c.feature.JSON),
		listFeatures: httprpc.CallServerStream(client, pathListFeatures, c.rectangle, c.feature.JSON),
		recordRoute:  httprpc.CallClientStream(client, pathRecordRoute, c.point.JSON, c.summary),
		routeChat:    httprpc.CallBidi(client, pathRouteChat, c.note, c.note),
	}}
}

// protoStub calls GetFeature in protobuf.
func protoStub(client *httprpc.Client) routeguide.Service {
	c := newRESTCodecs()
	calls := unimplemented(noFraming)
	calls.getFeature = httprpc.CallUnary(client, pathGetFeature, c.point.Proto, c.feature.Proto)
	return stub{calls}
}

// restBinding is the route guide over a protocol of plain HTTP, by the stub of
// its encoding. The protocol's encoding decides the holes.
func restBinding(
	c httpbind.Carriage, stub func(*httprpc.Client) routeguide.Service, holes map[string]string,
) wirelab.Binding[routeguide.Service] {
	b := httpbind.Service[routeguide.Service]{
		Handler: restHandler, RawHoles: rawHoles(), Fresh: []string{pathRouteChat},
	}.Over(c, stub)
	b.Holes = holes
	return b
}

// protoHoles are the operations of the protobuf protocols that have none.
func protoHoles() map[string]string {
	return map[string]string{"ListFeatures": noFraming, "RecordRoute": noFraming, "RouteChat": noFraming}
}
