package judge

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"wirelab"
)

// span is a range of statuses. Those of gRPC are 0 to 16, those of HTTP from 100.
type span struct{ from, to int }

// usual is what a good reply has where nothing else is said: OK, or 2xx.
var usual = []span{{0, 0}, {200, 299}} // read only

// codes are the names of gRPC's statuses by their numbers.
var codes = []string{ // read only
	"OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
	"PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED",
	"INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED",
}

// parseStatus reads which statuses are good.
func parseStatus(text string) ([]span, error) {
	if text == "" {
		return usual, nil
	}
	var all []span
	for word := range strings.SplitSeq(text, ",") {
		word = strings.ToUpper(strings.TrimSpace(word))
		if len(word) == 3 && word[0] >= '1' && word[0] <= '5' && word[1:] == "XX" {
			from := int(word[0]-'0') * 100
			all = append(all, span{from, from + 99})
			continue
		}
		n, err := strconv.Atoi(word)
		if err != nil {
			n = slices.IndexFunc(codes, func(name string) bool {
				return name == word || strings.ReplaceAll(name, "_", "") == word ||
					name == "CANCELLED" && word == "CANCELED"
			})
		}
		if n < 0 || n > 16 && n < 100 || n > 599 {
			return nil, wirelab.Errorf(wirelab.InvalidArgument,
				"status %.60q: it is a number such as 200, a class such as 2xx, a code of gRPC such as NOT_FOUND, "+
					"or several with commas between them", text)
		}
		all = append(all, span{n, n})
	}
	return all, nil
}

// statusText is a status as people know it.
func statusText(status int) string {
	if status >= 0 && status < len(codes) {
		return codes[status]
	}
	return strconv.Itoa(status)
}

func spansText(all []span) string {
	words := make([]string, len(all))
	for i, s := range all {
		words[i] = statusText(s.from)
		if s.from != s.to {
			words[i] = fmt.Sprintf("%dxx", s.from/100)
		}
	}
	return strings.Join(words, " or ")
}
