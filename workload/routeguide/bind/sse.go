package bind

import (
	"net/url"
	"strconv"

	"wirelab"
	"wirelab/wire/httpbind"
	"wirelab/wire/httprpc"
	"wirelab/wire/sse"
	"wirelab/workload/routeguide"
)

// SSE carries ListFeatures over HTTP/1.1 as server-sent events, which flow one
// way: from the server, after a GET.
func SSE() wirelab.Binding[routeguide.Service] {
	return sseBinding(httpbind.SSE(), "http1-json")
}

// SSEH2C carries ListFeatures over HTTP/2 in the clear as server-sent events.
func SSEH2C() wirelab.Binding[routeguide.Service] {
	return sseBinding(httpbind.SSEH2C(), "h2c-json")
}

// sseBinding is the route guide as events; plain is the protocol that carries
// the rest over the same wire.
func sseBinding(c httpbind.Carriage, plain string) wirelab.Binding[routeguide.Service] {
	const oneWay = "server-sent events are a stream of replies to a GET: they carry no stream of requests"
	unary := "server-sent events are a stream: a call with one reply is plain HTTP, as in " + plain
	call := func(client *httprpc.Client) routeguide.Service {
		c := newRESTCodecs()
		calls := unimplemented(oneWay)
		calls.getFeature = unimplemented(unary).getFeature
		calls.listFeatures = sse.CallServerStream(client, pathFeatureFeed, rectangleQuery(), c.feature.JSON)
		return stub{calls}
	}
	return restBinding(c, call, map[string]string{"GetFeature": unary, "RecordRoute": oneWay, "RouteChat": oneWay})
}

// rectangleQuery writes a rectangle as the query lo.latitude=…&lo.longitude=…&
// hi.latitude=…&hi.longitude=…, decimal. An absent coordinate reads as 0, as
// in the other encodings; one given twice is refused.
func rectangleQuery() sse.Query[routeguide.Rectangle] {
	fields := func(r *routeguide.Rectangle) map[string]*int32 {
		return map[string]*int32{
			"lo.latitude": &r.Lo.Latitude, "lo.longitude": &r.Lo.Longitude,
			"hi.latitude": &r.Hi.Latitude, "hi.longitude": &r.Hi.Longitude,
		}
	}
	return sse.Query[routeguide.Rectangle]{
		Encode: func(r routeguide.Rectangle) url.Values {
			query := url.Values{}
			for name, field := range fields(&r) {
				query.Set(name, strconv.FormatInt(int64(*field), 10))
			}
			return query
		},
		Decode: func(query url.Values) (r routeguide.Rectangle, err error) {
			for name, field := range fields(&r) {
				values := query[name]
				if len(values) == 0 {
					continue
				}
				n, err := strconv.ParseInt(values[0], 10, 32)
				if err != nil || len(values) > 1 {
					return routeguide.Rectangle{}, wirelab.Errorf(wirelab.InvalidArgument,
						"query: %s is %q; want one whole number of 32 bits", name, values)
				}
				*field = int32(n)
			}
			return r, nil
		},
	}
}
