// Package routeguide is the work of a route guide: look a place up, list the
// places in an area, sum a route up, and pass notes along it. It is the domain
// alone and knows no transport; folder bind carries it over each.
//
// # The contract
//
// Every server, on every wire, answers as [Memory] does.
//
//   - A [Point] is in units of 1e-7 degree: latitude −900,000,000 to
//     900,000,000, longitude −1,800,000,000 to 1,800,000,000, both inclusive.
//     Outside them a call fails with InvalidArgument. A point, or a corner of a
//     rectangle, that is absent from a message reads as 0, 0.
//   - GetFeature returns the feature at exactly that point, or one with that
//     location and no name. It never returns NotFound: the published service
//     does not either.
//   - ListFeatures returns the features in the rectangle, borders included, in
//     the data set's order. The corners may be given in any order.
//   - RecordRoute takes 0 to 10,000 points ([RouteLimit]); one more fails with
//     ResourceExhausted. Distance is the sum of great circle distances
//     (haversine, sphere of radius 6,371,000 m, R. W. Sinnott, Sky and
//     Telescope 68(2), 1984) in whole metres, each leg truncated. A sum above
//     2,147,483,647 m, which the published message cannot hold, fails with
//     ResourceExhausted. Elapsed is the whole seconds from the call's start to
//     its end on the server's clock, and no part of equality.
//   - RouteChat answers each note with the notes kept at its location, oldest
//     first, the new one last. All callers share them. A location keeps its
//     newest 16 ([NotesKept]) and the server the 1,024 locations noted last
//     ([LocationsKept]), so that no caller can make memory grow. A note's
//     message is valid UTF-8 of at most 4,096 bytes ([MessageLimit]) and may
//     hold any character, NUL included; else InvalidArgument, and the call
//     ends. A call takes at most 10,000 notes; one more is ResourceExhausted.
//     Notes sent before the one that ended the call may be kept or not: a wire
//     may drop what travels when its caller gives up.
//
// The published systems crash on absent corners and locations, overflow the
// distance and keep every note for ever (docs/origins.md duh-D01 to duh-D03); the
// bounds above are why this one does not.
package routeguide
