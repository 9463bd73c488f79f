package routeguide

import (
	"math/rand/v2"
	"strings"
)

// FeatureCount and UnnamedCount are the sizes of the data set; both equal those of the published one, so that lists
// have the same length.
const (
	FeatureCount = 100
	UnnamedCount = 36
)

// Published is the one point that the published experiment asks for.
var Published = Point{Latitude: 409146138, Longitude: -746188906}

// dataSeed fixes the data set. The value is arbitrary; changing it changes every stored conversation.
const dataSeed = 20261121

// Features returns the data set: 100 places in a box of about 220 by 170 km, 36 without a name, the published point
// first. It is drawn at random, not copied, and the same at every call. The caller owns the slice.
func Features() []Feature {
	r := rand.New(rand.NewPCG(dataSeed, 0))
	features := make([]Feature, 0, FeatureCount)
	taken := map[Point]bool{Published: true}
	features = append(features, Feature{Name: "Berkshire Valley Trailhead, Jefferson", Location: Published})
	for len(features) < FeatureCount {
		p := Point{
			Latitude:  400_000_000 + r.Int32N(20_000_000),
			Longitude: -750_000_000 + r.Int32N(20_000_000),
		}
		if taken[p] {
			continue
		}
		taken[p] = true
		features = append(features, Feature{Name: placeName(r), Location: p})
	}
	// The first feature keeps its name: the published requests ask for it.
	for _, i := range r.Perm(FeatureCount - 1)[:UnnamedCount] {
		features[i+1].Name = ""
	}
	return features
}

// placeName draws a name. Some contain characters outside ASCII, as real ones do.
func placeName(r *rand.Rand) string {
	pick := func(words string) string {
		all := strings.Fields(words)
		return all[r.IntN(len(all))]
	}
	return pick("Alder Birch Cedar Élan Fern Grüne Hazel Iron Juniper Løken Maple North Oak Pine Quarry Stone") + " " +
		pick("Bridge Brook Crossing Falls Ford Hollow Junction Lake Mill Overlook Pass Ridge Spring Turnpike") + ", " +
		pick("Andover Chester Dover Florham Hampton Ironia Jefferson Kinnelon Lebanon Mendham Newton Oxford Roxbury "+
			"Sparta Vernon Wharton")
}
