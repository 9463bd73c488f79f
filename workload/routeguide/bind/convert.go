package bind

import (
	"wirelab/workload/routeguide"
	"wirelab/workload/routeguide/gen"
)

// The domain's types and the generated messages, both ways. Absent messages
// read as their zero value: the generated getters are nil-safe, and that is
// what keeps a request without a location from crashing a server (duh-D01).

func pointToProto(p routeguide.Point) *gen.Point {
	return &gen.Point{Latitude: p.Latitude, Longitude: p.Longitude}
}

func pointFromProto(p *gen.Point) routeguide.Point {
	return routeguide.Point{Latitude: p.GetLatitude(), Longitude: p.GetLongitude()}
}

func rectangleToProto(r routeguide.Rectangle) *gen.Rectangle {
	return &gen.Rectangle{Lo: pointToProto(r.Lo), Hi: pointToProto(r.Hi)}
}

func rectangleFromProto(r *gen.Rectangle) routeguide.Rectangle {
	return routeguide.Rectangle{Lo: pointFromProto(r.GetLo()), Hi: pointFromProto(r.GetHi())}
}

func featureToProto(f routeguide.Feature) *gen.Feature {
	return &gen.Feature{Name: f.Name, Location: pointToProto(f.Location)}
}

func featureFromProto(f *gen.Feature) routeguide.Feature {
	return routeguide.Feature{Name: f.GetName(), Location: pointFromProto(f.GetLocation())}
}

func noteToProto(n routeguide.RouteNote) *gen.RouteNote {
	return &gen.RouteNote{Location: pointToProto(n.Location), Message: n.Message}
}

func noteFromProto(n *gen.RouteNote) routeguide.RouteNote {
	return routeguide.RouteNote{Location: pointFromProto(n.GetLocation()), Message: n.GetMessage()}
}

func summaryToProto(s routeguide.RouteSummary) *gen.RouteSummary {
	return &gen.RouteSummary{
		PointCount: s.PointCount, FeatureCount: s.FeatureCount, Distance: s.Distance, ElapsedTime: s.ElapsedTime,
	}
}

func summaryFromProto(s *gen.RouteSummary) routeguide.RouteSummary {
	return routeguide.RouteSummary{
		PointCount: s.GetPointCount(), FeatureCount: s.GetFeatureCount(),
		Distance: s.GetDistance(), ElapsedTime: s.GetElapsedTime(),
	}
}
