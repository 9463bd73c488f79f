package result

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"wirelab"
	"wirelab/lab/stat"
)

// causesShown is how many causes are told one by one in the notes of an arm.
const causesShown = 6

// causes tells why an arm's calls failed: a note for each cause, with how often and what
// the first call said. What a server, or a file, says is made harmless before it is shown.
func (s *subject) causes() {
	for _, c := range s.all.causes.Sorted() {
		c.Kind, c.Cause, c.First = oneLine(c.Kind), oneLine(c.Cause), oneLine(c.First)
		s.state.Causes = append(s.state.Causes, c)
	}
	for i, c := range s.state.Causes {
		if i == causesShown {
			s.state.Notes = append(s.state.Notes, fmt.Sprintf("%d more causes of failed %s; --json has them all", len(s.state.Causes)-i, s.things()))
			break
		}
		first := ""
		if c.First != "" {
			first = "; the first said: " + c.First
		}
		s.state.Notes = append(s.state.Notes, fmt.Sprintf("%s failed: %s%s", countOf(c.Count, s.things()), causeText(c), first))
	}
}

// countOf is "1 call", "12 calls".
func countOf(n uint64, things string) string {
	if n == 1 {
		things = strings.TrimSuffix(things, "s")
	}
	return Thousands(n) + " " + things
}

// causeText is a cause with the kind that it is of, where that says more.
func causeText(c stat.Cause) string {
	if strings.ReplaceAll(c.Kind, "_", " ") == strings.ReplaceAll(c.Cause, "_", " ") || c.Cause == "timed out" {
		return c.Cause
	}
	return c.Cause + " (" + c.Kind + ")"
}

// whyFailed lists why calls failed: by cause where the result tells, else by kind.
func (s *subject) whyFailed() string {
	if len(s.all.causes) == 0 {
		return kinds(s.all.errors)
	}
	return whyFailed(s.state.Causes)
}

// whyFailed lists causes, the most frequent first, with the first message of that.
func whyFailed(causes stat.Causes) string {
	by := map[string]uint64{}
	for _, c := range causes {
		c.Kind, c.Cause = oneLine(c.Kind), oneLine(c.Cause)
		by[causeText(c)] += c.Count
	}
	if first := oneLine(causes[0].First); first != "" {
		return kinds(by) + "; the first said: " + briefly(first)
	}
	return kinds(by)
}

// briefly is a text of at most so many characters; the notes have all of it.
func briefly(text string) string {
	const most = 120
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

// oneLine is a text of somebody else that does no harm where it is printed.
func oneLine(text string) string {
	if len(text) > stat.TextLimit {
		text = text[:stat.TextLimit]
	}
	text = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
	return strings.Join(strings.Fields(text), " ")
}

// remedy says what to do about calls that failed, by the most frequent cause.
func (s *subject) remedy() string {
	if len(s.state.Causes) == 0 {
		return "make one call yourself to find out why, and at a rate try a lower one or a longer deadline"
	}
	switch wirelab.Cause(s.state.Causes[0].Cause) {
	case wirelab.TimedOut, "unfinished":
		return "the server did not answer in time: try a lower rate, fewer calls in flight or a longer --deadline"
	case wirelab.Reset, wirelab.Closed:
		return "the server closed connections: look at its log, and at its limits for each connection"
	case wirelab.Refused, wirelab.Unreachable, wirelab.BadName:
		return "check that the server runs, and its address"
	case wirelab.BadTLS:
		return "check --ca, --server-name and the client certificate"
	case wirelab.Descriptors:
		return "raise the limit of open files (ulimit -n), or have fewer connections"
	case WrongReply:
		return "the server gives wrong replies: make one call yourself, and look"
	}
	return "see what the server says to one call of yours, and at a rate try a lower one or a longer --deadline"
}
