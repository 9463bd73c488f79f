package gate

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"wirelab"
	"wirelab/lab/result"
	"wirelab/lab/result/words"
	"wirelab/lab/stat"
)

// causesShown is the maximum number of causes in the notes of an arm.
const causesShown = 6

// Causes adds a note for each cause of failed calls, with its count and the message of the first call. Messages from
// servers and files are made safe to show.
func (s *Subject) Causes() {
	for _, c := range s.All.causes.Sorted() {
		c.Kind, c.Cause, c.First = oneLine(c.Kind), oneLine(c.Cause), oneLine(c.First)
		s.State.Causes = append(s.State.Causes, c)
	}
	for i, c := range s.State.Causes {
		if i == causesShown {
			s.State.Notes = append(s.State.Notes,
				fmt.Sprintf("%d more causes of failed %s; --json has them all", len(s.State.Causes)-i, s.things()))
			break
		}
		first := ""
		if c.First != "" {
			first = "; the first said: " + c.First
		}
		s.State.Notes = append(s.State.Notes,
			fmt.Sprintf("%s failed: %s%s", countOf(c.Count, s.things()), causeText(c), first))
	}
}

// countOf writes "1 call" or "12 calls".
func countOf(n uint64, things string) string {
	if n == 1 {
		things = strings.TrimSuffix(things, "s")
	}
	return words.Thousands(n) + " " + things
}

// causeText is a cause, with its kind if that adds something.
func causeText(c stat.Cause) string {
	if strings.ReplaceAll(c.Kind, "_", " ") == strings.ReplaceAll(c.Cause, "_", " ") || c.Cause == "timed out" {
		return c.Cause
	}
	return c.Cause + " (" + c.Kind + ")"
}

// WhyFailed lists why calls failed: by cause if the result has causes, or else by kind.
func (s *Subject) WhyFailed() string {
	if len(s.All.causes) == 0 {
		return words.Kinds(s.All.Errors)
	}
	return WhyFailed(s.State.Causes)
}

// WhyFailed lists causes, most frequent first, with the first message of the most frequent.
func WhyFailed(causes stat.Causes) string {
	by := map[string]uint64{}
	for _, c := range causes {
		c.Kind, c.Cause = oneLine(c.Kind), oneLine(c.Cause)
		by[causeText(c)] += c.Count
	}
	if first := oneLine(causes[0].First); first != "" {
		return words.Kinds(by) + "; the first said: " + briefly(first)
	}
	return words.Kinds(by)
}

// briefly shortens a text; the notes have all of it.
func briefly(text string) string {
	const most = 120
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

// oneLine makes a text from an untrusted source safe to print on one line.
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

// remedy says what to do about failed calls, based on the most frequent cause.
func (s *Subject) remedy() string {
	if len(s.State.Causes) == 0 {
		return "make one call yourself to find out why; at a rate, try a lower one or a longer deadline"
	}
	switch wirelab.Cause(s.State.Causes[0].Cause) {
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
	case result.WrongReply:
		return "the server gives wrong replies: make one call yourself to see them"
	}
	return "make one call yourself to see the server's answer; at a rate, try a lower one or a longer --deadline"
}
