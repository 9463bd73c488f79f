// Package routeguide is the workload of a route guide: look up a place, list the
// places in an area, sum up a route, and exchange notes along it. It contains the
// domain only and knows no transport; the folder bind carries it over each one.
//
// # The contract
//
// Every server, on every wire, answers as [Memory] does.
//
//   - A [Point] is in units of 1e-7 degree: latitude −900,000,000 to
//     900,000,000, longitude −1,800,000,000 to 1,800,000,000, both inclusive.
//     Outside this range a call fails with InvalidArgument. A point, or a corner
//     of a rectangle, that is absent from a message reads as 0, 0.
//   - GetFeature returns the feature at exactly this point, or a feature with this
//     location and no name. It never returns NotFound, as in the published service.
//   - ListFeatures returns the features in the rectangle, borders included, in
//     the data set's order. The corners may be given in any order.
//   - RecordRoute takes 0 to 10,000 points ([RouteLimit]); one more fails with
//     ResourceExhausted. Distance is the sum of great circle distances
//     (haversine, sphere of radius 6,371,000 m, R. W. Sinnott, Sky and
//     Telescope 68(2), 1984) in whole metres, each leg truncated. A sum above
//     2,147,483,647 m, which does not fit into the published message, fails with
//     ResourceExhausted. Elapsed is the time from the start of the call to its end
//     by the server's clock, in whole seconds. Equality ignores it.
//   - RouteChat answers each note with the notes kept at its location, oldest
//     first, the new one last. All callers share the notes. The server keeps the
//     newest 16 notes of a location ([NotesKept]), and the 1,024 locations with the
//     latest notes ([LocationsKept]), so that no caller can make memory grow. A
//     note's message is valid UTF-8 of at most 4,096 bytes ([MessageLimit]) and may
//     contain any character, NUL included; otherwise the call ends with
//     InvalidArgument. A call takes at most 10,000 notes; one more is
//     ResourceExhausted. Notes sent before the note that ended the call may or may
//     not be kept: a wire may drop data in transit when its caller gives up.
//
// The published systems crash on absent corners and locations, overflow the
// distance and keep every note forever (docs/origins.md duh-D01 to duh-D03). The
// limits above prevent this here.
package routeguide
