package workqueue

import (
	"strconv"
	"strings"

	"wirelab"
)

// ParseOptions reads the options of a queue from words joined by +:
//
//	quorum, classic, stream   how the broker keeps it
//	unconfirmed               publishers do not wait for the broker's confirm
//	transient                 messages need not be on disk
//	prefetch-N                messages with a consumer at once
//
// "" is a queue with full guarantees: confirmed and on disk. Other options are
// left to [Options.Complete]. Unknown words are InvalidArgument.
func ParseOptions(text string) (Options, error) {
	o := Options{Confirms: true, Persistent: true}
	if text == "" {
		return o, nil
	}
	said := map[string]bool{}
	for word := range strings.SplitSeq(text, "+") {
		about := word
		switch word {
		case string(Quorum), string(Classic), string(Stream):
			o.Kind, about = Kind(word), "kind"
		case "unconfirmed":
			o.Confirms = false
		case "transient":
			o.Persistent = false
		default:
			number, ok := strings.CutPrefix(word, "prefetch-")
			n, err := strconv.Atoi(number)
			if !ok {
				return Options{}, wirelab.UnknownName("word of a queue", word,
					[]string{"quorum", "classic", "stream", "unconfirmed", "transient", "prefetch-N"})
			}
			if err != nil || n < 1 || n > prefetchLimit {
				return Options{},
					wirelab.Errorf(wirelab.InvalidArgument, "queue %.40q: prefetch is 1 to %d", word, prefetchLimit)
			}
			o.Prefetch, about = n, "prefetch"
		}
		if said[about] {
			return Options{}, wirelab.Errorf(wirelab.InvalidArgument, "queue %.100q says twice what it is", text)
		}
		said[about] = true
	}
	return o, nil
}
